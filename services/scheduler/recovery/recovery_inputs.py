"""Gathers the inputs of the recovery plan for an interrupted slice (`recovery_plan`)."""

from schemas.recovery_policy import Choice, RecoveryPolicy
from services.scheduler.placement.degraded_speed import rerouted_speed
from services.scheduler.queue.backfill import timeline_of
from services.scheduler.queue.preemption import preemptable_by
from services.scheduler.queue.preflight_backoff import keeps_cubes_until_us, may_rewire, preflight_failures_of
from services.scheduler.recovery.recovery_costs import RecoveryDelays, RecoveryInput, expected_left_us
from services.scheduler.state import (
    SchedulerState,
    accepts_speed,
    faults_of,
    job_chips,
    occupancy_of,
    placed_slices,
    policy_of,
    waits_for_ocs,
)
from services.scheduler.structures.expected_durations import expected_switching_us
from services.scheduler.structures.slice_record import Interruption, Slice
from services.scheduler.structures.timeline import FOREVER
from services.scheduler.structures.waiting_lines import TIERS
from shared.basics.units import SPAN_US_MAX, US_PER_S
from shared.models.superpod.shapes import cubes_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE

SWAP_JOINS = 2
"""Joins per dimension that change when one cube replaces another: one on either side."""


def recovery_delays(state: SchedulerState) -> RecoveryDelays:
    config = state.config
    return RecoveryDelays(
        decision_us=config.decision_s * US_PER_S,
        circuits_us=expected_switching_us(state.expected_durations.ocs, SWAP_JOINS),
        preflight_us=config.preflight_s * US_PER_S,
        grace_us=config.grace_s * US_PER_S,
    )


def dead_cubes(state: SchedulerState, row: Slice) -> tuple[int, ...]:
    """The cubes of a slice with failed hosts or chips."""
    return tuple(
        [cube for cube in row.cubes if cube in state.unhealthy and cube not in state.module_failed_cubes]
    )


def cubes_to_leave(state: SchedulerState, row: Slice) -> tuple[int, ...]:
    """The cubes of a slice to replace: the dead ones, else those whose links are down.

    As few cubes as possible are replaced. Links that are down because of an OCS do not count, because that
    OCS fails the same links of all cubes. A link has two ends, and either may be at fault. If nothing tells
    them apart, the other end's cube is tried after the next failed preflight; this works because a
    replacement takes the place of the cube it replaces. After more than `preflight_tries` failures the slice
    is not rewired in place.
    """
    dead = dead_cubes(state, row)
    if dead or not may_rewire(state, row) or not state.placement.can_move(row.cubes):
        return dead
    links = faults_of(state, row).down_by_cube_without(state.ocs_down)
    order_sign = -1 if preflight_failures_of(row).failed % 2 else 1
    place_of = {cube: order_sign * place for place, cube in enumerate(row.cubes)}
    chosen: list[int] = []
    covered, wanted = 0, sum(links.values())
    for cube in sorted(
        links, key=lambda cube: (cube not in state.module_failed_cubes, -links[cube], place_of[cube])
    ):
        # Both ends of every failed link are in this table, so covering half of the ends is enough.
        if 2 * covered >= wanted:
            break
        chosen.append(cube)
        covered += links[cube]
    return tuple(chosen)


