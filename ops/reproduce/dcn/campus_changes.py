"""Claims about a campus that turns services and clusters up and down. [LF] 1 names the use, states that gains
are *substantial*, and gives no number.

FROZEN before any of the rows was run, with ASSUMPTIONS of `shared.models.dcn.demand.campus_services`:

- **Network**: that of `ops.reproduce.dcn.study`; its blocks are the clusters. **Measures**: its throughput of
  endless flows, slowdown and largest use. Weights are the best for the hour in all cases.
- **Demand**: 24 campuses, number n with seed n, over half a year. Each is measured in one hour in the middle
  of three of its weeks: hour n of the day.
- **Links** come in three kinds. Fixed links are engineered once, for the mean of the first week. Following
  links are engineered again every week, for the mean of the week before. The mesh ignores demand. A campus
  counts once, because its weeks are not independent.
- **Substantial** is a tenth or more: smaller gains are in the noise (docs/results/papers.md).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from statistics import fmean, median

import numpy as np

from ops.reproduce.claim import Measured, PaperClaim, Stated, derived, over_matrices
from ops.reproduce.dcn.study import VERDICT, StudyOutcome, outcome
from shared.models.dcn.demand.campus_services import (
    ASSUMPTIONS,
    WEEK_H,
    Campus,
    CampusService,
    hour_demand,
    mean_demand,
    services_of,
)
from shared.models.dcn.demand.demand_model import DAY_H
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.growth import growth_steps, turn_down
from shared.models.dcn.planning import CAPACITY_FLOOR, CHAIN_MAX
from shared.models.dcn.rewiring.matchings import matched_circuits
from shared.models.dcn.rewiring.rewired_circuits import circuits_made, rewired
from shared.models.dcn.rewiring.stage_planning import Stage, block_capacity
from shared.models.network.blocks import NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray

SOURCE = "[LF] 1 (derived)"
CAMPUSES = 24
WEEKS = (8, 16, 24)
"""Measured weeks; the first week is 0."""
MIDDLE_H = 3 * DAY_H
"""Time from the start of a week to its measured day."""
SUBSTANTIAL = 1.1
"""Factor over the traffic carried without following links: our reading."""
FEW = 4
"""Number of campuses for the figures in notes, measured in the middle one of WEEKS."""
COULD_BE_EITHER = 2.0
"""Factor by which each assumption is varied in a sensitivity study."""
STRICT = 0.9
"""Another capacity floor, for a note."""
FIXED, MESH, FOLLOWING = "fixed", "mesh", "following"
"""Field names of Week."""


@dataclass(frozen=True, slots=True)
class Week:
    """The outcomes of an hour of one week: on fixed links, on the mesh, and on following links."""

    fixed: StudyOutcome
    mesh: StudyOutcome
    following: StudyOutcome


def _links_for(
    plant: NetworkLayout, campus: Campus, services: Sequence[CampusService], week: int
) -> IntArray:
    """Return the links (B, B) engineered for the mean of a week."""
    known = mean_demand(plant, campus, services, week * WEEK_H, (week + 1) * WEEK_H)
    return engineer(plant, known).links


@lru_cache(maxsize=1)
def _mesh() -> IntArray:
    return uniform_mesh(VERDICT.plant)


@lru_cache(maxsize=128)
def weeks_of(campus: Campus, weeks: tuple[int, ...] = WEEKS) -> tuple[Week, ...]:
    """Return the outcomes of these weeks on all three kinds of links."""
    plant = VERDICT.plant
    services = services_of(plant, campus, (weeks[-1] + 1) * WEEK_H)
    fixed, mesh = _links_for(plant, campus, services, 0), _mesh()
    found = []
    for week in weeks:
        hour = hour_demand(plant, campus, services, week * WEEK_H + MIDDLE_H + campus.seed % DAY_H)
        following = _links_for(plant, campus, services, week - 1)
        found.append(Week(*(outcome(plant, links, hour) for links in (fixed, mesh, following))))
    return tuple(found)


def _gain(weeks: Sequence[Week], other: str) -> float:
    """Return the throughput of following links over that of the others, as the mean of a campus's weeks."""
    return fmean(week.following.throughput for week in weeks) / fmean(
        getattr(week, other).throughput for week in weeks
    )


