"""Recovery of interrupted slices: carries out the plan that `recovery_plan` makes for all of them together.

In a superpod, any healthy idle cube can replace a failed one, and only the circuits that touch it change
(Lightwave Fabrics 4.2.2). In a static pod, a slice of several cubes stays where it is.
"""

from schemas.messages.scheduler import RecoveryCosts, SliceBackedOff, SliceRecovering
from services.scheduler.lifecycle import (
    cancel_move,
    is_single_pod,
    report_condition,
    requeue,
    slice_name,
    store_slice,
)
from services.scheduler.placement.cube_ranking import fit_for_one_cube
from services.scheduler.placement.degraded_speed import failed_part
from services.scheduler.placement.warm_spares import release_warm_spare
from services.scheduler.queue.preflight_backoff import (
    after_stop,
    failures_text,
    keeps_cubes_until_us,
    may_rewire,
    preflight_failures_of,
    with_backoff,
)
from services.scheduler.queue.start_pause import begin_start_pause, count_backoff
from services.scheduler.recovery.cube_swaps import swap_cube
from services.scheduler.recovery.preemption_notices import give_notice
from services.scheduler.recovery.recovery_costs import RecoveryInput
from services.scheduler.recovery.recovery_inputs import (
    cubes_to_leave,
    dead_cubes,
    is_intact,
    preemptable_for_recovery,
    recovery_delays,
    recovery_input_of,
)
from services.scheduler.recovery.recovery_plan import RecoveryDecision, recovery_plan
from services.scheduler.state import SchedulerState, occupancy_of, policy_of, put_slice, slices_in
from services.scheduler.structures.occupancy import Corner
from services.scheduler.structures.slice_record import Interruption, Slice, interruption_of
from shared.basics.fast_replace import replace
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.job_progress import halted, progress_at, struck

RECHECK_US = 60 * US_PER_S
"""Minimum time until a decision to wait is reconsidered if nothing else happens."""


def interrupt(state: SchedulerState, row: Slice, part: str, cause: str, decides_us: int) -> list[Output]:
    """Interrupt a slice on cubes because this part failed; the recovery is decided at `decides_us`. A slice
    that is already interrupted keeps its earlier decision time."""
    if row.interruption is not None:
        return []
    row = cancel_move(state, row)
    row = after_stop(row, state.config, state.now_us)
    progress, lost_us = row.progress, 0
    if progress is not None and progress.phase != "preparing":
        lost_us = progress_at(progress, state.now_us).uncommitted_us
        progress = halted(progress, state.now_us) if is_single_pod(row) else progress
    interruption = Interruption(state.now_us, cause, part, lost_us, decides_us)
    reason = f"{part} failed; recovery is not decided yet"
    store_slice(
        state,
        replace(
            row,
            phase="recovering",
            changed_us=state.now_us,
            reason=reason,
            progress=progress,
            preflight_until_us=None,
            interruption=interruption,
        ),
    )
    if decides_us <= state.now_us:
        return []
    name = slice_name(state, row.number)
    return [CausedBy(cause, SliceRecovering(slice=name, part=part, choice=None, costs_chip_us=None))]


def decision_time_us(state: SchedulerState) -> int:
    """When the recovery of a slice that fails now is decided. Faults noticed within `decision_s` are planned
    together."""
    return state.now_us + state.config.decision_s * US_PER_S


def next_decision_us(state: SchedulerState) -> int | None:
    """When the next recovery decision is due, first or repeated."""
    interruptions = [row.interruption for row in slices_in(state, "recovering")]
    return min([one.due_us for one in interruptions if one is not None], default=None)


