"""The topology for a demand over direct and one-transit paths together, or for several demands: which links,
and how far from the best.

As in `shared.models.dcn.routing.weights`, but what is scarce are the uplinks of the blocks, not trunks that
are
given. A bidirectional link serves the greater of both directions, and of all demands, each of which goes its
own ways: flows f^m_ij of demands m take max(f^m_ij, f^m_ji) ÷ rate uplinks at both blocks. A block's uplinks
have a price q ≥ 0, and the directions and demands of a trunk share the price of its links in some way, Σ_m
σ^m_ij + σ^m_ji = 1: the lengths are l^m_ij = σ^m_ij·(q_i + q_j) ÷ rate. With paths priced smoothly, the dual
is one smooth function of q and σ, which a quasi-Newton method makes greatest.

By duality of linear programs no topology, whole or in fractions, has a smaller largest use than
Σ_m Σ D^m·distance(l^m) ÷ Σ q·uplinks, for any prices: that is the certificate. Transit pays where a fast
block would waste its ports on slow ones, and where the two directions of a demand differ.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS
from shared.models.dcn.engineering.baselines import whole_links, with_paths
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.weights import EXPONENT_MAX, Split, split_demand, use_of
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

FIRST_AIM = 1.003
"""The use that is asked for first, over the lower bound of the blocks: below the optimum prices only grow,
which betters the bound."""
MIDDLES = (0.5, 0.3)
"""Then so far up from the bound so far to the least use so far: near the optimum links come near what is
asked."""
NEAR_AIM = 1.02
"""The search ends at a use that is so near the bound."""
STEPS_MIN, STEPS_MAX, STEPS_BLOCKS = 80, 160, 5_120
"""Steps for an aim: this number over that of the blocks, but within these."""
TRANSIT_PRIOR = 0.3
"""The weight of all transit paths together against the direct one, before prices."""
PRICE_MAX = 60.0
SKEW_MAX = 6.0
"""Of the logarithm of a share of a link's price: beyond twice this between two, one bears it all."""
SKEW_FIRST = 1.5
WORST_AT_MOST = 1.01
"""Of several demands those count that would have a use above this times the largest of those that count."""
COUNTED_MAX = 8
"""So many of several demands at most: each takes its time in every step."""


@dataclass(frozen=True, eq=False, slots=True)
class EngineeredTopology:
    """`links` (B, B), whole and symmetric, and how demand is split over them. `bound` is a largest use that
    no topology can better: how far `split.use` is above it is the gap."""

    links: IntArray
    split: Split
    bound: float


@dataclass(frozen=True, eq=False, slots=True)
class EngineeredForAll:
    """`links` (B, B) for several demands, the largest `use` of any of them by weights of its own, and a
    `bound` that no topology for all of them can better. `counted`: the demands that it was made for; the
    others turned out to be served as well."""

    links: IntArray
    use: float
    bound: float
    counted: tuple[int, ...]


def engineer(plant: NetworkLayout, demand: IntArray) -> EngineeredTopology:
    """Links for a demand (B, B) in Mb/s; all uplinks are used where that can be. Blocks without uplinks,
    which a failure leaves, want nothing. InvalidInput where nothing is demanded."""
    links, splits, bound = _engineered(plant, [demand])
    return EngineeredTopology(links, splits[0], min(bound, splits[0].use))


def engineer_for_all(plant: NetworkLayout, demands: list[IntArray]) -> EngineeredForAll:
    """Links for several demands, such as the last week's, each of which then has weights of its own.

    Made for the largest; then for it and whichever does worst by those links; and so on, until none does
    worse than those that count, or COUNTED_MAX do. A bound for some is one for all.
    """
    if not demands:
        raise InvalidInput("demands: none given; must be at least one")
    counted = [max(range(len(demands)), key=lambda n: (int(demands[n].sum()), -n))]
    best: EngineeredForAll | None = None
    bound = max(_Search(plant, [demand]).bound for demand in demands)
    while True:
        links, _, lower = _engineered(plant, [demands[n] for n in counted])
        uses = [use_of(trunk_capacity(plant, links), demand) for demand in demands]
        bound, worst = max(bound, lower), max(range(len(demands)), key=lambda n: (uses[n], -n))
        if best is None or uses[worst] < best.use:
            best = EngineeredForAll(links, uses[worst], bound, tuple(sorted(counted)))
        fullest = max(uses[n] for n in counted)
        if worst in counted or uses[worst] <= WORST_AT_MOST * fullest or len(counted) == COUNTED_MAX:
            return EngineeredForAll(best.links, best.use, min(bound, best.use), best.counted)
        counted.append(worst)


def _engineered(plant: NetworkLayout, demands: list[IntArray]) -> tuple[IntArray, list[Split], float]:
    """(links, the split of each demand, the bound)."""
    if not all(demand.any() for demand in demands):
        raise InvalidInput("demand: all demands are 0; must have at least one demand")
    search = _Search(plant, demands)
    found: list[tuple[float, IntArray, list[Split]]] = []
    aim = FIRST_AIM * search.bound
    for middle in (*MIDDLES, None):
        search.run(aim)
        links = with_paths(plant, whole_links(plant, search.taken / search.use), peak_of(demands))
        splits = [split_demand(trunk_capacity(plant, links), demand) for demand in demands]
        found.append((max(split.use for split in splits), links, splits))
        least = min(use for use, _, _ in found)
        if least <= NEAR_AIM * search.bound or middle is None:
            break
        aim = search.bound * (least / search.bound) ** middle
    _, links, splits = min(found, key=lambda one: one[0])
    return links, splits, search.bound


