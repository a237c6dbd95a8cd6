"""Who may make whom leave, and what that costs.

Production is never pre-empted. Filler makes room for both other tiers at once. Research makes room for
production that has waited for `production_waits_h`, so that what ends soon is not torn down; and for larger
research that has waited for `research_waits_h`, if it was requested later and has had its cubes for
`research_runs_h`: who finds no room by others' ends becomes strong enough in time. Waiting counts from when
a slice came into the queue last, and research that makes research leave is larger than that: or one that
had to leave would drive out the next of its kind, and that one the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from services.scheduler.state import SchedulerState, Slice, job_chips, placed_slices, queued_us
from services.scheduler.structures.pod_placement import RESEARCH_COST_SHIFT
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.jobs.progress import progress_at

Rule = Literal["production_waits_h", "research_waits_h", "research_runs_h"]
"""The parameter of the scheduler from which a moment comes at which one slice may make another leave."""


@dataclass(frozen=True, slots=True)
class Strength:
    """What a waiting slice may do to research: `weaker` it may make leave now → what that costs; `grows` is
    when it may next make somebody leave that it may not yet, with the rule that lets it wait until then."""

    weaker: dict[int, int]
    grows: tuple[int, Rule] | None


def strength_of(state: SchedulerState, preemptor: Slice, held: Sequence[Slice]) -> Strength:
    """By the slices that have cubes now."""
    weaker: dict[int, int] = {}
    grows: tuple[int, Rule] | None = None
    for victim, from_us, rule in _preempts(state, preemptor, held):
        if from_us <= state.now_us:
            weaker[victim.number] = lost_chip_us(state, victim) << RESEARCH_COST_SHIFT
        elif grows is None or from_us < grows[0]:
            grows = from_us, rule
    return Strength(weaker, grows)


def _preempts(
    state: SchedulerState, preemptor: Slice, held: Sequence[Slice]
) -> Iterator[tuple[Slice, int, Rule]]:
    """(Whom of research a slice may make leave its cubes, from when on, the rule that lets it wait)."""
    if preemptor.tier == "filler":
        return
    config = state.config
    wins = preemptor.tier == "production"
    waits_h = config.production_waits_h if wins else config.research_waits_h
    aged_us = queued_us(preemptor) + round(waits_h * US_PER_HOUR)
    runs_us = round(config.research_runs_h * US_PER_HOUR)
    for victim in held:
        if victim.tier != "research" or victim.placed_us is None or victim.number in state.notices:
            continue
        if wins:
            yield victim, aged_us, "production_waits_h"
        elif victim.number > preemptor.number and victim.chips < preemptor.chips:
            ran_us = victim.placed_us + runs_us
            if ran_us > aged_us:
                yield victim, ran_us, "research_runs_h"
            else:
                yield victim, aged_us, "research_waits_h"


def preemptable_by(state: SchedulerState, preemptor: Slice | None) -> dict[int, int]:
    """The slices that this one may make leave now → what that costs; for one that is not the first in line
    (None) only those that leave for everybody. Any of research outweigh all of filler."""
    held = placed_slices(state)
    found = always_preemptable(state, held)
    return found if preemptor is None else found | strength_of(state, preemptor, held).weaker


def always_preemptable(state: SchedulerState, held: Sequence[Slice]) -> dict[int, int]:
    """Of the slices that have cubes now, those that make room for everybody firm → what that costs: 0 for
    those who were told to leave already, unless a slice that lost a cube waits for just that; for filler the
    chip-microseconds lost."""
    found: dict[int, int] = {}
    for victim in held:
        notice = state.notices.get(victim.number)
        if notice is not None:
            if notice.why == "preempted" and notice.preemptor not in state.interruptions:
                found[victim.number] = 0
        elif victim.tier == "filler":
            found[victim.number] = lost_chip_us(state, victim)
    return found


def lost_chip_us(state: SchedulerState, row: Slice) -> int:
    """Chip-microseconds that a slice loses if it is told to leave now, as far as the scheduler knows: the
    checkpoint that it writes, what it did since the last one if the grace is too short for that, and its next
    start-up. Whoever has no job loses a moment; a job over several pods loses that in all of them."""
    chips = job_chips(state, row)
    if row.progress is None or row.terms is None or row.progress.phase == "queued":
        return chips
    lost_us = 1 + row.terms.startup_us
    if row.progress.phase != "preparing":
        grace_us = state.config.grace_s * US_PER_S
        keeps = row.terms.write_us <= grace_us
        lost_us += row.terms.write_us if keeps else progress_at(row.progress, state.now_us).uncommitted_us
    return chips * lost_us
