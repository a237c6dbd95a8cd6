"""The steps of a slice's life and the messages they emit: admitted, started, left, ended.

Admission, recovery and link events call these functions. Slices take and leave cubes only here.
"""

from typing import Literal

from schemas.messages.scheduler import (
    DisconnectCircuits,
    PodsParted,
    SchedulerBody,
    SliceAdmitted,
    SliceDegraded,
    SliceEvicted,
    SlicePreflight,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from services.scheduler.placement.circuit_commands import connect_joins, disconnect_cube, leave_circuits
from services.scheduler.placement.degraded_speed import slice_speed
from services.scheduler.queue.expected_end import expected_end_us, remaining_run_us
from services.scheduler.queue.preflight_backoff import after_placement, after_start, after_stop
from services.scheduler.queue.start_pause import note_attempt, note_start
from services.scheduler.state import (
    SchedulerState,
    drop_slice,
    enqueue,
    faults_of,
    is_deferred,
    line_of,
    link_faults_of,
    occupancy_of,
    place_in_line,
    put_ended,
    put_slice,
    queue_of,
    queued_us,
    record_link_end,
)
from services.scheduler.structures.occupancy import Corner
from services.scheduler.structures.slice_record import Slice, as_waiting, condition_of, without_cubes
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.job_progress import Progress, placed, ready, unplaced
from shared.models.jobs.multislice_jobs import all_stopped


def slice_name(state: SchedulerState, number: int) -> str:
    return f"{state.fabric}/slice-{number}"


def store_slice(state: SchedulerState, row: Slice) -> None:
    """Store a slice and mark its documents as changed."""
    put_slice(state, with_state_time(row, state.now_us))
    state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))
    state.changed_documents.add(("slices", slice_name(state, row.number)))


def with_state_time(row: Slice, now_us: int) -> Slice:
    """The slice with the time at which it entered its state, if the state is new."""
    if row.since_us and row.since_us[-1][0] == row.state:
        return row
    before = [(state, since_us) for state, since_us in row.since_us if state != row.state]
    return replace(row, since_us=(*before, (row.state, now_us)))


def admit(
    state: SchedulerState,
    row: Slice,
    cubes: tuple[int, ...],
    corner: Corner | None,
    cause: str | None = None,
) -> list[Output]:
    """Give a waiting slice its cubes. `cause` is the id of the message that led to this; default: its
    request.

    A slice that needs circuits waits for them. Any other slice starts, even on links that are already
    degraded.
    """
    occupancy_of(state).hold(row.number, cubes, row.shape, corner)
    touch_cube_uses(state, cubes)
    row = after_placement(row)
    state.chips_allocated += row.chips
    state.admitted += 1
    state.queued -= 1
    joins = state.placement.joins(row.shape, row.twisted, cubes)
    until_us = (
        preflight_until_us(state) if not joins and corner is None and state.config.preflight_s else None
    )
    waits = bool(joins) or until_us is not None
    faults = faults_of(state, replace(row, cubes=cubes, corner=corner))
    progress = placed(row.progress or Progress(row.terms, state.now_us), state.now_us)
    waited_us = state.now_us - queued_us(row)
    row = replace(
        row,
        changed_us=state.now_us,
        cubes=cubes,
        corner=corner,
        started_us=None if waits else state.now_us,
        links_down=len(faults.down),
        links_degraded=len(faults.degraded),
        reason=None,
        progress=progress,
        links_checked=False,
        placed_us=state.now_us,
        ends_us=expected_end_us(state, row, state.now_us),
        pending_joins=joins or None,
        preflight_until_us=until_us,
    )
    row = replace(row, phase=condition_of(row), speed_ppm=slice_speed(state, row))
    if not waits and is_single_pod(row):
        row = replace(row, progress=ready(progress, state.now_us, row.speed_ppm))
    store_slice(state, row)
    note_attempt(state, row)
    name = slice_name(state, row.number)
    admitted = SliceAdmitted(
        slice=name,
        shape=row.shape,
        twisted=row.twisted,
        cubes=cubes,
        corner=corner,
        waited_us=waited_us,
    )
    bodies: list[SchedulerBody] = [admitted]
    if corner is not None:
        bodies += disconnect_cube(state, name, cubes[0])
    if joins:
        bodies += connect_joins(state, name, joins)
    elif until_us is not None:
        bodies.append(SlicePreflight(slice=name, until_us=until_us))
    else:
        bodies.append(SliceStarted(slice=name, speed_ppm=row.speed_ppm))
    if row.state == "degraded":
        bodies.append(degraded_message(state, row))
    return [CausedBy(cause or row.request, body) for body in bodies]


