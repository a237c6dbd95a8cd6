"""Preemption rules: which slices may make others leave, and what that costs.

Production is never preempted. Filler yields to production and research at once.

Research yields to production that has waited for `production_waits_h`, so that slices that end soon are not
torn down.

Research also yields to larger research that has waited for `research_waits_h`, if the victim was requested
later and has had its cubes for `research_runs_h`. So a slice that finds no room in time becomes strong enough
to take it. The preemptor must be larger: otherwise a victim could preempt the next slice of its kind, and
so on.

Waiting time counts from the slice's last entry into the queue.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from services.scheduler.state import SchedulerState, job_chips, placed_slices, queued_us
from services.scheduler.structures.pod_placement import RESEARCH_COST_SHIFT
from services.scheduler.structures.slice_record import Slice
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.jobs.job_progress import progress_at

PreemptionRule = Literal["production_waits_h", "research_waits_h", "research_runs_h"]
"""The scheduler parameter that delays a preemption."""


@dataclass(frozen=True, slots=True)
class Strength:
    """Which research a waiting slice may preempt."""

    weaker: dict[int, int]
    """Slices that it may preempt now → what that costs."""
    grows: tuple[int, PreemptionRule] | None
    """(when it may next preempt another slice, the parameter that delays it); None if never."""


def strength_of(state: SchedulerState, preemptor: Slice, held: Sequence[Slice]) -> Strength:
    """The strength of a waiting slice against the slices that have cubes now."""
    weaker: dict[int, int] = {}
    grows: tuple[int, PreemptionRule] | None = None
    for victim, from_us, rule in _preemptable_research(state, preemptor, held):
        if from_us <= state.now_us:
            weaker[victim.number] = lost_chip_us(state, victim) << RESEARCH_COST_SHIFT
        elif grows is None or from_us < grows[0]:
            grows = from_us, rule
    return Strength(weaker, grows)


def _preemptable_research(
    state: SchedulerState, preemptor: Slice, held: Sequence[Slice]
) -> Iterator[tuple[Slice, int, PreemptionRule]]:
    """(research slice that may be preempted, from when on, the parameter that delays it)."""
    if preemptor.tier == "filler":
        return
    config = state.config
    is_production = preemptor.tier == "production"
    waits_h = config.production_waits_h if is_production else config.research_waits_h
    waited_enough_us = queued_us(preemptor) + round(waits_h * US_PER_HOUR)
    runs_us = round(config.research_runs_h * US_PER_HOUR)
    for victim in held:
        if victim.tier != "research" or victim.placed_us is None or victim.notice is not None:
            continue
        if is_production:
            yield victim, waited_enough_us, "production_waits_h"
        elif victim.number > preemptor.number and victim.chips < preemptor.chips:
            ran_enough_us = victim.placed_us + runs_us
            if ran_enough_us > waited_enough_us:
                yield victim, ran_enough_us, "research_runs_h"
            else:
                yield victim, waited_enough_us, "research_waits_h"


def preemptable_by(state: SchedulerState, preemptor: Slice | None) -> dict[int, int]:
    """The slices that this one may preempt now → what that costs. None: a slice that is not first in line,
    which may only preempt filler. Any research costs more than all filler."""
    held = placed_slices(state)
    preemptable = always_preemptable(state, held)
    return preemptable if preemptor is None else preemptable | strength_of(state, preemptor, held).weaker


def always_preemptable(state: SchedulerState, held: Sequence[Slice]) -> dict[int, int]:
    """Slices on cubes that make room for any firm slice → what that costs.

    The cost is 0 for a slice that already has notice to leave, unless a slice that lost a cube waits for it.
    For filler it is the chip-microseconds lost.
    """
    preemptable: dict[int, int] = {}
    for victim in held:
        notice = victim.notice
        if notice is not None:
            if notice.why == "preempted" and not _recovers(state, notice.preemptor):
                preemptable[victim.number] = 0
        elif victim.tier == "filler":
            preemptable[victim.number] = lost_chip_us(state, victim)
    return preemptable


def _recovers(state: SchedulerState, number: int | None) -> bool:
    row = None if number is None else state.slices.get(number)
    return row is not None and row.state == "recovering"


def lost_chip_us(state: SchedulerState, row: Slice) -> int:
    """Chip-microseconds that a slice loses if it gets notice now, as far as the scheduler knows.

    It loses the time to write a checkpoint, or its work since the last one if the grace period is too short
    to write it, and the next start-up. Without a job it loses 1 µs. A multislice job loses that in all pods.
    """
    chips = job_chips(row)
    if row.progress is None or row.terms is None or row.progress.phase == "queued":
        return chips
    lost_us = 1 + row.terms.startup_us
    if row.progress.phase != "preparing":
        grace_us = state.config.grace_s * US_PER_S
        can_checkpoint = row.terms.write_us <= grace_us
        lost_us += (
            row.terms.write_us if can_checkpoint else progress_at(row.progress, state.now_us).uncommitted_us
        )
    return chips * lost_us
