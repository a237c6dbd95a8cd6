"""Compaction: meshes move so that whole cubes come free. A mesh needs no circuits, so it can go wherever
there is room.

If the first slice in line lacks whole cubes, some cubes used only by meshes are emptied. Their meshes move to
other cubes that meshes use. The choice moves the fewest meshes; ties go to the least lost work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter, le

from services.scheduler.queue.preemption import lost_chip_us
from services.scheduler.state import SchedulerState, occupancy_of
from services.scheduler.structures.occupancy import BLOCKS, Occupancy, block_mask, free_corner
from services.scheduler.structures.pod_placement import Fit, VictimNumbers
from services.scheduler.structures.slice_record import Move, Slice
from shared.models.superpod.shapes import cubes_of, is_mesh

MESH_CHIPS = tuple(BLOCKS)
"""The sizes of meshes in chips, ascending.

Blocks of one size are halves of the next size, as in a buddy allocator. So meshes fit if, for each size, the
meshes of at least that size have no more chips than the free blocks of that size. Placed largest first, each
mesh then finds a block.
"""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Where a slice fits once the leavers have left. `moves`: mesh → its destination."""

    room: Fit
    leavers: VictimNumbers
    moves: dict[int, Move]


def compaction(
    state: SchedulerState, head: Slice, yielding: dict[int, int], held_back: int
) -> Compaction | None:
    """The cheapest moves of the fewest meshes that give the first slice in line its whole cubes; None if
    there are none. `yielding`: slices that leave for it anyway → what that costs."""
    occupancy = occupancy_of(state)
    if is_mesh(head.shape) or not occupancy.meshes:
        return None
    loose, crowded = _idle_and_crowded_cubes(state, yielding)
    if not crowded or len(loose) + len(crowded) < cubes_of(head.shape) + held_back:
        return None
    room = _free_in([cube for cube in occupancy.partly if cube not in loose], occupancy)
    burdens = {cube: _burden_of(state, cube, meshes) for cube, meshes in crowded.items()}
    choices = [
        (_column_sums([burdens[cube].cost for cube in emptied]), emptied, cubes)
        for emptied, cubes in state.placement.cubes_to_empty(head.shape, loose, sorted(crowded), held_back)
    ]
    for _, emptied, cubes in sorted(choices, key=itemgetter(0)):
        needed_room = _column_sums([burdens[cube].takes for cube in emptied])
        if all(map(le, needed_room, room)):
            meshes = [state.slices[number] for cube in emptied for number in crowded[cube]]
            moves = _pack(occupancy, meshes, {*loose, *emptied})
            leavers = {number for cube in cubes for number in occupancy.holders[cube]} | moves.keys()
            return Compaction((cubes, None), tuple(sorted(leavers)), moves)
    return None


@dataclass(frozen=True, slots=True)
class _Burden:
    """The cost of emptying a cube."""

    cost: tuple[int, int]
    """(meshes that move, chip-microseconds that they lose)."""
    takes: tuple[int, ...]
    """By mesh size, as in MESH_CHIPS: the chips of meshes of at least that size, plus the free blocks of that
    size given up in the cube itself."""


def _burden_of(state: SchedulerState, cube: int, meshes: Sequence[int]) -> _Burden:
    rows = [state.slices[number] for number in meshes]
    moved = tuple([sum([row.chips for row in rows if row.chips >= size]) for size in MESH_CHIPS])
    cost = len(rows), sum([lost_chip_us(state, row) for row in rows])
    return _Burden(cost, _column_sums([moved, _free_in([cube], occupancy_of(state))]))


def _free_in(cubes: Iterable[int], occupancy: Occupancy) -> tuple[int, ...]:
    """By mesh size: the chips of these cubes that lie in free blocks of that size."""
    free = [_free_chips(occupancy.used[cube] | occupancy.kept[cube]) for cube in cubes]
    return _column_sums([(0,) * len(MESH_CHIPS), *free])


def _column_sums(rows: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True)))


@lru_cache(maxsize=65_536)
def _free_chips(used: int) -> tuple[int, ...]:
    return tuple([size * sum([not mask & used for _, mask in BLOCKS[size]]) for size in MESH_CHIPS])


def _pack(occupancy: Occupancy, meshes: Iterable[Slice], closed: set[int]) -> dict[int, Move]:
    """Destinations of these meshes in partly used cubes outside `closed`, largest mesh first, into the
    fullest cube. The caller has checked that there is room."""
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


def _idle_and_crowded_cubes(
    state: SchedulerState, yielding: dict[int, int]
) -> tuple[list[int], dict[int, list[int]]]:
    """(cubes that are idle or will be when `yielding` have left, idle ones first; cube → its other meshes, if
    all of them can move)."""
    occupancy = occupancy_of(state)
    crowded: dict[int, list[int]] = {}
    for cube in sorted({cube for number in occupancy.meshes for cube in occupancy.held[number]}):
        if occupancy.allowed[cube] and not occupancy.kept[cube]:
            others = [number for number in occupancy.holders[cube] if number not in yielding]
            if others and all(_can_move(state.slices[number]) for number in others):
                crowded[cube] = others
    return [*occupancy.idle, *occupancy.cubes_freed_by(yielding)], crowded


def _can_move(row: Slice) -> bool:
    return row.corner is not None and row.state in ("running", "degraded") and row.notice is None
