"""The hourly demand of a network and the traffic that weights carry, in the form that services use.

Services exchange integers only: shares in parts per million, Mb/s. Prices are rounded before use, so
differences in the last bit of a logarithm between machines have no effect.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from schemas.config.dcn import DemandConfig
from schemas.config.network_hardware import NetworkConfig
from shared.models.dcn.demand.demand_model import DEMAND_MAX_MBPS, DemandModel, demand_at
from shared.models.dcn.demand.job_traffic import PodJob, job_traffic
from shared.models.dcn.routing.path_loads import capacity_shares, trunk_loads
from shared.models.dcn.routing.weights import Split, split_demand
from shared.models.network.blocks import FloatArray, NetworkLayout, network_of
from shared.models.superpod.wiring import IntArray

Flow = tuple[int, int, int]
"""(from, to, Mb/s) of two blocks."""
PPM = 1_000_000
PRICE_DECIMALS = 6
HOURS_KEPT_MAX = 512
"""Cached demand matrices: a week of two networks."""


@dataclass(frozen=True, slots=True)
class NetworkDemand:
    """Everything that determines the demand of a network, except the hour and the jobs."""

    seed: int
    network: NetworkConfig
    config: DemandConfig

    @property
    def drawn(self) -> DemandModel:
        """As a demand model."""
        given = self.config
        return DemandModel(
            self.seed,
            given.load,
            given.block_sigma,
            given.noise_sigma,
            given.hot_pairs,
            given.hot_share,
            given.hot_days,
            given.swing,
        )


def flows_of(plant: NetworkLayout, config: DemandConfig) -> tuple[Flow, ...]:
    """Constant traffic of the configured jobs."""
    jobs = [PodJob(**row.model_dump()) for row in config.jobs]
    return as_flows(job_traffic(plant, jobs, config.storage))


def as_flows(matrix: IntArray) -> tuple[Flow, ...]:
    """A matrix (B, B) in Mb/s as its nonzero entries."""
    tails, heads = np.nonzero(matrix)
    return tuple(zip(tails.tolist(), heads.tolist(), matrix[tails, heads].tolist(), strict=True))


def demand_of(demand: NetworkDemand, hour: int, jobs: Iterable[Flow]) -> IntArray:
    """(B, B) Mb/s in an hour counted from commissioning: drawn demand plus job traffic."""
    found: IntArray = _drawn(demand, hour).copy()
    for tail, head, mbps in jobs:
        found[tail, head] = min(int(found[tail, head]) + mbps, DEMAND_MAX_MBPS)
    return found


@lru_cache(maxsize=HOURS_KEPT_MAX)
def _drawn(demand: NetworkDemand, hour: int) -> IntArray:
    found = demand_at(network_of(demand.network), demand.drawn, hour)
    found.setflags(write=False)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class CarriedDemand:
    """How a demand is carried: loads (B, B) in Mb/s of every trunk and direction, and summary figures."""

    load: FloatArray
    use: float
    served: float
    direct: float
    path: float


def weights_for(carries: FloatArray, demand: IntArray, hedge: float) -> Split:
    """Weights by rounded prices for trunks (B, B) in Mb/s and a demand whose every pair has a path."""
    found = split_demand(carries, demand, hedge)
    return Split(
        np.round(found.prices, PRICE_DECIMALS), found.prior, hedge, found.use, found.bound, found.steps
    )


def carry_demand(split: Split, carries: FloatArray, demand: IntArray) -> CarriedDemand:
    """Applies a split to a demand (B, B) on trunks (B, B), which may differ from those it was solved for.

    An overloaded trunk gives every path the same fraction of its request. The served traffic is therefore a
    lower bound of what fair sharing would serve.
    """
    total = float(demand.sum())
    if total <= 0.0:
        return CarriedDemand(np.zeros_like(carries), 0.0, 1.0, 1.0, 1.0)
    load, direct = loads_of(split, carries, demand)
    there = carries > 0.0
    use = np.where(there, load / np.where(there, carries, 1.0), 0.0)
    most = float(use.max())
    served = 1.0
    if most > 1.0:
        served = 1.0 - _lost(split, carries, demand, load, use) / total
    return CarriedDemand(load, most, served, direct / total, float(load.sum()) / total)


def loads_of(split: Split, carries: FloatArray, demand: IntArray | FloatArray) -> tuple[FloatArray, float]:
    """((B, B) Mb/s on every trunk and direction, direct Mb/s) under the shares of a split.

    Uses matrix products; computing the shares of all paths takes ten times as long.
    """
    weight, into = _weights_on(split, carries)
    wanted = (1.0 - split.hedge) * demand / np.where(into > 0.0, into, 1.0)
    load: FloatArray = weight * (wanted + split.prior * (wanted @ weight.T + weight.T @ wanted))
    direct = float((weight * wanted).sum())
    hedged = np.where(into > 0.0, split.hedge, 1.0) * demand
    if hedged.any():
        spread, heads = capacity_shares(carries), np.arange(len(demand))
        load += trunk_loads(spread, hedged)
        direct += float((spread[heads[:, None], heads, heads] * hedged).sum())
    return load, direct


def _weights_on(split: Split, carries: FloatArray) -> tuple[FloatArray, FloatArray]:
    """((B, B) weight of every remaining trunk, (B, B) weight of all paths of a pair together).

    Both are 0 for a pair whose paths are all missing. It then uses all remaining paths by capacity, as in
    `shared.models.dcn.failure.shares_left`.
    """
    weight = np.where(carries > 0.0, np.exp(-split.prices), 0.0)
    return weight, weight + split.prior * (weight @ weight)


def shares_on(split: Split, carries: FloatArray) -> FloatArray:
    """(B, B, B) shares as in `shared.models.dcn.routing.path_loads`.

    Missing trunks have no weight. Pairs without weights go by capacity, as in the loads.
    """
    _, into = _weights_on(split, carries)
    share = replace(split, prices=np.where(carries > 0.0, split.prices, np.inf)).shares(carries)
    if (into > 0.0).all():
        return share
    return np.where(into[:, :, None] > 0.0, share, capacity_shares(carries))


def _lost(split: Split, carries: FloatArray, demand: IntArray, load: FloatArray, use: FloatArray) -> float:
    """Mb/s lost. A path over two trunks loses the larger of the two lost fractions: both, less the smaller.

    Few trunks are overloaded, so few paths have two of them.
    """
    loses = np.where(use > 1.0, 1.0 - 1.0 / np.maximum(use, 1.0), 0.0)
    full = loses > 0.0
    ways, tails, heads = np.nonzero(full.T[:, :, None] & full[:, None, :])
    weight, into = _weights_on(split, carries)
    if split.hedge == 0.0 and (into[demand > 0] > 0.0).all():  # weights alone determine all routes
        part = split.prior * weight[tails, ways] * weight[ways, heads] / into[tails, heads]
    else:
        part = shares_on(split, carries)[tails, heads, ways]
    twice = np.minimum(loses[tails, ways], loses[ways, heads])
    return float((loses * load).sum() - (demand[tails, heads] * part * twice).sum())


def block_bound(carries: FloatArray, demand: IntArray) -> float:
    """A largest use that no weights can improve on: a block's traffic passes its trunks."""
    most = 0.0
    for axis in (0, 1):
        room = carries.sum(axis=axis)
        there = room > 0.0
        if there.any():
            most = max(most, float((demand.sum(axis=axis)[there] / room[there]).max()))
    return most


def ppm(value: float) -> int:
    """A share in parts per million."""
    return round(value * PPM)
