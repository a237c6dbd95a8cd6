"""The setup of the claims about the datacenter network: networks, demand and measures. FROZEN before any of
the rows was run.

- **Network**: 16 blocks of 400 Gb/s with 512 uplinks, on 128 OCSes: as many blocks as the example network.
- **Demand**: the defaults of `DemandModel`, nothing else; 24 matrices, number n with seed n in hour n of its
  second day, so every hour of a day counts once.
- **Links** that are engineered know the mean of the 24 hours before, not the measured hour: topology follows
  lasting demand. The mesh ignores demand. **Weights** are solved for the hour on both.
- **Flow completion time**: `slowdown` at the given demand. **Throughput**: of flows that take all available
  capacity, in proportion to the demand, as TCP's do (`fair_share` without an end). No load has to be chosen.

Variants change one thing each. They are reported as sensitivities, not as verdicts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median

import numpy as np

from shared.models.dcn.demand.demand_model import DAY_H, DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.routing.fair_share import fair_share, slowdown
from shared.models.dcn.routing.path_loads import largest_use, mean_path, trunk_capacity, trunk_loads
from shared.models.dcn.routing.weights import split_demand
from shared.models.network.blocks import Block, FloatArray, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray

BLOCKS, UPLINKS, GENERATION = 16, 512, 400
MATRICES = 24
MIXED = (100, 200, 400)
"""Generations of blocks in turn, in the variant with mixed generations."""
UNEVEN = 2.0
"""Factor on the default unevenness of the demand model, in the variant with uneven demand."""
PODS = tuple(f"pod-{n}" for n in range(8))
"""One pod on every other block."""


@dataclass(frozen=True, slots=True)
class Study:
    """A comparison of the mesh with engineered links.

    `mesh_hedge` is the share of every demand that the mesh spreads by capacity; 1 means that its traffic
    ignores demand too. `engineered_hedge` is the same on engineered links.
    """

    generations: tuple[int, ...] = (GENERATION,)
    unevenness: float = 1.0
    mesh_hedge: float = 0.0
    engineered_hedge: float = 0.0

    @property
    def plant(self) -> NetworkLayout:
        return layout_of(
            Block(
                f"ab-{n}",
                self.generations[n % len(self.generations)],
                UPLINKS,
                pod=PODS[n // 2] if n % 2 == 0 else None,
            )
            for n in range(BLOCKS)
        )

    def model(self, seed: int) -> DemandModel:
        plain = DemandModel(seed=seed)
        return replace(
            plain,
            block_sigma=self.unevenness * plain.block_sigma,
            noise_sigma=self.unevenness * plain.noise_sigma,
            hot_share=self.unevenness * plain.hot_share,
        )


VERDICT = Study()
VARIANTS = {
    "mixed": Study(generations=MIXED),
    "uneven": Study(unevenness=UNEVEN),
    "blind": Study(mesh_hedge=1.0),
}


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """The outcome of one hour on one topology: mean slowdown of flows, throughput of endless flows over the
    demand, mean trunks per bit, and the largest use."""

    slowdown: float
    throughput: float
    path: float
    use: float


def hour_and_before(study: Study, plant: NetworkLayout, number: int) -> tuple[IntArray, IntArray]:
    """Return two matrices (B, B) in Mb/s: the demand of the measured hour, and the mean of the 24 hours
    before it."""
    model, hour = study.model(number), DAY_H + number % DAY_H
    before = sum(demand_at(plant, model, one).astype(np.float64) for one in range(hour - DAY_H, hour))
    return demand_at(plant, model, hour), np.rint(before / DAY_H).astype(np.int64)


def outcome(plant: NetworkLayout, links: IntArray, demand: IntArray, hedge: float = 0.0) -> StudyOutcome:
    """Return the outcome of links (B, B) under a demand (B, B), with the best weights for it and `hedge` of
    it spread by capacity."""
    carries = trunk_capacity(plant, links)
    return outcome_of(split_demand(carries, demand, hedge).shares(carries), demand, carries)


def outcome_of(share: FloatArray, demand: IntArray, carries: FloatArray) -> StudyOutcome:
    """Return the outcome of shares (B, B, B) of a demand (B, B) on trunks (B, B) in Mb/s."""
    load = trunk_loads(share, demand)
    return StudyOutcome(
        slowdown(share, demand, carries),
        fair_share(share, demand, carries, np.inf).throughput,
        mean_path(load, demand),
        largest_use(load, carries),
    )


Gain = Callable[[StudyOutcome, StudyOutcome], float]
"""A function of the outcomes (on the mesh, on engineered links)."""


@lru_cache(maxsize=32)
def compared(study: Study) -> tuple[tuple[StudyOutcome, StudyOutcome], ...]:
    """Return the outcomes (on the mesh, on engineered links) for each matrix."""
    plant = study.plant
    mesh = uniform_mesh(plant)
    engineered = _engineered(replace(study, mesh_hedge=0.0))
    return tuple((outcome(plant, mesh, hour, study.mesh_hedge), found) for hour, found in engineered)


@lru_cache(maxsize=8)
def _engineered(study: Study) -> tuple[tuple[IntArray, StudyOutcome], ...]:
    """Return, for each matrix, the demand of the measured hour and its outcome on links engineered for the
    day before."""
    plant = study.plant
    return tuple(
        (hour, outcome(plant, links, hour, study.engineered_hedge))
        for hour, links in hours_and_links(replace(study, engineered_hedge=0.0))
    )


@lru_cache(maxsize=8)
def hours_and_links(study: Study) -> tuple[tuple[IntArray, IntArray], ...]:
    """Return, for each matrix, the demand (B, B) of the measured hour in Mb/s and the links (B, B) engineered
    for the day before."""
    plant = study.plant
    both = (hour_and_before(study, plant, number) for number in range(MATRICES))
    return tuple((hour, engineer(plant, before).links) for hour, before in both)


def time_saved(mesh: StudyOutcome, engineered: StudyOutcome) -> float:
    """Return the saved percentage of the mesh's flow completion time: 100 if flows never end on the mesh, not
    a number if they never end on both."""
    if math.isinf(mesh.slowdown) and math.isinf(engineered.slowdown):
        return math.nan
    return 100.0 * (1.0 - engineered.slowdown / mesh.slowdown) if math.isfinite(mesh.slowdown) else 100.0


def more_throughput(mesh: StudyOutcome, engineered: StudyOutcome) -> float:
    """Return the gain as a percentage of the mesh's throughput."""
    return 100.0 * (engineered.throughput / mesh.throughput - 1.0)


def medians(pairs: Sequence[tuple[StudyOutcome, StudyOutcome]]) -> str:
    """Describe the median largest use and path length on the mesh and on engineered links."""
    use, path = (
        [median(getattr(pair[place], field) for pair in pairs) for place in (0, 1)]
        for field in ("use", "path")
    )
    return (
        f"largest use {use[0]:.2f} on the mesh, {use[1]:.2f} on engineered links; {path[0]:.2f} and "
        f"{path[1]:.2f} trunks per bit (medians)"
    )