def report_condition(state: SchedulerState, row: Slice, cause: str | None = None) -> list[Output]:
    """Emit the condition of a slice after its circuits or cubes changed.

    Emits nothing while it is recovering, programming or in preflight. An unchecked slice that could run goes
    to preflight first. A slice that runs for the first time emits SliceStarted.
    """
    now_us = state.now_us
    condition = condition_of(row)
    if condition in ("running", "degraded") and needs_preflight(state, row):
        return start_preflight(state, row, cause)
    if condition in ("recovering", "programming", "preflight"):
        reason = row.reason if condition == "recovering" else None
        store_slice(state, replace(row, phase=condition, changed_us=now_us, reason=reason))
        return []
    name = slice_name(state, row.number)
    row = replace(row, speed_ppm=slice_speed(state, row))
    row = after_start(row, now_us)
    bodies: list[SchedulerBody] = []
    if row.started_us is None:
        bodies.append(SliceStarted(slice=name, speed_ppm=row.speed_ppm))
    if condition == "degraded":
        bodies.append(degraded_message(state, row))
    elif row.started_us is not None:
        bodies.append(SliceRestored(slice=name))
    started_us = now_us if row.started_us is None else row.started_us
    progress = row.progress
    if progress is not None and progress.phase in ("preparing", "standing") and is_single_pod(row):
        progress = ready(progress, now_us, row.speed_ppm)
    if row.started_us is None and row.estimate_us is not None:
        row = replace(row, ends_us=now_us + remaining_run_us(row, row.estimate_us))
    row = replace(row, progress=progress)
    store_slice(state, replace(row, phase=condition, changed_us=now_us, started_us=started_us, reason=None))
    bodies += note_start(state, row)
    return [body if cause is None else CausedBy(cause, body) for body in bodies]


def is_single_pod(row: Slice) -> bool:
    """Whether a slice is the whole job, so that events on it affect the job at once. For a multislice job,
    the signals of its pods do that (`multislice`)."""
    return row.member is None


