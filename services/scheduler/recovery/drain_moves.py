"""Moves slices off drained cubes: after notice, a slice writes a checkpoint; then its reserved spare replaces
the drained cube."""

from schemas.messages.scheduler import SliceNoticed
from services.scheduler.lifecycle import cancel_move, report_condition, slice_name, store_slice
from services.scheduler.placement.cube_ranking import fit_for_one_cube
from services.scheduler.placement.warm_spares import keep_warm_spares
from services.scheduler.recovery.cube_swaps import swap_cube
from services.scheduler.state import SchedulerState, moving_slices, occupancy_of, put_slice
from services.scheduler.structures.slice_record import LeaveNotice, Move, Slice
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.engine.service import CausedBy, Output


def move_off_drained_cubes(state: SchedulerState) -> list[Output]:
    """Step 2 of the cycle: give slices on drained cubes notice to move, as far as spares are left after step
    1; then keep spares warm. A slice that has not started yet has nothing to save and moves at once."""
    emitted: list[Output] = []
    for cube in sorted(state.drained):
        for number in occupancy_of(state).holders[cube]:
            emitted += _leave(state, state.slices[number], cube)
    keep_warm_spares(state)
    return emitted


def moves_end_us(state: SchedulerState) -> int | None:
    """When the next move happens even without a checkpoint."""
    return min([notice.until_us for _, notice, _ in moving_slices(state)], default=None)


def end_moves(state: SchedulerState) -> list[Output]:
    """Finish the moves whose time is over."""
    overdue = [row.number for row, notice, _ in moving_slices(state) if notice.until_us <= state.now_us]
    return [emitted for number in overdue for emitted in finish_move(state, number)]


def finish_move(state: SchedulerState, number: int) -> list[Output]:
    """Move a slice off its cube if the cube is still drained and the spare is still usable. Otherwise the
    slice continues where it is."""
    row = state.slices[number]
    notice = row.notice
    move = None if notice is None else notice.move
    if notice is None or move is None:
        return []
    row = cancel_move(state, row)
    put_slice(state, row)
    emitted: list[Output] = []
    is_needed = move.reason == "compacted" or move.left in state.drained
    if is_needed and occupancy_of(state).allowed[move.spare]:
        emitted += swap_cube(state, row, move.left, move.spare, move.corner, move.reason, notice.cause)
    return emitted + report_condition(state, state.slices[number], notice.cause)


def _leave(state: SchedulerState, row: Slice, left: int) -> list[Output]:
    if row.notice is not None or row.interruption is not None:
        return []
    if not state.placement.can_move(row.cubes):
        return []
    occupancy, cause = occupancy_of(state), state.drained[left]
    room = fit_for_one_cube(state, row)
    if room is None:
        return []
    spare, corner = room
    if row.started_us is None or row.state not in ("running", "degraded"):
        emitted = swap_cube(state, row, left, spare, corner, "drained", cause)
        return emitted + report_condition(state, state.slices[row.number], cause)
    until_us = state.now_us + state.config.grace_s * US_PER_S
    occupancy.keep((spare,), row.shape, corner)
    reason = f"{state.fabric}/cube-{left} is drained"
    move = Move(left, spare, corner)
    notice = LeaveNotice("drained", state.now_us, until_us, cause, reason, move=move)
    store_slice(state, replace(row, notice=notice))
    name = slice_name(state, row.number)
    return [CausedBy(cause, SliceNoticed(slice=name, why="drained", until_us=until_us))]