def recover_interrupted(state: SchedulerState) -> list[Output]:
    """Step 1 of the cycle: make one plan for all interrupted slices and carry it out."""
    emitted: list[Output] = []
    if not slices_in(state, "recovering"):
        return emitted
    for row in slices_in(state, "recovering"):
        if is_intact(state, row):
            emitted += report_condition(state, replace(row, interruption=None))
    is_planned = False
    while not is_planned:
        freed = [_carry_out(state, decision, emitted) for decision in current_plan(state)]
        paused = begin_start_pause(state)
        emitted += paused
        # An evicted slice leaves cubes to the slices after it, and a pause changes what they may do.
        is_planned = not any(freed) and not paused
    return emitted


def current_plan(state: SchedulerState) -> tuple[RecoveryDecision, ...]:
    """The current plan for all interrupted slices whose decision is due."""
    interrupted_slices = [
        recovery_input_of(state, row, row.interruption)
        for row in slices_in(state, "recovering")
        if row.interruption is not None
        and (row.interruption.choice is not None or row.interruption.due_us <= state.now_us)
    ]
    return recovery_plan(
        interrupted_slices, len(occupancy_of(state).idle), len(state.warm_cubes), recovery_delays(state)
    )


def _carry_out(state: SchedulerState, decision: RecoveryDecision, emitted: list[Output]) -> bool:
    """Carry out the decision for one slice; returns whether the remaining slices must be planned again."""
    number = decision.slice
    row, known = state.slices[number], interruption_of(state.slices[number])
    interruption = _with_current_part(state, row, known)
    row = replace(row, interruption=interruption)
    put_slice(state, row)
    choice = decision.choice
    takes_cubes = "swap" in policy_of(state, row).choices
    full = fit_for_one_cube(state, row) is None
    if takes_cubes and row.corner is not None and ("swap" in decision.costs) == full:
        return True  # an earlier mesh took the last block, or opened a cube with room for both
    if choice != interruption.choice:
        costs = RecoveryCosts(**decision.costs)
        body = SliceRecovering(
            slice=slice_name(state, number), part=interruption.part, choice=choice, costs_chip_us=costs
        )
        emitted.append(CausedBy(interruption.cause, body))
    if choice != "spare" and row.progress is not None and row.progress.uncommitted_us and is_single_pod(row):
        row = replace(row, progress=struck(row.progress, state.now_us))
        put_slice(state, row)
    if choice == "evict":
        emitted += _evict(state, row, interruption)
        return True
    leaving = cubes_to_leave(state, row)
    if choice in ("spare", "swap") or (choice == "wait" and takes_cubes and "swap" not in decision.costs):
        emitted += _replace_cubes(state, row, leaving, interruption, warm_cubes=choice == "spare")
        row = state.slices[number]
    if choice == "wait" and (not leaving or not set(leaving).isdisjoint(row.cubes)):
        interrupted = recovery_input_of(state, row, interruption)
        emitted += _preempt_for(state, row, interruption, interrupted) if takes_cubes else []
        _wait(state, row, interruption, interrupted)
        return False
    emitted += report_condition(state, replace(row, interruption=None), interruption.cause)
    return False


def _evict(state: SchedulerState, row: Slice, interruption: Interruption) -> list[Output]:
    """Requeue a slice. If it leaves because of failed preflights, not dead cubes, it backs off."""
    why, number = _failed_preflights_text(state, row), row.number
    backs_off = not dead_cubes(state, row) and not may_rewire(state, row)
    dearer = "waiting for a cube or the repair costs more than a restart"
    reason = (
        f"{interruption.part} failed{why or ','} and {'the slice leaves its cubes' if backs_off else dearer}"
    )
    if not backs_off:
        return requeue(state, row, reason, interruption.cause, interruption.lost_us)
    count_backoff(state, row, preflight_failures_of(row).links)
    row = with_backoff(state, row)
    failures = preflight_failures_of(row)
    emitted = requeue(state, row, reason, interruption.cause, interruption.lost_us)
    if number not in state.slices or failures.again_us is None:
        return emitted
    body = SliceBackedOff(
        slice=slice_name(state, number),
        until_us=failures.again_us,
        preflights=failures.failed,
        links=failures.links,
        ocses=tuple(ocs for ocs, _ in failures.ocses),
        over=tuple(links for _, links in failures.ocses),
    )
    return [*emitted, CausedBy(interruption.cause, body)]