def peak_of(demands: list[IntArray]) -> IntArray:
    """(B, B) the most that each pair wanted in any of some matrices, such as the last week's: weights and
    links for it serve every one of them."""
    peak: IntArray = np.stack(demands).max(axis=0)
    return peak


class _Search:
    """The dual function of M demands, and the best that it led to: the links that flows take in fractions."""

    def __init__(self, plant: NetworkLayout, demands: list[IntArray]) -> None:
        blocks = len(plant.blocks)
        wired = plant.uplinks > 0
        self.there = plant.may_join & wired[:, None] & wired[None, :]
        # A block that has lost all its uplinks is joined to none, and takes none of this one.
        self.uplinks = np.maximum(plant.uplinks, 1).astype(np.float64)
        self.per_load = np.where(
            self.there, 1.0 / (np.where(self.there, plant.rates, 1) * MBPS_PER_GBPS), 0.0
        )
        """(B, B) uplinks for a load of 1 Mb/s."""
        self.unit = float(self.per_load[self.there].min())
        self.demand = np.stack(demands).astype(np.float64)
        self.prior = TRANSIT_PRIOR / max(blocks - 2, 1)
        self.steps = min(STEPS_MAX, max(STEPS_MIN, STEPS_BLOCKS // blocks))
        fastest = np.where(self.there, self.per_load, np.inf).min(axis=1)
        self.fastest = np.where(self.there.any(axis=1), fastest, 0.0)
        # A slow block's uplinks are worth less: prices by what they carry are of one order.
        self.scale = np.where(self.fastest > 0.0, self.unit / np.maximum(self.fastest, self.unit), 1.0)
        self.taken: FloatArray = np.zeros((blocks, blocks))
        self.use, self.bound = np.inf, self._bound_of_blocks()
        self.aim = self.bound

    def run(self, aim: float) -> None:
        """One search for links whose largest use is `aim`."""
        self.use, self.aim = np.inf, aim
        blocks = len(self.uplinks)
        wanted = np.maximum(self.demand, 1.0)
        mean = wanted.mean(axis=0)
        skew = np.log(wanted) - 0.5 * np.log(mean * mean.T)
        skew = np.minimum(np.maximum(skew, -SKEW_FIRST), SKEW_FIRST)
        found = minimize(
            self._falling,
            np.concatenate([np.ones(blocks), skew.reshape(-1)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, PRICE_MAX)] * blocks + [(-SKEW_MAX, SKEW_MAX)] * skew.size,
            options={"maxiter": self.steps, "maxfun": self.steps},
        )
        self.bound = max(self.bound, self._bound_by(np.asarray(found.x, dtype=np.float64)))

    def _falling(self, point: FloatArray) -> tuple[float, FloatArray]:
        """(minus the dual function, its gradient) at prices and skews, in parts of all demand."""
        prices, share = self._unfolded(point)
        price = (prices[:, None] + prices[None, :]) * self.per_load / self.unit
        weight = np.exp(-np.minimum(share * price, EXPONENT_MAX)) * self.there
        turned = weight.transpose(0, 2, 1)
        into = weight + self.prior * (weight @ weight)
        wanted = self.demand / np.where(into > 0.0, into, 1.0)
        load = weight * (wanted + self.prior * (wanted @ turned + turned @ wanted))
        self._note(load)
        total = float(self.demand.sum())
        given = self.aim * self.uplinks / self.unit
        value = float(given @ prices) + float((self.demand * np.log(np.where(into > 0.0, into, 1.0))).sum())
        borne = (share * load).sum(axis=0)
        borne += borne.T
        needed = (borne * self.per_load / self.unit).sum(axis=1)
        by_skew = -price * share * (load - borne)
        gradient = np.concatenate([(given - needed) * self.scale, by_skew.reshape(-1)])
        return value / total, gradient / total

    def _unfolded(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """((B,) prices, (M, B, B) the share of a link's price that each demand and direction bears)."""
        blocks = len(self.uplinks)
        bears = np.exp(point[blocks:]).reshape(self.demand.shape)
        both = bears.sum(axis=0)
        return point[:blocks] * self.scale, bears / (both + both.T)

    def _note(self, load: FloatArray) -> None:
        most = load.max(axis=0)
        taken = np.maximum(most, most.T) * self.per_load
        use = float((taken.sum(axis=1) / self.uplinks).max())
        if use < self.use:
            self.use, self.taken = use, taken

    def _bound_of_blocks(self) -> float:
        """What a block sends and what it receives must pass its uplinks, at its fastest rate at best."""
        need = np.maximum(self.demand.sum(axis=1), self.demand.sum(axis=2)).max(axis=0)
        return float((need * self.fastest / self.uplinks).max())

    def _bound_by(self, point: FloatArray) -> float:
        prices, share = self._unfolded(point)
        spanned = float(self.uplinks @ prices)
        if spanned <= 0.0:
            return 0.0
        needed = 0.0
        for part, demand in zip(share, self.demand, strict=True):
            length = np.where(self.there, part * (prices[:, None] + prices[None, :]) * self.per_load, np.inf)
            distance = np.minimum(length, (length[:, :, None] + length[None, :, :]).min(axis=1))
            wanted = demand > 0.0
            needed += float(demand[wanted] @ distance[wanted])
        return needed / spanned
