"""From slices to circuits and back, and the errors of circuits that form no slice."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import cubes_of, is_mesh
from shared.models.superpod.wiring import end_at
from shared.models.topology import slice_topology
from tests.support.placed_slices import slice_circuits, slice_of
from tests.support.topology_slices import slices

Circuits = list[tuple[int, int, int]]


def listed(shape: Shape, twisted: bool, cubes: list[int]) -> Circuits:
    return list(zip(*(part.tolist() for part in slice_circuits(shape, twisted, cubes)), strict=True))


@given(slices(cubes_max=16), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_circuits_identify_their_slice(slice_: tuple[Shape, bool], random: Random) -> None:
    shape, twisted = slice_
    if is_mesh(shape):
        return
    circuits = listed(shape, twisted, random.sample(range(64), cubes_of(shape)))
    random.shuffle(circuits)
    found = slice_of(circuits)
    assert (found.shape, found.twisted) == (shape, twisted)
    assert set(listed(shape, twisted, list(found.cubes))) == set(circuits)


def test_circuits_join_the_ends_that_the_graph_joins() -> None:
    cubes = [7, 2, 50, 9]
    topology = slice_topology((4, 8, 8), True)
    joined = set()
    for ocs, north, south in listed((4, 8, 8), True, cubes):
        chips = []
        for end in sorted((end_at(ocs, north), end_at(ocs, south)), key=lambda end: not end.is_plus):
            number = cubes.index(end.cube)
            x, y, z = end.chip
            chips.append(((x * 8) + y + 4 * (number // 2)) * 8 + z + 4 * (number % 2))
        joined.add((*chips, ocs))
    optical = {
        (chip, int(topology.neighbours[chip, way]), int(topology.ocs[chip, way]))
        for chip in range(topology.chips)
        for way in (0, 2, 4)
        if topology.ocs[chip, way] >= 0
    }
    assert joined == optical


def test_a_mesh_has_no_circuits_that_identify_it() -> None:
    assert listed((2, 4, 4), False, [3]) == []
    with pytest.raises(InvalidInput, match="none given; a mesh inside a cube has none"):
        slice_of([])


@pytest.mark.parametrize(
    ("cubes", "sentence"),
    [
        ([1], "cubes: 1 given; shape 4x4x8 takes 2"),
        ([1, 64], "cube: 64 does not exist; must be between 0 and 63"),
        ([5, 5], "cubes: 5, 5 has one twice; all must differ"),
    ],
)
def test_cubes_must_fit_the_shape(cubes: list[int], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        slice_circuits((4, 4, 8), False, cubes)
    assert str(refused.value) == sentence


def redirected(circuits: Circuits, dimension: int, swap: Callable[[int], int]) -> Circuits:
    """The circuits of one dimension led to other cubes."""
    return [
        (ocs, north, 2 * swap(south // 2) + south % 2 if ocs // 16 == dimension else south)
        for ocs, north, south in circuits
    ]


PAIR = listed((4, 4, 8), False, [3, 8])
ROW = listed((4, 4, 12), False, [0, 1, 2])


@pytest.mark.parametrize(
    ("circuits", "sentence"),
    [
        (PAIR[1:], "cube 3's +x face leads to cube 3's -x face on 31 of 32 circuits; N6 to S7 of OCS 0 is"),
        ([*PAIR, PAIR[0]], "circuit N6 to S7 of OCS 0: port N6 is also used by another circuit"),
        ([(48, 0, 0)], "circuit N0 to S0 of OCS 48: the OCS does not exist; must be between 0 and 47"),
        ([(0, 0, 130)], "no cube is at port S130; must be between 0 and 127"),
        ([(0, 0, 2)], "N0 to S2 of OCS 0: joins a +x face to a +x face; one must be the other's opposite"),
        ([c for c in PAIR if c[0] < 32], "cube 3's +z face is not joined; a torus joins all six"),
        (
            PAIR + listed((4, 4, 4), False, [9]),
            "circuits: nothing joins cube 9 to cube 3; must be those of one slice",
        ),
        (listed((4, 8, 8), False, [0, 1, 2, 3])[:-1], "is missing"),
        (
            redirected(ROW, 0, lambda cube: {0: 1, 1: 0, 2: 2}[cube]),
            "3 cubes are joined, but not into a torus, twisted or untwisted: from cube 0 the rings are 2, 1,",
        ),
        (
            redirected(redirected(PAIR, 0, lambda cube: 11 - cube), 2, lambda cube: 11 - cube),
            "shape 8x4x4: sides must not decrease from x to z; the nearest legal shape is 4x4x8",
        ),
    ],
)
def test_an_error_in_circuits_is_one_sentence(circuits: Circuits, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        slice_of(circuits)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("wrong", [(0.0, 0, 0), (0, 0), ("0", 0, 0), None])
def test_an_invalid_circuit_is_an_error_in_one_sentence(wrong: Any) -> None:
    with pytest.raises(InvalidInput) as error:
        slice_of([wrong])
    assert str(error.value).startswith(f"circuit: {wrong!r} is not a circuit; must be three whole numbers")
    assert slice_of(list(zip(*slice_circuits((4, 4, 4), False, [3]), strict=True))).cubes == (3,)