def _preempt_for(
    state: SchedulerState, row: Slice, interruption: Interruption, interrupted: RecoveryInput
) -> list[Output]:
    """Preempt slices for one that waits for a cube, those that lose least. Then it waits for at most one
    grace period."""
    if (
        not interrupted.moves
        or recovery_plan([interrupted], interrupted.cubes, 0, recovery_delays(state))[0].choice != "swap"
    ):
        return []  # the slice would wait even with free cubes
    yielding = preemptable_for_recovery(state, row)
    if not yielding:
        return []
    shape = row.shape if row.corner is not None else (4, 4, 4 * interrupted.cubes)
    fit = state.placement.fit_by_preemption(occupancy_of(state), shape, yielding)
    return [] if fit is None else give_notice(state, row, fit[1], interruption.cause)


def _with_current_part(state: SchedulerState, row: Slice, interruption: Interruption) -> Interruption:
    """The interruption with its current cause: the part that began it may have been replaced while another
    still fails."""
    names = {f"{state.fabric}/cube-{cube}" for cube in row.cubes}
    dead = dead_cubes(state, row)
    if dead and interruption.part not in names:
        return replace(interruption, part=f"{state.fabric}/cube-{dead[0]}")
    first_part = "/".join(interruption.part.split("/")[:2])
    if not dead and row.links_down and "/cube-" in first_part and first_part not in names:
        return replace(interruption, part=failed_part(state, row))
    return interruption


def _wait(state: SchedulerState, row: Slice, interruption: Interruption, interrupted: RecoveryInput) -> None:
    again_us = state.now_us + max(interrupted.repair_us // 2, RECHECK_US)
    keeps_cubes_us = keeps_cubes_until_us(state, row)
    if keeps_cubes_us is not None:
        again_us = min(again_us, keeps_cubes_us)
    if interruption.choice != "wait" or interruption.due_us <= state.now_us:
        interruption = replace(interruption, choice="wait", due_us=again_us)
    why = "the slice waits for its repair or a healthy idle cube"
    if not state.placement.can_move(row.cubes):
        why = "the slice cannot leave it"
    elif keeps_cubes_us is not None:
        why = (
            f"the slice waits for its links until {format_time(keeps_cubes_us)} (scheduler.preflight_stay_s)"
        )
    elif not interrupted.moves:
        why = "the slice waits for the repair"
    reason = f"{interruption.part} failed{_failed_preflights_text(state, row)} and {why}"
    waiting = replace(row, phase="recovering", reason=reason, links_checked=False, interruption=interruption)
    store_slice(state, waiting)


def _failed_preflights_text(state: SchedulerState, row: Slice) -> str:
    """Text with the failed preflights of a slice, if they caused the interruption."""
    by_links = row.preflight_failures is not None and not dead_cubes(state, row)
    return f", {failures_text(state, row)}," if by_links else ""


def _replace_cubes(
    state: SchedulerState, row: Slice, leaving: tuple[int, ...], interruption: Interruption, warm_cubes: bool
) -> list[Output]:
    """Replace as many cubes as there are spares."""
    emitted: list[Output] = []
    if not state.placement.can_move(row.cubes):
        return emitted
    for cube in leaving:
        room = _take_warm_spare(state, row) if warm_cubes else fit_for_one_cube(state, row)
        if room is not None:
            row = state.slices[row.number]
            emitted += swap_cube(state, row, cube, *room, "failed", interruption.cause, warm=warm_cubes)
    return emitted


def _take_warm_spare(state: SchedulerState, row: Slice) -> tuple[int, Corner | None]:
    cube = min(state.warm_cubes)
    release_warm_spare(state, cube)
    return cube, None if row.corner is None else (0, 0, 0)
