"""Replaces one cube of a slice, with the circuits that this changes."""

from typing import Literal

from schemas.messages.scheduler import CubeSwapped, DisconnectCircuits, SchedulerBody
from schemas.names import Join
from services.scheduler.lifecycle import slice_name, store_slice, touch_cube_uses
from services.scheduler.placement.circuit_commands import connect_joins, disconnect_cube
from services.scheduler.state import SchedulerState, faults_of, occupancy_of, record_link_end
from services.scheduler.structures.occupancy import Corner
from services.scheduler.structures.slice_record import Slice
from shared.basics.fast_replace import replace
from shared.engine.service import CausedBy, Output
from shared.models.superpod.wiring import join_ends


def swap_cube(
    state: SchedulerState,
    row: Slice,
    left: int,
    spare: int,
    corner: Corner | None,
    reason: Literal["failed", "drained", "compacted"],
    cause: str,
    warm: bool = False,
) -> list[Output]:
    """Replace a cube of a slice by an idle one, or by a block of it at `corner` for a mesh. A `warm` spare
    needs no preflight."""
    occupancy = occupancy_of(state)
    occupancy.free(row.number, (left,), row.shape, row.corner)
    occupancy.hold(row.number, (spare,), row.shape, corner)
    touch_cube_uses(state, (left, spare))
    cubes = tuple([spare if cube == left else cube for cube in row.cubes])
    removed = _touching(left, state.placement.joins(row.shape, row.twisted, row.cubes))
    added = _touching(spare, state.placement.joins(row.shape, row.twisted, cubes))
    _forget_ends(state, removed)
    pending_joins = row.pending_joins
    if added:
        pending_joins = (*(join for join in pending_joins or () if join not in removed), *added)
    faults = faults_of(state, replace(row, cubes=cubes, corner=corner))
    moved = replace(
        row,
        changed_us=state.now_us,
        cubes=cubes,
        corner=corner,
        links_down=len(faults.down),
        links_degraded=len(faults.degraded),
        swaps=row.swaps + 1,
        links_checked=row.links_checked and warm,
        pending_joins=pending_joins,
        preflight_until_us=None,  # it checks circuits that are disconnected now
    )
    store_slice(state, moved)
    state.swapped += reason != "compacted"  # a compaction only makes room
    name = slice_name(state, row.number)
    bodies: list[SchedulerBody] = [
        CubeSwapped(slice=name, left=left, spare=spare, corner=corner, reason=reason)
    ]
    if added:
        bodies.append(DisconnectCircuits(slice=name, joins=removed))
        bodies += connect_joins(state, name, added)
    elif corner is not None:
        bodies += disconnect_cube(state, name, spare)
    return [CausedBy(cause, body) for body in bodies]


def _touching(cube: int, joins: tuple[Join, ...]) -> tuple[Join, ...]:
    return tuple([join for join in joins if cube in join[1:]])


def _forget_ends(state: SchedulerState, joins: tuple[Join, ...]) -> None:
    """Forget the condition of link ends whose circuits are disconnected, at the neighbours too:
    they go dark."""
    if state.bad_ends:
        for ends in join_ends(joins):
            for end in ends.tolist():
                record_link_end(state, end, None)