def needs_preflight(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice needs a preflight before it may run. A mesh uses no links, so it needs none."""
    return not row.links_checked and row.corner is None and state.config.preflight_s > 0


def start_preflight(state: SchedulerState, row: Slice, cause: str | None) -> list[Output]:
    """Start the preflight of a slice: its links are checked before its job may run."""
    until_us = preflight_until_us(state)
    store_slice(
        state,
        replace(row, phase="preflight", preflight_until_us=until_us, changed_us=state.now_us, reason=None),
    )
    body = SlicePreflight(slice=slice_name(state, row.number), until_us=until_us)
    return [body if cause is None else CausedBy(cause, body)]


def degraded_message(state: SchedulerState, row: Slice) -> SliceDegraded:
    return SliceDegraded(
        slice=slice_name(state, row.number),
        links_down=row.links_down,
        links_degraded=row.links_degraded,
        speed_ppm=row.speed_ppm,
    )


def preflight_until_us(state: SchedulerState) -> int:
    """The end of a preflight that starts now."""
    return state.now_us + state.config.preflight_s * US_PER_S


def cancel_move(state: SchedulerState, row: Slice) -> Slice:
    """Cancel the move of a slice, if it has one, and release the spare that was reserved for it. Returns the
    slice without the notice, for the caller to store."""
    move = None if row.notice is None else row.notice.move
    if move is None:
        return row
    occupancy_of(state).release((move.spare,), row.shape, move.corner)
    return replace(row, notice=None)


def release_claim(state: SchedulerState, row: Slice) -> Slice:
    """Release the cubes claimed for a slice. Returns the slice without the claim, for the caller to store.
    The caller decides whether it goes back to the queue."""
    if row.claim is not None:
        occupancy_of(state).release(row.claim.cubes, row.shape, row.claim.corner)
    return as_waiting(replace(row, claim=None))


def withdraw(state: SchedulerState, row: Slice) -> None:
    """Remove a waiting slice from the queue."""
    if row.claim is not None:
        release_claim(state, row)
    elif not is_deferred(state, row):
        queue_of(state).remove(line_of(row), place_in_line(row))
    state.queued -= 1


def vacate(state: SchedulerState, row: Slice) -> tuple[Slice, list[SchedulerBody]]:
    """Free the cubes of a slice at once. Returns the slice as `release_cubes` leaves it, and the messages.

    Finished circuits stay for the next slice that wants them. If circuits are still pending, all are
    disconnected.
    """
    is_made = row.pending_joins is None
    row = release_cubes(state, row)
    joins, name = state.placement.joins(row.shape, row.twisted, row.cubes), slice_name(state, row.number)
    if not joins:
        return row, []
    if is_made:
        return row, [leave_circuits(state, name, joins)]
    return row, [DisconnectCircuits(slice=name, joins=joins)]


def release_cubes(state: SchedulerState, row: Slice) -> Slice:
    """Free the cubes, and forget the state of their link ends if those go dark. Returns the slice without
    what only a slice on cubes has, for the caller to store or to end."""
    occupancy_of(state).free(row.number, row.cubes, row.shape, row.corner)
    touch_cube_uses(state, row.cubes)
    state.chips_allocated -= row.chips
    row = cancel_move(state, row)
    if state.bad_ends and row.corner is None and not state.placement.links_are_fixed:
        link_faults = link_faults_of(state)
        for end in [end for cube in row.cubes for end in link_faults.ends_on(cube)]:
            record_link_end(state, end, None)
    return without_cubes(row)


EndReason = Literal["finished", "released", "evicted", "refused"]
EndedState = Literal["completed", "evicted", "refused"]
ENDED_STATES: dict[EndReason, EndedState] = {
    "finished": "completed",
    "released": "completed",
    "evicted": "evicted",
    "refused": "refused",
}
"""How a slice ended → its final state."""


def end_slice(state: SchedulerState, row: Slice, how: EndReason, reason: str) -> list[SchedulerBody]:
    """Move a slice to the recently ended ones. Returns what the other slices of its multislice job must
    receive, if any."""
    emitted: list[SchedulerBody] = []
    if row.member is not None:
        name = slice_name(state, row.number)
        emitted.append(PodsParted(job=row.member.job, slice=name, ends=how, reason=reason))
    _enter_ended(state, row, ENDED_STATES[how], reason)
    return emitted


def _enter_ended(state: SchedulerState, row: Slice, how: EndedState, reason: str) -> None:
    drop_slice(state, row.number)
    ended = replace(
        row,
        phase=how,
        changed_us=state.now_us,
        ended_us=state.now_us,
        links_down=0,
        links_degraded=0,
        reason=reason,
        claim=None,
        preflight_failures=None,
        member=None,
    )
    dropped = put_ended(state, with_state_time(ended, state.now_us))
    if dropped is not None:
        state.changed_documents.add(("slices", slice_name(state, dropped)))
    state.changed_documents.add(("slices", slice_name(state, row.number)))
    state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))
    if how == "completed":
        state.completed += 1
    elif how == "evicted":
        state.evicted += 1
    else:
        state.refused += 1


def refuse(state: SchedulerState, row: Slice, reason: str) -> list[SchedulerBody]:
    """Refuse a slice that can never run."""
    parted = end_slice(state, row, "refused", reason)
    return [SliceRefused(slice=slice_name(state, row.number), reason=reason), *parted]


def evict(state: SchedulerState, row: Slice, reason: str, cause: str) -> list[Output]:
    """End a slice early: it loses its cubes, or its place in the queue after a restart."""
    bodies: list[SchedulerBody] = []
    if row.cubes:
        row, bodies = vacate(state, row)
    parted = end_slice(state, row, "evicted", reason)
    bodies += [SliceEvicted(slice=slice_name(state, row.number), reason=reason), *parted]
    return [CausedBy(cause, body) for body in bodies]


def requeue(state: SchedulerState, row: Slice, reason: str, cause: str, lost_us: int) -> list[Output]:
    """Take the cubes and `lost_us` of work from a slice and queue it again at its old place.

    After `retries_max` requeues it is evicted instead. Filler may come back any number of times.
    """
    limit = state.config.retries_max
    if row.tier != "filler" and row.restarts >= limit:
        final_reason = f"{reason}; it was already requeued {limit} times (scheduler.retries_max)"
        return evict(state, row, final_reason, cause)
    row, bodies = vacate(state, row)
    row = after_stop(row, state.config, state.now_us)
    state.queued += 1
    progress, member = row.progress, row.member
    if member is not None and member.hung is not None:
        progress = member.hung
    waits = replace(
        row,
        phase="queued",
        changed_us=state.now_us,
        cubes=(),
        corner=None,
        started_us=None,
        links_down=0,
        links_degraded=0,
        reason=reason,
        restarts=row.restarts + 1,
        progress=None if progress is None else unplaced(progress, state.now_us),
        placed_us=None,
        ends_us=None,
    )
    was_joined = member is not None and member.is_joined
    if member is not None and was_joined:
        stopped = all_stopped(member.pods)
        waits = replace(waits, member=replace(member, is_joined=False, speeds_ppm=stopped, hung=None))
    waits = as_waiting(waits)
    enqueue(state, waits)
    store_slice(state, waits)
    name, lost_chip_us = slice_name(state, row.number), row.chips * lost_us
    bodies.append(SliceRequeued(slice=name, reason=reason, lost_chip_us=lost_chip_us))
    if member is not None and was_joined:
        bodies.append(PodsParted(job=member.job, slice=name, ends="requeued", reason=reason))
    return [CausedBy(cause, body) for body in bodies]


def touch_cube_uses(state: SchedulerState, cubes: tuple[int, ...]) -> None:
    """Mark the use of these cubes, and the summary, as changed."""
    state.changed_documents.add(("summaries", f"{state.fabric}/scheduler"))
    state.changed_documents.update([("cube-uses", f"{state.fabric}/cube-{cube}") for cube in cubes])
