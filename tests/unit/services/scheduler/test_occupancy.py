"""Where slices fit: aligned blocks in a cube, the lowest idle cubes, first fit; against sets of chips."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.names import Shape
from services.scheduler.structures.occupancy import (
    BLOCKS,
    WHOLE_CUBE,
    Corner,
    Occupancy,
    block_mask,
    free_corner,
)
from shared.models.superpod.shapes import MESHES, chips_of


def chips(corner: Corner, shape: Shape) -> set[int]:
    return {
        16 * x + 4 * y + z
        for x, y, z in product(*(range(c, c + side) for c, side in zip(corner, shape, strict=True)))
    }


@pytest.mark.parametrize("mesh", MESHES)
def test_the_blocks_of_a_mesh_tile_the_cube(mesh: Shape) -> None:
    blocks = BLOCKS[chips_of(mesh)]
    assert len(blocks) == 64 // chips_of(mesh)
    covered = 0
    for corner, mask in blocks:
        assert all(c % side == 0 for c, side in zip(corner, mesh, strict=True))
        assert {bit for bit in range(64) if mask >> bit & 1} == chips(corner, mesh)
        assert not covered & mask
        covered |= mask
    assert covered == WHOLE_CUBE


@given(st.integers(0, WHOLE_CUBE), st.sampled_from(MESHES))
def test_free_corner_is_the_first_aligned_block_without_a_used_chip(used: int, mesh: Shape) -> None:
    busy = {bit for bit in range(64) if used >> bit & 1}
    x, y, z = mesh
    aligned = product(range(0, 4, x), range(0, 4, y), range(0, 4, z))
    expected = next((corner for corner in aligned if not chips(corner, mesh) & busy), None)
    assert free_corner(used, chips_of(mesh)) == expected


def test_meshes_fill_partly_used_cubes_before_an_idle_one() -> None:
    occupancy = Occupancy(4)
    occupancy.allow(0, False)
    placed = []
    for number in range(5):
        room = occupancy.find_fit(32, whole_cubes=True)
        assert room is not None
        cubes, corner = room
        occupancy.hold(number, cubes, (2, 4, 4), corner)
        placed.append(room)
    assert placed == [
        ((1,), (0, 0, 0)),
        ((1,), (2, 0, 0)),
        ((2,), (0, 0, 0)),
        ((2,), (2, 0, 0)),
        ((3,), (0, 0, 0)),
    ]
    assert occupancy.find_fit(32, whole_cubes=False) == ((3,), (2, 0, 0))
    occupancy.free(1, (1,), (2, 4, 4), (2, 0, 0))
    assert occupancy.find_fit(1, whole_cubes=False) == ((1,), (2, 0, 0))
    assert occupancy.torus_at(1) is None


def test_a_torus_takes_the_lowest_idle_cubes_and_no_partly_used_one() -> None:
    occupancy = Occupancy(6)
    occupancy.hold(0, (1,), (1, 1, 1), (0, 0, 0))
    occupancy.allow(3, False)
    assert occupancy.find_fit(256, whole_cubes=True) == ((0, 2, 4, 5), None)
    assert occupancy.find_fit(256, whole_cubes=False) is None
    assert occupancy.find_fit(320, whole_cubes=True) is None
    occupancy.hold(1, (0, 2), (4, 4, 8), None)
    assert [occupancy.torus_at(cube) for cube in range(6)] == [1, None, 1, None, None, None]
    occupancy.allow(3, True)
    occupancy.allow(2, False)
    occupancy.free(1, (0, 2), (4, 4, 8), None)
    assert occupancy.idle == [0, 3, 4, 5]


def test_a_reserved_cube_is_not_idle_when_its_slice_leaves() -> None:
    occupancy = Occupancy(3)
    occupancy.hold(0, (0, 1), (4, 4, 8), None)
    occupancy.keep((1,), (4, 4, 4), None)
    occupancy.free(0, (0, 1), (4, 4, 8), None)
    assert occupancy.idle == [0, 2]
    assert occupancy.find_fit(128, whole_cubes=True) == ((0, 2), None)
    assert occupancy.find_fit(192, whole_cubes=True) is None
    occupancy.release((1,), (4, 4, 4), None)
    assert occupancy.find_fit(192, whole_cubes=True) == ((0, 1, 2), None)


def test_block_masks_of_the_whole_cube() -> None:
    assert block_mask((0, 0, 0), (4, 4, 4)) == WHOLE_CUBE == 2**64 - 1
