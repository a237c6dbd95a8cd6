"""Traffic between the clusters of a campus as services are turned up and down, "often spanning multiple
clusters" ([LF] 1).

Clusters are blocks of a plant. Services are turned up at random, by a Poisson process that is in steady state
at hour 0. They live for an exponential time and span a few clusters, each of which sends the same rate to
every other one. In addition all clusters exchange the gravity demand of
`shared.models.dcn.demand.demand_model`, without hot pairs: services take their role. All draws are keyed by
the service's number.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from schemas.config.network_hardware import BLOCKS_MAX
from shared.basics.checks import check_not_negative, check_positive
from shared.basics.keyed_random import draw_exponential, draw_index, draw_lognormal
from shared.models.assumptions import Assumption, by_default
from shared.models.dcn.demand.demand_model import (
    MBPS_PER_GBPS,
    DemandModel,
    demand_at,
    recorded_demand,
)
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray

WEEK_H = 168
CLUSTERS_MIN = 2
"""Clusters that a service spans, at least: a service within one cluster sends nothing between clusters."""
WARM_LIVES = 12
"""Mean lifetimes simulated before hour 0: one service in 160,000 is older."""
ASSUMPTIONS: dict[str, Assumption] = {
    "services": Assumption(
        24.0, "services", "up at a time, mean: those large enough to shape links; the many others are gravity"
    ),
    "life_weeks": Assumption(
        8.0, "weeks", "mean, exponential, from turn-up to turn-down or to a move elsewhere: two months"
    ),
    "more_clusters": Assumption(
        1.0, "clusters", "mean beyond two, geometric: half of all span two, one in eight five or more"
    ),
    "size_sigma": Assumption(
        1.0, "", "standard deviation of the logarithm of a service's size: a few large ones send most"
    ),
    "service_load": Assumption(
        0.2, "", "sent by services over what uplinks carry, mean: half of the demand model's load of 0.4"
    ),
    "background_load": Assumption(0.2, "", "the same of everything else: the other half of that load"),
}
"""By name, unit last. No paper gives these numbers."""


@dataclass(frozen=True, slots=True)
class Campus:
    """How services come and go, and how much they and other traffic send; defaults are ASSUMPTIONS."""

    seed: int = 0
    services: float = by_default(ASSUMPTIONS, "services")
    life_weeks: float = by_default(ASSUMPTIONS, "life_weeks")
    more_clusters: float = by_default(ASSUMPTIONS, "more_clusters")
    size_sigma: float = by_default(ASSUMPTIONS, "size_sigma")
    service_load: float = by_default(ASSUMPTIONS, "service_load")
    background_load: float = by_default(ASSUMPTIONS, "background_load")

    def __post_init__(self) -> None:
        for name in ("services", "life_weeks", "service_load", "background_load"):
            check_positive(name, getattr(self, name))
        for name in ("more_clusters", "size_sigma"):
            check_not_negative(name, getattr(self, name))

    @property
    def background(self) -> DemandModel:
        """The demand of all other traffic."""
        return DemandModel(seed=self.seed, load=self.background_load, hot_pairs=0)


@dataclass(frozen=True, slots=True)
class CampusService:
    """A service that is up from `up_h` until `down_h`.

    Each of its clusters (block numbers) sends `gbps` in total, the same rate to every other one.
    """

    up_h: float
    down_h: float
    clusters: tuple[int, ...]
    gbps: float


def services_of(plant: NetworkLayout, campus: Campus, until_h: float) -> tuple[CampusService, ...]:
    """The services that are up at some time between hour 0 and `until_h`, in order of turn-up."""
    seed, life_h = campus.seed, campus.life_weeks * WEEK_H
    spans = CLUSTERS_MIN + campus.more_clusters
    mean_gbps = campus.service_load * sum(block.gbps for block in plant.blocks) / (campus.services * spans)
    found: list[CampusService] = []
    number = 0
    up_h = -WARM_LIVES * life_h
    while True:
        up_h += draw_exponential(seed, "services", "service-gap", number, life_h / campus.services)
        if up_h >= until_h:
            return tuple(found)
        down_h = up_h + draw_exponential(seed, "services", "service-life", number, life_h)
        if down_h > 0.0:
            clusters = _clusters(campus, number, len(plant.blocks))
            gbps = draw_lognormal(seed, "services", "service-size", number, mean_gbps, campus.size_sigma)
            found.append(CampusService(up_h, down_h, clusters, gbps))
        number += 1


def _clusters(campus: Campus, number: int, clusters: int) -> tuple[int, ...]:
    """The clusters that a service spans, chosen uniformly."""
    more = 0
    if campus.more_clusters > 0.0:
        # The integer part of an exponential draw is geometric.
        mean = 1.0 / math.log1p(1.0 / campus.more_clusters)
        more = int(draw_exponential(campus.seed, "services", "service-span", number, mean))
    left = list(range(clusters))
    return tuple(
        left.pop(draw_index(campus.seed, "services", "service-cluster", number * BLOCKS_MAX + nth, len(left)))
        for nth in range(min(CLUSTERS_MIN + more, clusters))
    )


def service_demand(
    plant: NetworkLayout, services: Iterable[CampusService], since_h: float, until_h: float
) -> FloatArray:
    """(B, B) mean Mb/s that services send between two hours."""
    blocks = len(plant.blocks)
    found = np.zeros((blocks, blocks))
    for service in services:
        while_up = min(service.down_h, until_h) - max(service.up_h, since_h)
        if while_up > 0.0:
            each = service.gbps * MBPS_PER_GBPS / (len(service.clusters) - 1)
            rows = np.array(service.clusters)
            found[rows[:, None], rows[None, :]] += each * while_up / (until_h - since_h)
    found[range(blocks), range(blocks)] = 0.0
    return found


def hour_demand(
    plant: NetworkLayout, campus: Campus, services: Iterable[CampusService], hour: int
) -> IntArray:
    """(B, B) Mb/s in one hour; the other traffic has noise and a daily cycle.

    InvalidInput if a service spans blocks that may not be joined.
    """
    return recorded_demand(
        plant, service_demand(plant, services, hour, hour + 1) + demand_at(plant, campus.background, hour)
    )


def mean_demand(
    plant: NetworkLayout, campus: Campus, services: Iterable[CampusService], since_h: float, until_h: float
) -> IntArray:
    """(B, B) mean Mb/s between two hours that are whole days apart, without noise and daily cycle.

    InvalidInput as in `hour_demand`.
    """
    calm = DemandModel(seed=campus.seed, load=campus.background_load, hot_pairs=0, noise_sigma=0.0, swing=0.0)
    return recorded_demand(
        plant, service_demand(plant, services, since_h, until_h) + demand_at(plant, calm, 0)
    )
