"""Which slice has which cube, and where a slice fits.

A torus takes whole cubes, the lowest-numbered idle ones. A mesh takes an aligned block inside one cube: each
coordinate of its corner is a multiple of the block's side. Blocks are taken first fit in partly used cubes,
fullest cube first, so that idle cubes stay whole. Mesh sides are powers of two, so aligned blocks never
overlap partly, as in a buddy allocator.
"""

from bisect import bisect_left, insort
from collections.abc import Collection
from functools import lru_cache

from schemas.names import Shape
from shared.models.superpod.shapes import MESHES, chips_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE, CUBE_SIDE

Corner = tuple[int, int, int]
WHOLE_CUBE = (1 << CHIPS_PER_CUBE) - 1


@lru_cache(maxsize=4096)
def block_mask(corner: Corner, shape: Shape) -> int:
    """The chips of a block inside a cube as a bit mask; chip (x, y, z) is bit 16·x + 4·y + z."""
    mask = 0
    for x in range(corner[0], corner[0] + shape[0]):
        for y in range(corner[1], corner[1] + shape[1]):
            for z in range(corner[2], corner[2] + shape[2]):
                mask |= 1 << (16 * x + 4 * y + z)
    return mask


def _aligned_blocks(shape: Shape) -> tuple[tuple[Corner, int], ...]:
    corners = (
        (x, y, z)
        for x in range(0, CUBE_SIDE, shape[0])
        for y in range(0, CUBE_SIDE, shape[1])
        for z in range(0, CUBE_SIDE, shape[2])
    )
    return tuple((corner, block_mask(corner, shape)) for corner in corners)


BLOCKS = {chips_of(mesh): _aligned_blocks(mesh) for mesh in MESHES}
"""Chips of a mesh → its aligned blocks in a cube, as (corner, mask), in the order in which they are tried."""


@lru_cache(maxsize=65_536)
def free_corner(used: int, chips: int) -> Corner | None:
    """The corner of the first free aligned block for this many chips, in a cube whose used chips are this
    mask; None if there is none."""
    for corner, mask in BLOCKS[chips]:
        if not mask & used:
            return corner
    return None


