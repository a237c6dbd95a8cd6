"""Making room: who is told to leave, for whom the cubes are kept meanwhile, and what happens when they go.

A slice that makes others leave has a claim on concrete cubes until the last of them has left; nobody else
gets those. A claim ends with its slice's admission or withdrawal, or when one of its cubes fails or is
drained: then the slice is in the queue again as before. Who was told to leave leaves even so.
"""

from schemas.messages.scheduler import SliceNoticed
from services.scheduler.lifecycle import admit, is_single_pod, release_claim, requeue, slice_name, store_slice
from services.scheduler.multislice.gang_hold import give_up_hold, hold_cubes
from services.scheduler.state import (
    CubeClaim,
    LeaveNotice,
    Move,
    SchedulerState,
    Slice,
    enqueue,
    line_of,
    occupancy_of,
    place_of,
    queue_of,
)
from services.scheduler.structures.occupancy import WHOLE_CUBE, Corner, block_mask
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.progress import given_notice, progress_at


def claim_cubes(
    state: SchedulerState, row: Slice, cubes: tuple[int, ...], corner: Corner | None, victims: tuple[int, ...]
) -> list[Output]:
    """Keep cubes for a waiting slice, and tell those who are in its way to leave them."""
    queue_of(state).remove(line_of(row), place_of(row))
    until_us = state.now_us + state.config.grace_s * US_PER_S
    state.claims[row.number] = CubeClaim(cubes, corner, victims, until_us)
    occupancy_of(state).keep(cubes, row.shape, corner)
    store_slice(state, row)
    return give_notice(state, row, victims, row.request)


def give_notice(state: SchedulerState, row: Slice, victims: tuple[int, ...], cause: str) -> list[Output]:
    """Tell those who were not told yet that they lose their cubes, for a slice that needs them."""
    until_us = state.now_us + state.config.grace_s * US_PER_S
    emitted: list[Output] = []
    for number in victims:
        if number in state.notices:
            continue
        reason = f"pre-empted for {slice_name(state, row.number)}, which is {row.tier}"
        state.notices[number] = LeaveNotice("preempted", state.now_us, until_us, cause, reason, row.number)
        store_slice(state, state.slices[number])
        notice = SliceNoticed(slice=slice_name(state, number), why="preempted", until_us=until_us)
        emitted.append(CausedBy(cause, notice))
    return emitted


def start_compaction(state: SchedulerState, row: Slice, moves: dict[int, Move]) -> list[Output]:
    """Tell meshes to go where there is room for them, which is kept, so that a slice gets whole cubes."""
    until_us = state.now_us + state.config.grace_s * US_PER_S
    emitted: list[Output] = []
    for number, move in sorted(moves.items()):
        mesh = state.slices[number]
        occupancy_of(state).keep((move.spare,), mesh.shape, move.corner)
        state.moves[number] = move
        reason = f"makes room for {slice_name(state, row.number)}"
        state.notices[number] = LeaveNotice(
            "compacted", state.now_us, until_us, row.request, reason, row.number
        )
        store_slice(state, mesh)
        notice = SliceNoticed(slice=slice_name(state, number), why="compacted", until_us=until_us)
        emitted.append(CausedBy(row.request, notice))
    return emitted


def serve_claims(state: SchedulerState) -> list[Output]:
    """Step 3 of the cycle: who has a claim on cubes that have come free gets them; whose claim cannot come
    true, for a cube is out of use or somebody stays on it after all, waits in line again."""
    emitted: list[Output] = []
    for number, held in sorted(state.claims.items()):
        row, occupancy = state.slices[number], occupancy_of(state)
        mask = WHOLE_CUBE if held.corner is None else block_mask(held.corner, row.shape)
        users = {user for cube in held.cubes for user in occupancy.slices_on(cube, mask)}
        fit = all(occupancy.allowed[cube] for cube in held.cubes)
        member = state.members.get(number)
        if member is not None and member.until_us is not None:
            emitted += [] if fit else give_up_hold(state, row, "a cube that was kept for it is out of use")
        elif not fit or users - state.notices.keys():
            queue_of(state)  # made while it has its claim still
            release_claim(state, row)
            enqueue(state, row)
            store_slice(state, row)
        elif not users and not state.notices.keys() & set(held.victims):
            if member is not None:
                emitted += hold_cubes(state, row)
                continue
            release_claim(state, row)
            emitted += admit(state, row, held.cubes, held.corner)
    return emitted


def graces_end_us(state: SchedulerState) -> int | None:
    """When the next grace of a pre-empted slice is over."""
    ends = [notice.until_us for notice in state.notices.values() if notice.why == "preempted"]
    return min(ends, default=None)


def evict_overdue(state: SchedulerState) -> list[Output]:
    """Whoever has not left by now, though it was pre-empted, loses its cubes."""
    over = [
        number
        for number, notice in sorted(state.notices.items())
        if notice.why == "preempted" and notice.until_us <= state.now_us
    ]
    return [
        emitted
        for number in over
        for emitted in _leave(
            state, state.slices[number], state.notices[number], uncommitted_us(state, number)
        )
    ]


def uncommitted_us(state: SchedulerState, number: int) -> int:
    """The work of a slice that no checkpoint keeps."""
    row = state.slices[number]
    if row.progress is None or row.progress.phase == "preparing":
        return 0
    return progress_at(row.progress, state.now_us).uncommitted_us


def leave_preempted(state: SchedulerState, number: int) -> list[Output]:
    """A slice that was told to make room does so; it has kept what it did until it was told."""
    row, notice = state.slices[number], state.notices[number]
    if row.progress is not None and is_single_pod(state, row):
        progress = given_notice(row.progress, max(notice.given_us, row.progress.since_us))
        row = replace(row, progress=progress)
    return _leave(state, row, notice, lost_us=0)


def _leave(state: SchedulerState, row: Slice, notice: LeaveNotice, lost_us: int) -> list[Output]:
    """It loses so much work."""
    return requeue(state, row, notice.reason, notice.cause, lost_us)
