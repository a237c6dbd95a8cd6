"""Preemption: notices to leave, claims on the cubes, and evictions.

A slice that preempts others claims concrete cubes until the last victim has left; no other slice gets them.
A claim ends when its slice is admitted or withdrawn, when one of its cubes fails or is drained, or when
starts pause. In the last two cases the slice goes back to the queue, but the victims still leave.
"""

from schemas.messages.scheduler import SliceNoticed
from services.scheduler.lifecycle import admit, is_single_pod, release_claim, requeue, slice_name, store_slice
from services.scheduler.multislice.gang_hold import give_up_hold, hold_cubes
from services.scheduler.queue.start_pause import is_kept_from_claim, note_attempt
from services.scheduler.state import (
    SchedulerState,
    claimed_slices,
    enqueue,
    has_notice,
    line_of,
    noticed_slices,
    occupancy_of,
    place_in_line,
    queue_of,
)
from services.scheduler.structures.occupancy import WHOLE_CUBE, Corner, block_mask
from services.scheduler.structures.slice_record import CubeClaim, LeaveNotice, Move, Slice, as_waiting
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.job_progress import given_notice, progress_at


def claim_cubes(
    state: SchedulerState, row: Slice, cubes: tuple[int, ...], corner: Corner | None, victims: tuple[int, ...]
) -> list[Output]:
    """Reserve cubes for a waiting slice, and give notice to the slices on them."""
    queue_of(state).remove(line_of(row), place_in_line(row))
    until_us = state.now_us + state.config.grace_s * US_PER_S
    claim = CubeClaim(cubes, corner, victims, until_us)
    occupancy_of(state).keep(cubes, row.shape, corner)
    store_slice(state, as_waiting(replace(row, claim=claim)))
    note_attempt(state, row)
    return give_notice(state, row, victims, row.request)


def give_notice(state: SchedulerState, row: Slice, victims: tuple[int, ...], cause: str) -> list[Output]:
    """Give notice to victims that have none yet: they lose their cubes to a slice that needs them."""
    until_us = state.now_us + state.config.grace_s * US_PER_S
    emitted: list[Output] = []
    for number in victims:
        victim = state.slices[number]
        if victim.notice is not None:
            continue
        reason = f"preempted by {row.tier} slice {slice_name(state, row.number)}"
        notice = LeaveNotice("preempted", state.now_us, until_us, cause, reason, row.number)
        store_slice(state, replace(victim, notice=notice))
        body = SliceNoticed(slice=slice_name(state, number), why="preempted", until_us=until_us)
        emitted.append(CausedBy(cause, body))
    return emitted


def start_compaction(state: SchedulerState, row: Slice, moves: dict[int, Move]) -> list[Output]:
    """Give meshes notice to move to reserved blocks, so that a slice gets whole cubes."""
    until_us = state.now_us + state.config.grace_s * US_PER_S
    emitted: list[Output] = []
    for number, move in sorted(moves.items()):
        mesh = state.slices[number]
        occupancy_of(state).keep((move.spare,), mesh.shape, move.corner)
        reason = f"makes room for {slice_name(state, row.number)}"
        notice = LeaveNotice("compacted", state.now_us, until_us, row.request, reason, row.number, move)
        store_slice(state, replace(mesh, notice=notice))
        body = SliceNoticed(slice=slice_name(state, number), why="compacted", until_us=until_us)
        emitted.append(CausedBy(row.request, body))
    return emitted


def serve_claims(state: SchedulerState) -> list[Output]:
    """Step 3 of the cycle: admit slices whose claimed cubes are free. A claim fails if a cube is out of use,
    a slice stays on it, or starts pause; then its slice is queued again."""
    emitted: list[Output] = []
    for row, claim in claimed_slices(state):
        occupancy = occupancy_of(state)
        mask = WHOLE_CUBE if claim.corner is None else block_mask(claim.corner, row.shape)
        users = {user for cube in claim.cubes for user in occupancy.slices_on(cube, mask)}
        is_usable = all(occupancy.allowed[cube] for cube in claim.cubes)
        member = row.member
        if member is not None and member.until_us is not None:
            emitted += (
                [] if is_usable else give_up_hold(state, row, "one of its reserved cubes went out of use")
            )
        elif (
            not is_usable
            or not all(has_notice(state, user) for user in users)
            or is_kept_from_claim(state, row)
        ):
            queue_of(state)  # build the queue while the slice still has its claim
            back = release_claim(state, row)
            enqueue(state, back)
            store_slice(state, back)
        elif not users and not any(has_notice(state, victim) for victim in claim.victims):
            if member is not None:
                emitted += hold_cubes(state, row)
                continue
            emitted += admit(state, release_claim(state, row), claim.cubes, claim.corner)
    return emitted


def graces_end_us(state: SchedulerState) -> int | None:
    """When the next grace period of a preempted slice ends."""
    return min([notice.until_us for _, notice in _preempted(state)], default=None)


def evict_overdue(state: SchedulerState) -> list[Output]:
    """Evict preempted slices whose grace period has expired."""
    emitted: list[Output] = []
    for row, notice in _preempted(state):
        if notice.until_us <= state.now_us:
            emitted += _leave(state, row, notice, uncommitted_us(state, row.number))
    return emitted


def _preempted(state: SchedulerState) -> list[tuple[Slice, LeaveNotice]]:
    """The slices that were preempted and have not left yet, with their notice, by number."""
    return [(row, notice) for row, notice in noticed_slices(state) if notice.why == "preempted"]


def uncommitted_us(state: SchedulerState, number: int) -> int:
    """The work of a slice since its last checkpoint, in microseconds."""
    row = state.slices[number]
    if row.progress is None or row.progress.phase == "preparing":
        return 0
    return progress_at(row.progress, state.now_us).uncommitted_us


def leave_preempted(state: SchedulerState, number: int) -> list[Output]:
    """Requeue a preempted slice. Its checkpoint keeps its work up to the notice."""
    row = state.slices[number]
    notice = row.notice
    if notice is None:
        return []
    if row.progress is not None and is_single_pod(row):
        progress = given_notice(row.progress, max(notice.given_us, row.progress.since_us))
        row = replace(row, progress=progress)
    return _leave(state, row, notice, lost_us=0)


def _leave(state: SchedulerState, row: Slice, notice: LeaveNotice, lost_us: int) -> list[Output]:
    return requeue(state, row, notice.reason, notice.cause, lost_us)