def _varied(other: str) -> str:
    """Describe the gain if any one assumption is halved or doubled, on a few campuses."""
    plain, middle = Campus(), WEEKS[len(WEEKS) // 2]

    def gain(**changed: float) -> float:
        return median(
            _gain(weeks_of(replace(plain, seed=seed, **changed), (middle,)), other) for seed in range(FEW)
        )

    found = {
        name: [
            gain(**{name: factor * getattr(plain, name)})
            for factor in (1.0 / COULD_BE_EITHER, COULD_BE_EITHER)
        ]
        for name in ASSUMPTIONS
    }
    least, most = min(found, key=lambda name: min(found[name])), max(found, key=lambda name: max(found[name]))
    return (
        f"of {FEW} campuses in week {middle} {gain():.3f} ×; with any one assumption halved or doubled "
        f"{min(found[least]):.3f} ({least}) to {max(found[most]):.3f} ({most})"
    )


@lru_cache(maxsize=1)
def _changed() -> str:
    """Describe the changes of a week's re-engineering."""
    plant, week = VERDICT.plant, WEEKS[len(WEEKS) // 2]
    counts, all_circuits = [], 0
    for seed in range(FEW):
        campus = Campus(seed)
        services = services_of(plant, campus, (week + 1) * WEEK_H)
        now = matched_circuits(plant, _links_for(plant, campus, services, week - 1))
        then = rewired(plant, now, _links_for(plant, campus, services, week), CHAIN_MAX)
        counts.append(circuits_made(now, then))
        all_circuits = int(now.sum())
    return (
        f"a week's re-engineering remakes {median(counts):.0f} of {all_circuits} circuits (median of {FEW})"
    )


def _following(other: str) -> Measured:
    """Return how much more traffic following links carry; the note has the other measures."""
    campuses = [weeks_of(Campus(seed)) for seed in range(CAMPUSES)]
    all_weeks = [week for weeks in campuses for week in weeks]
    use, path, slow = (
        [median(getattr(getattr(week, way), field) for week in all_weeks) for way in (other, FOLLOWING)]
        for field in ("use", "path", "slowdown")
    )
    full = [sum(getattr(week, way).use >= 1.0 for week in all_weeks) for way in (other, FOLLOWING)]
    by_week = ", ".join(
        f"{median(_gain([weeks[place]], other) for weeks in campuses):.3f}" for place in range(len(WEEKS))
    )
    return over_matrices(
        [_gain(weeks, other) for weeks in campuses],
        f"in weeks {', '.join(map(str, WEEKS))} {by_week}; largest use {use[0]:.2f}, following "
        f"{use[1]:.2f}; {path[0]:.2f} and {path[1]:.2f} trunks per bit, flows take {slow[0]:.2f} and "
        f"{slow[1]:.2f} × as long as on empty trunks (medians); one is full in {full[0]} and {full[1]} of "
        f"{len(all_weeks)} hours; {_varied(other)}; {_changed()}",
        "campuses",
    )


@dataclass(frozen=True, slots=True)
class CampusChange:
    """The effects of a change on the other clusters, as shares of what they carried before.

    The minimum share of each cluster, and of all together, at any time; and the minimum of each at the end.
    Also the number of circuits between other clusters that were moved, the stages and the minutes.
    """

    each: float
    together: float
    end: float
    disturbed: int
    stages: int
    minutes: float


def watched(plant: NetworkLayout, circuits: IntArray, stages: Sequence[Stage], turned: int) -> CampusChange:
    """Follow circuits (K, B, B) through the stages that turn one block up or down, from the point of view of
    the others."""
    now = circuits.copy()
    others = np.arange(len(plant.blocks)) != turned
    before = block_capacity(plant, now)[others]
    each, together, disturbed = 1.0, 1.0, 0
    for stage in stages:
        np.subtract.at(now, tuple(stage.removed.T), 1)
        left = block_capacity(plant, now)[others]
        each = min(each, float((left / before).min()))
        together = min(together, float(left.sum() / before.sum()))
        disturbed += int((stage.removed[:, 1:] != turned).all(axis=1).sum())
        np.add.at(now, tuple(stage.made.T), 1)
    end = float((block_capacity(plant, now)[others] / before).min())
    minutes = sum(stage.seconds for stage in stages) / 60.0
    return CampusChange(each, together, end, disturbed, len(stages), minutes)


def turn_up_and_down(seed: int, capacity_floor: float = CAPACITY_FLOOR) -> tuple[CampusChange, CampusChange]:
    """Return the effects of turning the last cluster of a campus (up, down), for the services' traffic in the
    middle week."""
    plant, week = VERDICT.plant, WEEKS[len(WEEKS) // 2]
    few = layout_of(plant.blocks[:-1])
    last = len(few.blocks)
    campus = Campus(seed)
    services = services_of(plant, campus, (week + 1) * WEEK_H)
    wanted = mean_demand(plant, campus, services, week * WEEK_H, (week + 1) * WEEK_H)
    idle = wanted.copy()
    idle[last] = idle[:, last] = 0

    first = matched_circuits(few, engineer(few, wanted[:last, :last]).links)
    (step,) = growth_steps(few, plant, first, lambda _: wanted, capacity_floor=capacity_floor)
    up = watched(plant, np.pad(first, ((0, 0), (0, 1), (0, 1))), step.stages, last)

    running = matched_circuits(plant, engineer(plant, wanted).links)
    left = turn_down(plant, running, plant.blocks[last].name, idle, capacity_floor=capacity_floor)
    return up, watched(plant, running, left.stages, last)


def _campus_changes() -> Measured:
    """Return the percentage of any other cluster's capacity that is left at the worst time, in the worst of
    several campuses."""
    found, strict = (
        [turn_up_and_down(seed, capacity_floor) for seed in range(FEW)]
        for capacity_floor in (CAPACITY_FLOOR, STRICT)
    )

    def least(of: str, rows: Iterable[CampusChange]) -> float:
        return 100.0 * min(float(getattr(row, of)) for row in rows)

    def summary(way: str, rows: Sequence[CampusChange]) -> str:
        return (
            f"{way}: {least('each', rows):.1f} % of each, {least('together', rows):.1f} % of all together, "
            f"{least('end', rows):.1f} % of each at the end; {median(row.disturbed for row in rows):.0f} "
            f"circuits of others move in {median(row.stages for row in rows):.0f} stages, "
            f"{median(row.minutes for row in rows):.0f} min"
        )

    ups, downs = zip(*found, strict=True)
    return Measured(
        least("each", (*ups, *downs)),
        note=f"{summary('up', ups)}; {summary('down', downs)} ({FEW} campuses); with a floor of "
        f"{100.0 * STRICT:.0f} %, of the lesser of before and after, "
        f"{least('each', chain(*strict)):.1f} % of before",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    *(
        PaperClaim(
            f"clusters/over-{other}",
            "Links that follow services turned up and down across clusters carry substantially more than "
            f"{baseline}",
            SOURCE,
            Stated(SUBSTANTIAL, "× the throughput", "at least"),
            derived(
                "the paper states substantial gains; at least a tenth is our reading; services, network and "
                "measures are assumed, and were set before the rows were run"
            ),
            "model",
            partial(_following, other),
            "of flows that take all available capacity, in proportion to the demand, with the best "
            "weights for the hour on both",
        )
        for other, baseline in ((FIXED, "links fixed for the first week"), (MESH, "a uniform mesh"))
    ),
    PaperClaim(
        "clusters/turned",
        "A whole cluster is turned up or down while every other keeps three quarters of its capacity",
        SOURCE,
        Stated(75, "%", "at least"),
        derived(
            "the paper states that patterns shift as services are turned up and down; clusters and three "
            "quarters are ours: plans keep three quarters of the lesser of before and after, the row "
            "requires it of before"
        ),
        "model",
        _campus_changes,
        "one of sixteen clusters is added and removed; a unit test checks that growth by blocks keeps the "
        "floor",
    ),
)