def is_intact(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice could continue where it is as if nothing had happened."""
    return not row.links_down and not dead_cubes(state, row)


def recovery_input_of(state: SchedulerState, row: Slice, interruption: Interruption) -> RecoveryInput:
    """The inputs of the plan for one interrupted slice."""
    dead, leaving = dead_cubes(state, row), cubes_to_leave(state, row)
    cubes = 0 if _fits_a_used_cube(state, row) else len(leaving)
    elapsed_us = state.now_us - interruption.since_us
    by_ocs = not dead and not state.ocs_down.keys().isdisjoint(faults_of(state, row).down_by_ocs)
    repair_us = expected_left_us(_repair_us(state, bool(dead), by_ocs), elapsed_us)
    yielding = preemptable_for_recovery(state, row)
    ends = [
        (leaves_us, len(other.cubes))
        for other in placed_slices(state)
        if other.number != row.number and other.corner is None
        if (leaves_us := _leaves_us(state, other, other.number in yielding)) is not None
    ]
    policy, chips = policy_of(state, row), job_chips(row)
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
        left_us=_remaining_work_us(state, row),
        route_ppm=route_ppm if accepts_speed(policy, route_ppm) else 0,
        repair_us=repair_us,
        ends=tuple(sorted(ends)),
        cubes_short=_cubes_short(state, row, len(dead), by_ocs),
        box_us=_box_us(state, row, repair_us) if dead and not state.placement.can_move(row.cubes) else None,
        choices=_choices(state, row, policy, bool(dead)),
        replicates=row.terms is not None and row.terms.replicates,
    )


def _choices(state: SchedulerState, row: Slice, policy: RecoveryPolicy, dead: bool) -> tuple[Choice, ...]:
    """The choices of a slice.

    After too many failed preflights, a slice does not wait on its cubes for links that have not come up by
    themselves, if its owner lets it leave. Otherwise it would be checked, without effect, each time one of
    the links flaps.
    """
    overdue = not dead and not may_rewire(state, row) and keeps_cubes_until_us(state, row) is None
    if not overdue or "evict" not in policy.choices or not state.placement.can_move(row.cubes):
        return policy.choices
    return tuple([choice for choice in policy.choices if choice != "wait"])


def _box_us(state: SchedulerState, row: Slice, repair_us: int) -> int:
    """Time until a slice whose cubes cannot be replaced can restart in another box, by the estimates of other
    slices, ignoring filler. The repair time if every box has an unusable cube."""
    yielding = {row.number: 0} | ({} if row.tier == "filler" else preemptable_by(state, None))
    start_us = state.placement.start_us(timeline_of(state, yielding), row.shape, held_back=0)
    return repair_us if start_us >= FOREVER else start_us - state.now_us


def _cubes_short(state: SchedulerState, row: Slice, dead: int, by_ocs: bool) -> int | None:
    """How many cubes a slice lacks to restart through the queue, where its own healthy cubes come back to it;
    None if a restart does not help."""
    can_move = state.placement.can_move(row.cubes)
    if not dead and not may_rewire(state, row):
        leaves_cubes = can_move and keeps_cubes_until_us(state, row) is None
        return cubes_of(row.shape) if leaves_cubes else None  # all of its cubes must be others
    if dead:
        is_wanted = state.queued > 0 or dead <= len(occupancy_of(state).idle)
        return dead if can_move and is_wanted else None  # else no other slice could use its remaining cubes
    # The slice returns when the OCS does, and frees as many cubes as it then needs. Other slices can use its
    # cubes until then.
    return 0 if by_ocs and waits_for_ocs(state, row) else None  # other cubes have working links


def preemptable_for_recovery(state: SchedulerState, row: Slice) -> dict[int, int]:
    """The slices that a slice which lost a cube may preempt → what that costs.

    These are the slices that it could preempt if it were first in line, so that it does not idle for hours
    on its other cubes. Only slices of whole cubes count, because nothing is reserved for it that comes free
    in parts.
    """
    if row.tier == "filler":
        return {}
    yielding = preemptable_by(state, row if row.corner is None else None)
    yielding |= {
        other.number: 0
        for other in placed_slices(state)
        if other.notice is not None and other.notice.preemptor == row.number
    }
    return {
        number: lost
        for number, lost in yielding.items()
        if number != row.number and state.slices[number].corner is None
    }


def _leaves_us(state: SchedulerState, other: Slice, yields: bool) -> int | None:
    """Time until another slice is expected to leave its cubes; None if unknown. At most the grace period if
    it can be preempted."""
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


def _remaining_work_us(state: SchedulerState, row: Slice) -> int:
    """The work that is left: of its job, else by its owner's estimate; SPAN_US_MAX without an estimate."""
    if row.terms is not None:
        return row.terms.work_us - (row.progress.kept_us if row.progress is not None else 0)
    return SPAN_US_MAX if row.ends_us is None else max(row.ends_us - state.now_us, 0)
