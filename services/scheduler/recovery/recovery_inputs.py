"""What a slice that was hit stands to lose, gathered for the plan (`recovery_plan`)."""

from collections import Counter

from schemas.recovery_policy import Choice, RecoveryPolicy
from services.scheduler.placement.degraded_speed import down_ends, rerouted_speed
from services.scheduler.queue.backfill import timeline_of
from services.scheduler.queue.preemption import preemptable_by
from services.scheduler.queue.preflight_backoff import keeps_cubes_until_us, may_rewire, preflight_failures_of
from services.scheduler.recovery.recovery_plan import RecoveryDelays, RecoveryInput, expected_left_us
from services.scheduler.state import (
    Interruption,
    SchedulerState,
    Slice,
    accepts_speed,
    job_chips,
    occupancy_of,
    placed_slices,
    policy_of,
    waits_for_ocs,
)
from services.scheduler.structures.expected_durations import expected_switching_us
from services.scheduler.structures.timeline import FOREVER
from services.scheduler.structures.waiting_lines import TIERS
from shared.basics.units import SPAN_US_MAX, US_PER_S
from shared.models.superpod.shapes import cubes_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE, ENDS_PER_CUBE, ocs_of

SWAP_JOINS = 2
"""Joins that a cube in the place of another takes in each dimension: one on either side."""


def recovery_delays(state: SchedulerState) -> RecoveryDelays:
    config = state.config
    return RecoveryDelays(
        decision_us=config.decision_s * US_PER_S,
        circuits_us=expected_switching_us(state.expected_durations.ocs, SWAP_JOINS),
        preflight_us=config.preflight_s * US_PER_S,
        grace_us=config.grace_s * US_PER_S,
    )


def dead_cubes(state: SchedulerState, row: Slice) -> tuple[int, ...]:
    """The cubes of a slice with hosts or chips out of order."""
    return tuple(
        [cube for cube in row.cubes if cube in state.unhealthy and cube not in state.module_failed_cubes]
    )


