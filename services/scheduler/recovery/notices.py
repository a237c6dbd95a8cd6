"""Making room: who is told to leave, for whom the cubes are kept meanwhile, and what happens when they go.

A slice that makes others leave has a claim on concrete cubes until the last of them has left; nobody else
gets those. A claim ends with its slice's admission or withdrawal, or when one of its cubes fails or is
drained: then the slice is in the queue again as before. Who was told to leave leaves even so.
"""

from schemas.scheduler import SliceNoticed
from services.scheduler.lifecycle import admit, drop_claim, is_alone, put, requeue, slice_name
from services.scheduler.multislice.holding import give_up, hold
from services.scheduler.placement.occupancy import WHOLE_CUBE, Corner, block_mask
from services.scheduler.state import (
    Claim,
    Move,
    Notice,
    SchedulerState,
    Slice,
    line_of,
    line_up,
    occupancy_of,
    place_of,
    queue_of,
)
from shared.basics.records import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output
from shared.models.jobs.progress import asked_to_leave, at


def claim(
    state: SchedulerState, row: Slice, cubes: tuple[int, ...], corner: Corner | None, victims: tuple[int, ...]
) -> list[Output]:
    """Keep cubes for a waiting slice, and tell those who are in its way to leave them."""
    queue_of(state).remove(line_of(row), place_of(row))
    until_us = state.now_us + state.config.grace_s * US_PER_S
    state.claims[row.number] = Claim(cubes, corner, victims, until_us)
    occupancy_of(state).keep(cubes, row.shape, corner)
    put(state, row)
    return tell_to_leave(state, row, victims, row.request)


def tell_to_leave(state: SchedulerState, row: Slice, victims: tuple[int, ...], cause: str) -> list[Output]:
    """Tell those who were not told yet that they lose their cubes, for a slice that needs them."""
    until_us = state.now_us + state.config.grace_s * US_PER_S
    said: list[Output] = []
    for number in victims:
        if number in state.notices:
            continue
        reason = f"pre-empted for {slice_name(state, row.number)}, which is {row.tier}"
        state.notices[number] = Notice("preempted", state.now_us, until_us, cause, reason, row.number)
        put(state, state.slices[number])
        notice = SliceNoticed(slice=slice_name(state, number), why="preempted", until_us=until_us)
        said.append(CausedBy(cause, notice))
    return said


def compact(state: SchedulerState, row: Slice, moves: dict[int, Move]) -> list[Output]:
    """Tell meshes to go where there is room for them, which is kept, so that a slice gets whole cubes."""
    until_us = state.now_us + state.config.grace_s * US_PER_S
    said: list[Output] = []
    for number, move in sorted(moves.items()):
        mesh = state.slices[number]
        occupancy_of(state).keep((move.spare,), mesh.shape, move.corner)
        state.moves[number] = move
        reason = f"makes room for {slice_name(state, row.number)}"
        state.notices[number] = Notice("compacted", state.now_us, until_us, row.request, reason, row.number)
        put(state, mesh)
        notice = SliceNoticed(slice=slice_name(state, number), why="compacted", until_us=until_us)
        said.append(CausedBy(row.request, notice))
    return said


def serve_claims(state: SchedulerState) -> list[Output]:
    """Step 3 of the cycle: who has a claim on cubes that have come free gets them; whose claim cannot come
    true, for a cube is out of use or somebody stays on it after all, waits in line again."""
    said: list[Output] = []
    for number, held in sorted(state.claims.items()):
        row, occupancy = state.slices[number], occupancy_of(state)
        mask = WHOLE_CUBE if held.corner is None else block_mask(held.corner, row.shape)
        users = {user for cube in held.cubes for user in occupancy.slices_on(cube, mask)}
        fit = all(occupancy.allowed[cube] for cube in held.cubes)
        member = state.members.get(number)
        if member is not None and member.until_us is not None:
            said += [] if fit else give_up(state, row, "a cube that was kept for it is out of use")
        elif not fit or users - state.notices.keys():
            queue_of(state)  # made while it has its claim still
            drop_claim(state, row)
            line_up(state, row)
            put(state, row)
        elif not users and not state.notices.keys() & set(held.victims):
            if member is not None:
                said += hold(state, row)
                continue
            drop_claim(state, row)
            said += admit(state, row, held.cubes, held.corner)
    return said


def graces_end_us(state: SchedulerState) -> int | None:
    """When the next grace of a pre-empted slice is over."""
    ends = [notice.until_us for notice in state.notices.values() if notice.why == "preempted"]
    return min(ends, default=None)


def end_graces(state: SchedulerState) -> list[Output]:
    """Whoever has not left by now, though it was pre-empted, loses its cubes."""
    over = [
        number
        for number, notice in sorted(state.notices.items())
        if notice.why == "preempted" and notice.until_us <= state.now_us
    ]
    return [
        said
        for number in over
        for said in _leave(state, state.slices[number], state.notices[number], fresh_us(state, number))
    ]


def fresh_us(state: SchedulerState, number: int) -> int:
    """The work of a slice that no checkpoint keeps."""
    row = state.slices[number]
    if row.progress is None or row.progress.phase == "preparing":
        return 0
    return at(row.progress, state.now_us).fresh_us


def leave_preempted(state: SchedulerState, number: int) -> list[Output]:
    """A slice that was told to make room does so; it has kept what it did until it was told."""
    row, notice = state.slices[number], state.notices[number]
    if row.progress is not None and is_alone(state, row):
        progress = asked_to_leave(row.progress, max(notice.told_us, row.progress.since_us))
        row = replace(row, progress=progress)
    return _leave(state, row, notice, lost_us=0)


def _leave(state: SchedulerState, row: Slice, notice: Notice, lost_us: int) -> list[Output]:
    """It loses so much work."""
    return requeue(state, row, notice.reason, notice.cause, lost_us)
