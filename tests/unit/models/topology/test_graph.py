"""The chip that each link reaches, the OCS that it passes, and the remaining graph when parts fail."""

from math import prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import is_mesh, slice_joins
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, join_ends, link_end
from shared.models.topology import slice_topology, without_links, without_ocs
from shared.models.topology.lattice import chips_at
from tests.support.topology_slices import WHOLE, in_networkx, slices


@pytest.mark.parametrize("shape", [shape for shape, twisted in WHOLE if not twisted])
def test_untwisted_slices_are_the_textbook_torus_or_mesh(shape: Shape) -> None:
    textbook = nx.grid_graph(dim=list(shape[::-1]), periodic=not is_mesh(shape))
    number = {place: index for index, place in enumerate(sorted(textbook.nodes))}
    wanted = {frozenset((number[a], number[b])) for a, b in textbook.edges}
    assert {frozenset(edge) for edge in in_networkx(slice_topology(shape)).edges} == wanted


@pytest.mark.parametrize("shape", [(4, 4, 8), (4, 8, 8), (8, 8, 16), (8, 16, 16)])
def test_crossing_a_twisted_wrap_also_moves_by_half_the_longer_sides(shape: Shape) -> None:
    """k×k×2k: the x wrap and the y wrap move z by k. k×2k×2k: the x wrap moves y and z by k ([T4] 2.8)."""
    topology = slice_topology(shape, True)
    k = shape[2] // 2
    moves = {0: (0, 0, k), 1: (0, 0, k)} if shape[0] == shape[1] else {0: (0, k, k)}
    for dimension in range(3):
        ahead = topology.coordinates.copy()
        ahead[:, dimension] += 1
        around = ahead[:, dimension] == shape[dimension]
        ahead[around] += moves.get(dimension, (0, 0, 0))
        found = topology.coordinates[topology.neighbours[:, 2 * dimension]]
        assert (found == ahead % shape).all()


@given(slices(cubes_max=16))
@settings(max_examples=40, deadline=None)
def test_every_link_has_a_reverse_and_passes_one_ocs(slice_: tuple[Shape, bool]) -> None:
    topology = slice_topology(*slice_)
    for way in range(6):
        there = np.flatnonzero(topology.neighbours[:, way] >= 0)
        far = topology.neighbours[there, way]
        assert (topology.neighbours[far, way ^ 1] == there).all()
        assert (topology.ocs[far, way ^ 1] == topology.ocs[there, way]).all()
        used = topology.ocs[there, way]
        assert set(used[used >= 0] // FACE_LINKS) <= {way // 2}
    assert prod(slice_[0]) == topology.chips
    assert not topology.neighbours.flags.writeable


@given(slices(cubes_max=16))
@settings(max_examples=40, deadline=None)
def test_links_between_cubes_are_the_pairs_of_ends_that_the_joins_give(slice_: tuple[Shape, bool]) -> None:
    """The geometry of ends (face, index, chip) gives the same graph in another way."""
    shape, twisted = slice_
    topology = slice_topology(shape, twisted)
    cubes = tuple(range(max(1, prod(shape) // 64)))
    joined = set()
    if joins := slice_joins(shape, twisted, cubes):
        grid = np.array(shape) // 4
        places = list(np.ndindex(*grid))
        for north, south in zip(*(ends.tolist() for ends in join_ends(joins)), strict=True):
            ends = (link_end(north), link_end(south))
            chips = [np.array(places[end.cube]) * 4 + np.array(end.chip) for end in ends]
            numbers = [int((x * shape[1] + y) * shape[2] + z) for x, y, z in chips]
            joined.add((numbers[0], numbers[1], ends[0].ocs))
    found = set()
    for chip, way in np.argwhere(topology.ocs[:, ::2] >= 0):
        found.add((int(chip), int(topology.neighbours[chip, 2 * way]), int(topology.ocs[chip, 2 * way])))
    assert found == joined
    assert len(joined) == (0 if is_mesh(shape) else len(cubes) * ENDS_PER_CUBE // 2)


@given(slices(cubes_max=16), st.data())
@settings(max_examples=40, deadline=None)
def test_the_folded_lattice_is_the_same_graph(slice_: tuple[Shape, bool], data: st.DataObject) -> None:
    shape, twisted = slice_
    if is_mesh(shape):
        return
    topology = slice_topology(shape, twisted)
    for way in range(6):
        step = np.zeros(3, dtype=np.int64)
        step[way // 2] = 1 - 2 * (way % 2)
        assert (chips_at(topology.coordinates + step, shape, twisted) == topology.neighbours[:, way]).all()


def test_an_ocs_takes_one_of_16_parallel_links_away_everywhere() -> None:
    whole = slice_topology((4, 8, 8))
    left = without_ocs(whole, [5, 5, 40])
    assert (left.neighbours >= 0).sum() == (whole.neighbours >= 0).sum() - 2 * 2 * 4
    assert not np.isin(left.ocs, [5, 40]).any()
    assert (whole.ocs == 5).sum() == 8
    assert without_ocs(slice_topology((2, 4, 4)), [0]).neighbours.tolist() == (
        slice_topology((2, 4, 4)).neighbours.tolist()
    )


def test_a_failed_link_is_gone_both_ways() -> None:
    whole = slice_topology((4, 4, 8), True)
    far = int(whole.neighbours[7, 4])
    left = without_links(whole, [(7, 4), (far, 5)])
    assert left.neighbours[7, 4] == left.neighbours[far, 5] == -1
    assert left.ocs[7, 4] == left.ocs[far, 5] == -1
    assert (left.neighbours != whole.neighbours).sum() == 2


@pytest.mark.parametrize(
    ("shape", "twisted", "sentence"),
    [
        (
            (5, 4, 4),
            False,
            "shape 5x4x4: sides must not decrease from x to z; the nearest legal shape is 4x4x4",
        ),
        ((8, 4, 4), False, "the nearest legal shape is 4x4x8"),
        ((16, 16, 20), False, "it needs 80 cubes and the pod has 64; the nearest legal shape is 16x16x16"),
        ((8, 8, 8), True, "shape 8x8x8 cannot be twisted, must be n×n×2n or n×2n×2n with n a multiple of 4"),
        ((2, 2, 4), True, "cannot be twisted"),
        ((0, 4, 4), False, "shape 0x4x4"),
    ],
)
def test_an_impossible_shape_is_refused_with_the_nearest(shape: Shape, twisted: bool, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        slice_topology(shape, twisted)
    assert sentence in str(refused.value)


def test_a_missing_link_cannot_fail() -> None:
    mesh = slice_topology((1, 1, 2))
    with pytest.raises(InvalidInput, match="ocs: 48 does not exist; must be between 0 and 47"):
        without_ocs(mesh, [48])
    with pytest.raises(InvalidInput, match="chip: 2 does not exist; must be between 0 and 1"):
        without_links(mesh, [(2, 0)])
    with pytest.raises(InvalidInput, match="direction: 6 does not exist; must be between 0 and 5"):
        without_links(mesh, [(0, 6)])
    with pytest.raises(InvalidInput, match=r"link \+x of chip 0: does not exist in this slice"):
        without_links(mesh, [(0, 0)])
