"""Meshes that move so that a whole cube comes free: a mesh can go wherever there is room, without circuits.

Where the first in line lacks whole cubes, some that only meshes use are emptied: their meshes go to other
cubes that meshes use. The fewest meshes move, and of equal choices those that lose least.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter, le

from services.scheduler.queue.preemption import lost_chip_us
from services.scheduler.state import Move, SchedulerState, Slice, occupancy_of
from services.scheduler.structures.occupancy import BLOCKS, Occupancy, block_mask, free_corner
from services.scheduler.structures.pod_placement import Fit, VictimNumbers
from shared.models.superpod.shapes import cubes_of, is_mesh

MESH_CHIPS = tuple(BLOCKS)
"""The sizes of meshes, rising. Blocks of one are halves of those of the next, as in a buddy allocator, so
that meshes fit if for each size those that are at least as large have no more chips than there are in free
blocks of it: placed largest first, each finds one."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Where a slice fits once these have left, of whom some move: mesh → where to."""

    room: Fit
    leavers: VictimNumbers
    moves: dict[int, Move]


def compaction(
    state: SchedulerState, head: Slice, yielding: dict[int, int], held_back: int
) -> Compaction | None:
    """The fewest and cheapest meshes whose moving gives the first in line its whole cubes; None if no moving
    does. `yielding` are those who leave for it anyway, with what that costs."""
    occupancy = occupancy_of(state)
    if is_mesh(head.shape) or not occupancy.meshes:
        return None
    loose, crowded = _cubes(state, yielding)
    if not crowded or len(loose) + len(crowded) < cubes_of(head.shape) + held_back:
        return None
    room = _free_in([cube for cube in occupancy.partly if cube not in loose], occupancy)
    burdens = {cube: _burden_of(state, cube, meshes) for cube, meshes in crowded.items()}
    choices = [
        (_sums([burdens[cube].cost for cube in emptied]), emptied, cubes)
        for emptied, cubes in state.placement.cubes_to_empty(head.shape, loose, sorted(crowded), held_back)
    ]
    for _, emptied, cubes in sorted(choices, key=itemgetter(0)):
        takes = _sums([burdens[cube].takes for cube in emptied])
        if all(map(le, takes, room)):
            meshes = [state.slices[number] for cube in emptied for number in crowded[cube]]
            moves = _packed(occupancy, meshes, {*loose, *emptied})
            leavers = {number for cube in cubes for number in occupancy.holders[cube]} | moves.keys()
            return Compaction((cubes, None), tuple(sorted(leavers)), moves)
    return None


@dataclass(frozen=True, slots=True)
class _Burden:
    """What it takes to empty a cube: `cost` is how many meshes move and what they lose; `takes` by size of
    mesh, as in MESH_CHIPS, the chips of those that are at least as large, and the room in blocks of that
    size that is given up in the cube itself."""

    cost: tuple[int, int]
    takes: tuple[int, ...]


def _burden_of(state: SchedulerState, cube: int, meshes: Sequence[int]) -> _Burden:
    rows = [state.slices[number] for number in meshes]
    moved = tuple([sum([row.chips for row in rows if row.chips >= size]) for size in MESH_CHIPS])
    cost = len(rows), sum([lost_chip_us(state, row) for row in rows])
    return _Burden(cost, _sums([moved, _free_in([cube], occupancy_of(state))]))


def _free_in(cubes: Iterable[int], occupancy: Occupancy) -> tuple[int, ...]:
    """By size of mesh: chips of these cubes that are in free blocks of that size."""
    free = [_free_chips(occupancy.used[cube] | occupancy.kept[cube]) for cube in cubes]
    return _sums([(0,) * len(MESH_CHIPS), *free])


def _sums(rows: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True)))


@lru_cache(maxsize=65_536)
def _free_chips(used: int) -> tuple[int, ...]:
    return tuple([size * sum([not mask & used for _, mask in BLOCKS[size]]) for size in MESH_CHIPS])


def _packed(occupancy: Occupancy, meshes: Iterable[Slice], closed: set[int]) -> dict[int, Move]:
    """Where these meshes, for whom there is room, go in cubes that others use, but for the closed ones:
    largest first, into the fullest."""
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
    return moves


def _largest(mesh: Slice) -> tuple[int, int]:
    return -mesh.chips, mesh.number


def _cubes(state: SchedulerState, yielding: dict[int, int]) -> tuple[list[int], dict[int, list[int]]]:
    """(The cubes that are idle, or will be when those that yield have left, idle ones first; cube → its other
    meshes, where there are some and all can move)."""
    occupancy = occupancy_of(state)
    crowded: dict[int, list[int]] = {}
    for cube in sorted({cube for number in occupancy.meshes for cube in occupancy.held[number]}):
        if occupancy.allowed[cube] and not occupancy.kept[cube]:
            others = [number for number in occupancy.holders[cube] if number not in yielding]
            if others and all(_can_move(state, state.slices[number]) for number in others):
                crowded[cube] = others
    return [*occupancy.idle, *occupancy.cubes_freed_by(yielding)], crowded


def _can_move(state: SchedulerState, row: Slice) -> bool:
    return (
        row.corner is not None
        and row.state in ("running", "degraded")
        and row.number not in state.notices
        and row.number not in state.interruptions
    )
