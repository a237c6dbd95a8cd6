"""Meshes that move so that a whole cube comes free: a mesh can go wherever there is room, without circuits.

Where the first in line lacks whole cubes, some that only meshes use are emptied: their meshes go to other
cubes that meshes use. The fewest meshes move, and of equal choices those that lose least.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from services.scheduler.occupancy import Occupancy, block_mask, free_corner
from services.scheduler.placement import Leavers, Room
from services.scheduler.preemption import lost_chip_us
from services.scheduler.state import Move, SchedulerState, Slice, occupancy_of
from shared.models.superpod.shapes import is_mesh


@dataclass(frozen=True, slots=True)
class Compaction:
    """Where a slice fits once these have left, of whom some move: mesh → where to."""

    room: Room
    leavers: Leavers
    moves: dict[int, Move]


def compaction(
    state: SchedulerState, head: Slice, yielding: dict[int, int], held_back: int
) -> Compaction | None:
    """The fewest and cheapest meshes whose moving gives the first in line its whole cubes; None if no moving
    does. `yielding` are those who leave for it anyway, with what that costs."""
    if is_mesh(head.shape):
        return None
    occupancy = occupancy_of(state)
    loose, crowded = _cubes(state, yielding)
    if not crowded:
        return None
    best: tuple[int, int, dict[int, Move], tuple[int, ...]] | None = None
    for emptied, cubes in state.placement.to_empty(head.shape, loose, sorted(crowded), held_back):
        meshes = [state.slices[number] for cube in emptied for number in crowded[cube]]
        cost = len(meshes), sum([lost_chip_us(state, mesh) for mesh in meshes])
        if best is not None and cost >= best[:2]:
            continue
        moves = packed(occupancy, meshes, {*loose, *emptied})
        if moves is not None:
            best = *cost, moves, cubes
    if best is None:
        return None
    _, _, moves, cubes = best
    leavers = {number for cube in cubes for number in occupancy.holders[cube]} | moves.keys()
    return Compaction((cubes, None), tuple(sorted(leavers)), moves)


def packed(occupancy: Occupancy, meshes: Iterable[Slice], closed: set[int]) -> dict[int, Move] | None:
    """Where these meshes go in cubes that others use, but for the closed ones: largest first, into the
    fullest. Blocks are aligned, so that this finds room for all if there is any."""
    busy = {
        cube: occupancy.used[cube] | occupancy.kept[cube] for cube in occupancy.partly if cube not in closed
    }
    moves: dict[int, Move] = {}
    for mesh in sorted(meshes, key=_largest):
        for cube in sorted(busy, key=lambda cube: (-busy[cube].bit_count(), cube)):
            corner = free_corner(busy[cube], mesh.chips)
            if corner is not None:
                busy[cube] |= block_mask(corner, mesh.shape)
                moves[mesh.number] = Move(mesh.cubes[0], cube, corner, "compacted")
                break
        else:
            return None
    return moves


def _largest(mesh: Slice) -> tuple[int, int]:
    return -mesh.chips, mesh.number


def _cubes(state: SchedulerState, yielding: dict[int, int]) -> tuple[list[int], dict[int, list[int]]]:
    """(The cubes that are idle, or will be when those that yield have left, idle ones first; cube → its other
    meshes, where there are some and all can move)."""
    occupancy = occupancy_of(state)
    loose: list[int] = []
    crowded: dict[int, list[int]] = {}
    for cube, holders in enumerate(occupancy.holders):
        if not occupancy.allowed[cube] or occupancy.kept[cube]:
            continue
        others = [number for number in holders if number not in yielding]
        if not others:
            loose.append(cube)
        elif all(_can_move(state, state.slices[number]) for number in others):
            crowded[cube] = others
    return sorted(loose, key=lambda cube: bool(occupancy.used[cube])), crowded


def _can_move(state: SchedulerState, row: Slice) -> bool:
    return (
        row.corner is not None
        and row.state in ("running", "degraded")
        and row.number not in state.notices
        and row.number not in state.stalls
    )
