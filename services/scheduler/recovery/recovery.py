"""Slices that hardware events have hit: what `recovery_plan` decides for all of them together is done.

Any healthy idle cube can take the place of one that failed, and only the circuits that touch it change
(Lightwave Fabrics 4.2.2). A slice whose cubes are joined for good stays.
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
    failures_text,
    keeps_cubes_until_us,
    may_rewire,
    note_stopped,
    start_backoff,
)
from services.scheduler.recovery.cube_swaps import swap_cube
from services.scheduler.recovery.preemption_notices import give_notice
from services.scheduler.recovery.recovery_inputs import (
    cubes_to_leave,
    dead_cubes,
    is_intact,
    preemptable_for_recovery,
    recovery_delays,
    recovery_input_of,
)
from services.scheduler.recovery.recovery_plan import RecoveryDecision, RecoveryInput, recovery_plan
from services.scheduler.state import Interruption, SchedulerState, Slice, occupancy_of, policy_of
from services.scheduler.structures.occupancy import Corner
from shared.basics.fast_replace import replace
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.progress import halted, progress_at, struck

RECHECK_US = 60 * US_PER_S
"""The least time after which a choice to wait is looked at again, if nothing else happens."""


def interrupt(state: SchedulerState, row: Slice, part: str, cause: str, decides_us: int) -> list[Output]:
    """A slice on cubes cannot go on as it was, because of this part; what becomes of it is decided then. One
    that stalls already goes on waiting for that."""
    if row.number in state.interruptions:
        return []
    cancel_move(state, row)
    note_stopped(state, row)
    state.preflights.pop(row.number, None)
    progress, lost_us = row.progress, 0
    if progress is not None and progress.phase != "preparing":
        lost_us = progress_at(progress, state.now_us).uncommitted_us
        progress = halted(progress, state.now_us) if is_single_pod(state, row) else progress
    state.interruptions[row.number] = Interruption(state.now_us, cause, part, lost_us, decides_us)
    reason = f"{part} failed, and it is not decided yet what to do"
    store_slice(
        state,
        replace(row, state="recovering", changed_us=state.now_us, reason=reason, progress=progress),
    )
    if decides_us <= state.now_us:
        return []
    name = slice_name(state, row.number)
    return [CausedBy(cause, SliceRecovering(slice=name, part=part, choice=None, costs_chip_us=None))]


def decision_time_us(state: SchedulerState) -> int:
    """When it is decided what becomes of a slice that is hit now: what fails together, and is noticed within
    this time, is planned together."""
    return state.now_us + state.config.decision_s * US_PER_S


def next_decision_us(state: SchedulerState) -> int | None:
    """When the next decision is due for a slice that was hit, or due again for one that waits."""
    return min([interruption.due_us for interruption in state.interruptions.values()], default=None)


def recover_interrupted(state: SchedulerState) -> list[Output]:
    """Step 1 of the cycle: one plan for all slices that were hit, and what it takes to carry it out."""
    emitted: list[Output] = []
    if not state.interruptions:
        return emitted
    for number in sorted(state.interruptions):
        row = state.slices[number]
        if is_intact(state, row):
            del state.interruptions[number]
            emitted += report_condition(state, row)
    is_planned = False
    while not is_planned:
        freed = [_carry_out(state, decision, emitted) for decision in current_plan(state)]
        is_planned = not any(freed)  # whoever is evicted leaves cubes to those behind
    return emitted


def current_plan(state: SchedulerState) -> tuple[RecoveryDecision, ...]:
    """What would be done now with all slices that stall and are to be decided on."""
    hits = [
        recovery_input_of(state, state.slices[number], interruption)
        for number, interruption in state.interruptions.items()
        if interruption.choice is not None or interruption.due_us <= state.now_us
    ]
    return recovery_plan(hits, len(occupancy_of(state).idle), len(state.warm_cubes), recovery_delays(state))


def _carry_out(state: SchedulerState, decision: RecoveryDecision, emitted: list[Output]) -> bool:
    """Do what was decided for one slice; returns whether who is left has to be planned anew."""
    number = decision.slice
    row = state.slices[number]
    interruption = state.interruptions[number] = _still(state, row, state.interruptions[number])
    choice = decision.choice
    takes_cubes = "swap" in policy_of(state, row).choices
    full = fit_for_one_cube(state, row) is None
    if takes_cubes and row.corner is not None and ("swap" in decision.costs) == full:
        return True  # a mesh before it took the last room for both, or opened a cube that has room for both
    if choice != interruption.choice:
        costs = RecoveryCosts(**decision.costs)
        body = SliceRecovering(
            slice=slice_name(state, number), part=interruption.part, choice=choice, costs_chip_us=costs
        )
        emitted.append(CausedBy(interruption.cause, body))
    if (
        choice != "spare"
        and row.progress is not None
        and row.progress.uncommitted_us
        and is_single_pod(state, row)
    ):
        row = replace(row, progress=struck(row.progress, state.now_us))
        state.slices[number] = row
    if choice == "evict":
        emitted += _evict(state, row, interruption)
        return True
    leaving = cubes_to_leave(state, row)
    if choice in ("spare", "swap") or (choice == "wait" and takes_cubes and "swap" not in decision.costs):
        emitted += _replace_cubes(state, row, leaving, interruption, warm_cubes=choice == "spare")
        row = state.slices[number]
    if choice == "wait" and (not leaving or not set(leaving).isdisjoint(row.cubes)):
        hit = recovery_input_of(state, row, interruption)
        emitted += _make_room(state, row, interruption, hit) if takes_cubes else []
        _wait(state, row, interruption, hit)
        return False
    del state.interruptions[number]
    emitted += report_condition(state, row, interruption.cause)
    return False


def _evict(state: SchedulerState, row: Slice, interruption: Interruption) -> list[Output]:
    """A slice goes back to the queue; one that leaves for failed preflights, and not for dead cubes, wants no
    others for a while."""
    why, number = _checks(state, row), row.number
    rests = not dead_cubes(state, row) and not may_rewire(state, row)
    dearer = "to wait for a cube or the repair costs more than to start anew"
    reason = f"{interruption.part} failed{why or ','} and {'it leaves its cubes' if rests else dearer}"
    if not rests:
        return requeue(state, row, reason, interruption.cause, interruption.lost_us)
    failures = start_backoff(state, row)
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


def _make_room(
    state: SchedulerState, row: Slice, interruption: Interruption, hit: RecoveryInput
) -> list[Output]:
    """Who waits for a cube need not wait for longer than others have to write a checkpoint: of those whom it
    may make leave, who lose least are told to."""
    if not hit.moves or recovery_plan([hit], hit.cubes, 0, recovery_delays(state))[0].choice != "swap":
        return []  # it would wait on even so
    yielding = preemptable_for_recovery(state, row)
    if not yielding:
        return []
    shape = row.shape if row.corner is not None else (4, 4, 4 * hit.cubes)
    found = state.placement.fit_by_preemption(occupancy_of(state), shape, yielding)
    return [] if found is None else give_notice(state, row, found[1], interruption.cause)


def _still(state: SchedulerState, row: Slice, interruption: Interruption) -> Interruption:
    """What is still the matter: the cube that began it, or whose link did, may be replaced already, and
    another not."""
    names = {f"{state.fabric}/cube-{cube}" for cube in row.cubes}
    dead = dead_cubes(state, row)
    if dead and interruption.part not in names:
        return replace(interruption, part=f"{state.fabric}/cube-{dead[0]}")
    began = "/".join(interruption.part.split("/")[:2])
    if not dead and row.links_down and "/cube-" in began and began not in names:
        return replace(interruption, part=failed_part(state, row))
    return interruption


def _wait(state: SchedulerState, row: Slice, interruption: Interruption, hit: RecoveryInput) -> None:
    again_us = state.now_us + max(hit.repair_us // 2, RECHECK_US)
    stays_us = keeps_cubes_until_us(state, row)
    if stays_us is not None:
        again_us = min(again_us, stays_us)
    if interruption.choice != "wait" or interruption.due_us <= state.now_us:
        state.interruptions[row.number] = replace(interruption, choice="wait", due_us=again_us)
    why = "it waits for that, or for a healthy idle cube"
    if not state.placement.can_move(row.cubes):
        why = "the slice cannot leave it"
    elif stays_us is not None:
        why = f"it waits for its links until {format_time(stays_us)} (scheduler.preflight_stay_s)"
    elif not hit.moves:
        why = "it waits for the repair"
    reason = f"{interruption.part} failed{_checks(state, row)} and {why}"
    store_slice(state, replace(row, state="recovering", reason=reason, links_checked=False))


def _checks(state: SchedulerState, row: Slice) -> str:
    """How often a slice that has not run for long since failed its preflight, in words."""
    by_links = row.number in state.preflight_failures and not dead_cubes(state, row)
    return f", {failures_text(state, row)}," if by_links else ""


def _replace_cubes(
    state: SchedulerState, row: Slice, leaving: tuple[int, ...], interruption: Interruption, warm_cubes: bool
) -> list[Output]:
    """Put spares in the places of as many cubes as there are spares for."""
    emitted: list[Output] = []
    if not state.placement.can_move(row.cubes):
        return emitted
    for cube in leaving:
        room = _take_hot(state, row) if warm_cubes else fit_for_one_cube(state, row)
        if room is not None:
            row = state.slices[row.number]
            emitted += swap_cube(state, row, cube, *room, "failed", interruption.cause, warm=warm_cubes)
    return emitted


def _take_hot(state: SchedulerState, row: Slice) -> tuple[int, Corner | None]:
    cube = min(state.warm_cubes)
    release_warm_spare(state, cube)
    return cube, None if row.corner is None else (0, 0, 0)