class Occupancy:
    """The cubes of a pod: their slices, the chips in use, and whether slices may be placed on them."""

    def __init__(self, cubes: int) -> None:
        self.holders: list[tuple[int, ...]] = [()] * cubes
        """By cube: the numbers of its slices, ascending."""
        self.used: list[int] = [0] * cubes
        """By cube: bit mask of chips in use."""
        self.kept: list[int] = [0] * cubes
        """By cube: bit mask of chips that are reserved, whether in use or not."""
        self.held: dict[int, set[int]] = {}
        """Slice → its cubes."""
        self.meshes: dict[int, int] = {}
        """Slice that is a mesh → bit mask of its chips."""
        self.allowed: list[bool] = [True] * cubes
        """By cube: whether it is healthy and not drained."""
        self.idle: list[int] = list(range(cubes))
        """Allowed cubes without used or reserved chips, ascending."""
        self.partly: list[int] = []
        """Allowed cubes with some used or reserved chips and some free ones, ascending."""

    def allow(self, cube: int, allowed: bool) -> None:
        """Allow or forbid placement on this cube."""
        self.allowed[cube] = allowed
        self._list(cube)

    def hold(self, number: int, cubes: tuple[int, ...], shape: Shape, corner: Corner | None) -> None:
        """Give cubes, or a block of one, to a slice."""
        self.held.setdefault(number, set()).update(cubes)
        if corner is not None:
            cube = cubes[0]
            self.meshes[number] = block_mask(corner, shape)
            self.holders[cube] = tuple(sorted((*self.holders[cube], number)))
            self.used[cube] |= block_mask(corner, shape)
            self._list(cube)
            return
        for cube in cubes:
            self.holders[cube] = (number,)
            self.used[cube] = WHOLE_CUBE
        taken = set(cubes)
        self.idle = [cube for cube in self.idle if cube not in taken]

    def free(self, number: int, cubes: tuple[int, ...], shape: Shape, corner: Corner | None) -> None:
        """Take cubes, or a block of one, back from a slice."""
        self.held[number].difference_update(cubes)
        if not self.held[number]:
            del self.held[number]
        if corner is not None:
            cube = cubes[0]
            self.holders[cube] = tuple([other for other in self.holders[cube] if other != number])
            del self.meshes[number]
            self.used[cube] &= ~block_mask(corner, shape)
            self._list(cube)
            return
        for cube in cubes:
            self.holders[cube] = ()
            self.used[cube] = 0
            if self.kept[cube]:
                self._list(cube)
        self.idle = sorted(self.idle + [cube for cube in cubes if self.allowed[cube] and not self.kept[cube]])

    def keep(self, cubes: tuple[int, ...], shape: Shape, corner: Corner | None) -> None:
        """Reserve cubes, or a block of one."""
        mask = WHOLE_CUBE if corner is None else block_mask(corner, shape)
        for cube in cubes:
            self.kept[cube] |= mask
            self._list(cube)

    def release(self, cubes: tuple[int, ...], shape: Shape, corner: Corner | None) -> None:
        """End a reservation made by `keep`."""
        mask = WHOLE_CUBE if corner is None else block_mask(corner, shape)
        for cube in cubes:
            self.kept[cube] &= ~mask
            self._list(cube)

    def cubes_freed_by(self, leaving: Collection[int]) -> list[int]:
        """The cubes that come free when exactly these slices leave, ascending. Reserved and forbidden cubes
        are excluded."""
        gone = set(leaving)
        cubes = {cube for number in leaving for cube in self.held.get(number, ())}
        return [
            cube
            for cube in sorted(cubes)
            if self.allowed[cube] and not self.kept[cube] and gone.issuperset(self.holders[cube])
        ]

    def slices_on(self, cube: int, mask: int) -> tuple[int, ...]:
        """The slices that use any of these chips of a cube."""
        return tuple([number for number in self.holders[cube] if self.meshes.get(number, WHOLE_CUBE) & mask])

    def torus_at(self, cube: int) -> int | None:
        """The slice that has the whole of this cube; None if there is none."""
        return (
            self.holders[cube][0] if self.used[cube] == WHOLE_CUBE and len(self.holders[cube]) == 1 else None
        )

    def fit_in_partly_used(self, chips: int) -> tuple[int, Corner] | None:
        """The first block for a mesh in a partly used cube, fullest cube first, so that whole cubes come
        free."""
        for cube in sorted(self.partly, key=self._fullest):
            corner = free_corner(self.used[cube] | self.kept[cube], chips)
            if corner is not None:
                return cube, corner
        return None

    def find_fit(self, chips: int, whole_cubes: bool) -> tuple[tuple[int, ...], Corner | None] | None:
        """The (cubes, corner) where a slice of this many chips fits now; None if there is no room. Without
        `whole_cubes`, idle cubes are not used."""
        if chips < CHIPS_PER_CUBE:
            fit = self.fit_in_partly_used(chips)
            if fit is not None:
                return (fit[0],), fit[1]
            return ((self.idle[0],), (0, 0, 0)) if whole_cubes and self.idle else None
        count = chips // CHIPS_PER_CUBE
        return (tuple(self.idle[:count]), None) if whole_cubes and count <= len(self.idle) else None

    def _fullest(self, cube: int) -> tuple[int, int]:
        return -(self.used[cube] | self.kept[cube]).bit_count(), cube

    def _list(self, cube: int) -> None:
        """Put a cube in the right list: idle, partly used, or neither."""
        for cubes in (self.idle, self.partly):
            at = bisect_left(cubes, cube)
            if at < len(cubes) and cubes[at] == cube:
                del cubes[at]
        if self.allowed[cube]:
            busy = self.used[cube] | self.kept[cube]
            if not busy:
                insort(self.idle, cube)
            elif busy != WHOLE_CUBE:
                insort(self.partly, cube)