def cubes_to_leave(state: SchedulerState, row: Slice) -> tuple[int, ...]:
    """The cubes of a slice that others should replace: those that are dead; else those whose links are down,
    as few as will do, as far as that is not because of an OCS, which takes all cubes the same links. A link
    has two ends, and either may be at fault: where nothing tells them apart the cube of the other end has its
    turn after the next preflight that fails, for cubes keep the places of those that they replace. After more
    of those the slice is not wired again where it is."""
    dead = dead_cubes(state, row)
    if dead or not may_rewire(state, row) or not state.placement.can_move(row.cubes):
        return dead
    ends = [end for end in down_ends(state, row) if ocs_of(end) not in state.ocs_down]
    links = Counter([end // ENDS_PER_CUBE for end in ends])
    turn = -1 if preflight_failures_of(state, row).failed % 2 else 1
    place_of = {cube: turn * place for place, cube in enumerate(row.cubes)}
    chosen: list[int] = []
    covered, wanted = 0, sum(links.values())
    for cube in sorted(
        links, key=lambda cube: (cube not in state.module_failed_cubes, -links[cube], place_of[cube])
    ):
        # Every link that is down has both its ends in this table, so that half of it is to be covered.
        if 2 * covered >= wanted:
            break
        chosen.append(cube)
        covered += links[cube]
    return tuple(chosen)


def is_intact(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice could go on where it is as if nothing had happened."""
    return not row.links_down and not dead_cubes(state, row)


def recovery_input_of(state: SchedulerState, row: Slice, interruption: Interruption) -> RecoveryInput:
    """A slice that stalls, in numbers."""
    dead, leaving = dead_cubes(state, row), cubes_to_leave(state, row)
    cubes = 0 if _fits_a_used_cube(state, row) else len(leaving)
    elapsed_us = state.now_us - interruption.since_us
    by_ocs = not dead and any(ocs_of(end) in state.ocs_down for end in down_ends(state, row))
    repair_us = expected_left_us(_repair_us(state, bool(dead), by_ocs), elapsed_us)
    yielding = preemptable_for_recovery(state, row)
    ends = [
        (leaves_us, len(other.cubes))
        for other in placed_slices(state)
        if other.number != row.number and other.corner is None
        if (leaves_us := _leaves_us(state, other, other.number in yielding)) is not None
    ]
    policy, chips = policy_of(state, row), job_chips(state, row)
    route_ppm = 0 if dead else rerouted_speed(state, row)
    return RecoveryInput(
        slice=row.number,
        urgency=(TIERS.index(row.tier), -row.priority, interruption.since_us, -row.chips),
        chips=chips,
        idle_chips=chips - (row.chips if row.corner and dead else CHIPS_PER_CUBE * len(dead)),
        cubes=cubes,
        moves=bool(leaving) and state.placement.can_move(row.cubes),
        lost_us=interruption.lost_us,
        startup_us=0 if row.terms is None else row.terms.startup_us,
        left_us=_left_us(state, row),
        route_ppm=route_ppm if accepts_speed(policy, route_ppm) else 0,
        repair_us=repair_us,
        ends=tuple(sorted(ends)),
        cubes_short=_short_of(state, row, len(dead), by_ocs),
        box_us=_box_us(state, row, repair_us) if dead and not state.placement.can_move(row.cubes) else None,
        choices=_choices(state, row, policy, bool(dead)),
        replicates=row.terms is not None and row.terms.replicates,
    )


def _choices(state: SchedulerState, row: Slice, policy: RecoveryPolicy, dead: bool) -> tuple[Choice, ...]:
    """What a slice may do. One whose preflights failed again and again does not wait on its cubes for links
    that have not come up by themselves, if its owner lets it leave them: it would be checked in vain as often
    as one of them comes and goes."""
    overdue = not dead and not may_rewire(state, row) and keeps_cubes_until_us(state, row) is None
    if not overdue or "evict" not in policy.choices or not state.placement.can_move(row.cubes):
        return policy.choices
    return tuple([choice for choice in policy.choices if choice != "wait"])


def _box_us(state: SchedulerState, row: Slice, repair_us: int) -> int:
    """In how long a slice whose cubes stay where they are could start anew in another box, by the estimates
    of who is in the way, filler aside; where every box has a cube that is out of order, with the repair."""
    yielding = {row.number: 0} | ({} if row.tier == "filler" else preemptable_by(state, None))
    start_us = state.placement.start_us(timeline_of(state, yielding), row.shape, held_back=0)
    return repair_us if start_us >= FOREVER else start_us - state.now_us


def _short_of(state: SchedulerState, row: Slice, dead: int, by_ocs: bool) -> int | None:
    """How many cubes a slice is short of if it starts anew by way of the queue, where those of its own that
    are in order come back as for any that is promised its start; None if that is no help."""
    can_move = state.placement.can_move(row.cubes)
    if not dead and not may_rewire(state, row):
        leaves = can_move and keeps_cubes_until_us(state, row) is None
        return cubes_of(row.shape) if leaves else None  # others than its own
    if dead:
        is_wanted = state.queued > 0 or dead <= len(occupancy_of(state).idle)
        return dead if can_move and is_wanted else None  # else its others would be of no use to anybody
    # It comes back with the OCS, and leaves as many as it needs then; meanwhile others can use them.
    return 0 if by_ocs and waits_for_ocs(state, row) else None  # elsewhere there are links, too


def preemptable_for_recovery(state: SchedulerState, row: Slice) -> dict[int, int]:
    """The slices that one which lost a cube may make leave for another → what that costs: those that it could
    if it were the first in line, so that it does not stand idle on all its others for hours. They are such as
    leave whole cubes at once, for nothing is kept for it that comes free in parts."""
    if row.tier == "filler":
        return {}
    yielding = preemptable_by(state, row if row.corner is None else None)
    yielding |= {number: 0 for number, notice in state.notices.items() if notice.preemptor == row.number}
    return {
        number: lost
        for number, lost in yielding.items()
        if number != row.number and state.slices[number].corner is None
    }


def _leaves_us(state: SchedulerState, other: Slice, yields: bool) -> int | None:
    """In how long another slice is expected to leave its cubes, None if nobody knows; within its grace if it
    is to make room."""
    left_us = None if other.ends_us is None else max(other.ends_us - state.now_us, 0)
    if not yields:
        return left_us
    grace_us = state.config.grace_s * US_PER_S
    return grace_us if left_us is None else min(left_us, grace_us)


def _fits_a_used_cube(state: SchedulerState, row: Slice) -> bool:
    return row.corner is not None and occupancy_of(state).fit_in_partly_used(row.chips) is not None


def _repair_us(state: SchedulerState, dead: bool, by_ocs: bool) -> int:
    if dead:
        return state.expected_durations.host_repair_us
    return state.expected_durations.ocs_repair_us if by_ocs else state.expected_durations.link_repair_us


def _left_us(state: SchedulerState, row: Slice) -> int:
    """The work that a slice still has to do: of its job, else by the estimate of its owner; without one it
    never ends."""
    if row.terms is not None:
        return row.terms.work_us - (row.progress.kept_us if row.progress is not None else 0)
    return SPAN_US_MAX if row.ends_us is None else max(row.ends_us - state.now_us, 0)
