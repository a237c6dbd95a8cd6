"""Who may make whom leave, and what that costs.

Production is never pre-empted. Filler makes room for both other tiers at once. Research makes room for
production that has waited for `production_waits_h`, so that what ends soon is not torn down; and for larger
research that has waited for `research_waits_h`, if it was requested later and has had its cubes for
`research_runs_h`: who finds no room by others' ends becomes strong enough in time. Waiting counts from when
a slice came into the queue last, and research that makes research leave is larger than that: or one that
had to leave would drive out the next of its kind, and that one the next.
"""

from typing import Literal

from services.scheduler.placement.placement import OUTWEIGHS
from services.scheduler.state import SchedulerState, Slice, on_cubes, queued_us
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.jobs.progress import at

Rule = Literal["production_waits_h", "research_waits_h", "research_runs_h"]
"""The parameter of the scheduler from which a moment comes at which one slice may make another leave."""


def preempts_from(state: SchedulerState, asker: Slice, victim: Slice) -> tuple[int, Rule] | None:
    """(From when on a slice may make one of research leave its cubes, the rule that lets it wait until then);
    None for never."""
    if asker.tier == "filler" or victim.placed_us is None:
        return None
    config = state.config
    if asker.tier == "production":
        return queued_us(asker) + round(config.production_waits_h * US_PER_HOUR), "production_waits_h"
    if victim.number < asker.number or victim.chips >= asker.chips:
        return None
    aged_us = queued_us(asker) + round(config.research_waits_h * US_PER_HOUR)
    ran_us = victim.placed_us + round(config.research_runs_h * US_PER_HOUR)
    return (ran_us, "research_runs_h") if ran_us > aged_us else (aged_us, "research_waits_h")


def evictable(state: SchedulerState, asker: Slice | None) -> dict[int, int]:
    """The slices that this one may make leave now → what that costs; for one that is not the first in line
    (None) only filler. The cost is 0 for those who were told to leave already; else the chip-microseconds
    lost, of which any of research outweigh all of filler."""
    found: dict[int, int] = {}
    for victim in on_cubes(state):
        notice = state.notices.get(victim.number)
        if notice is not None:
            if notice.why == "preempted":
                found[victim.number] = 0
        elif victim.tier == "filler":
            found[victim.number] = lost_chip_us(state, victim)
    return found if asker is None else found | weaker(state, asker)


def weaker(state: SchedulerState, asker: Slice) -> dict[int, int]:
    """The research that this one may make leave now → what that costs."""
    return {
        victim.number: lost_chip_us(state, victim) << OUTWEIGHS
        for victim in on_cubes(state)
        if victim.tier == "research"
        and victim.number not in state.notices
        and _may_preempt(state, asker, victim)
    }


def _may_preempt(state: SchedulerState, asker: Slice, victim: Slice) -> bool:
    found = preempts_from(state, asker, victim)
    return found is not None and found[0] <= state.now_us


def stronger_us(state: SchedulerState, asker: Slice) -> int | None:
    """When this slice may next make somebody leave that it may not yet; None for never."""
    found = stronger_from(state, asker)
    return None if found is None else found[0]


def stronger_from(state: SchedulerState, asker: Slice) -> tuple[int, Rule] | None:
    """The same with the rule that lets it wait until then."""
    return min(
        [
            found
            for victim in on_cubes(state)
            if victim.tier == "research"  # filler leaves at once, production never
            and victim.number not in state.notices
            and (found := preempts_from(state, asker, victim)) is not None
            and found[0] > state.now_us
        ],
        key=lambda found: found[0],
        default=None,
    )


def lost_chip_us(state: SchedulerState, row: Slice) -> int:
    """Chip-microseconds that a slice loses if it is told to leave now, as far as the scheduler knows: the
    checkpoint that it writes, what it did since the last one if the grace is too short for that, and its next
    start-up. Whoever has no job loses a moment."""
    if row.progress is None or row.terms is None or row.progress.phase == "queued":
        return row.chips
    lost_us = 1 + row.terms.startup_us
    if row.progress.phase != "preparing":
        grace_us = state.config.grace_s * US_PER_S
        keeps = row.terms.write_us <= grace_us
        lost_us += row.terms.write_us if keeps else at(row.progress, state.now_us).fresh_us
    return row.chips * lost_us
