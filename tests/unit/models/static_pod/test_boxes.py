"""Where slices lie in the fixed grid, against every set of places that is a box by definition."""

from itertools import permutations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.static_pod.boxes import (
    boxes,
    check_static_shape,
    cube_at,
    first_box,
    grid_place,
    nearest_that_fits,
)
from shared.models.static_pod.static_pod_plant import CUBES, GRID
from shared.models.superpod.shapes import MESHES, cube_grid, legal_shapes

FITTING = [shape for shape in legal_shapes(CUBES) if shape not in MESHES and max(shape) <= 16]
ARCS = {
    length: {frozenset((start + step) % 4 for step in range(length)) for start in range(4)}
    for length in range(1, 5)
}
"""Length → sets of adjacent places around a ring of 4."""


def all_boxes(shape: Shape) -> set[frozenset[int]]:
    """Every box by definition: arcs along x, y and z of the slice's extents, however dealt out."""
    return {
        frozenset(cube_at(*place) for place in product(xs, ys, zs))
        for extents in set(permutations(cube_grid(shape)))
        for xs, ys, zs in product(*(ARCS[extent] for extent in extents))
    }


def test_cubes_are_numbered_x_major_and_counted_on_around_the_torus() -> None:
    places = list(product(range(4), repeat=3))
    assert [grid_place(cube) for cube in range(CUBES)] == places
    assert [cube_at(*place) for place in places] == list(range(CUBES))
    assert cube_at(4, -1, 9) == cube_at(0, 3, 1)


@pytest.mark.parametrize("shape", FITTING)
def test_the_boxes_of_a_shape_are_all_there_are(shape: Shape) -> None:
    found = boxes(shape)
    assert {frozenset(cubes) for _, cubes in found} == all_boxes(shape)
    assert len(found) == len(all_boxes(shape))
    for mask, cubes in found:
        assert {cube for cube in range(CUBES) if mask >> cube & 1} == set(cubes)


@pytest.mark.parametrize("shape", FITTING)
def test_neighbours_in_a_slice_are_neighbours_in_the_grid(shape: Shape) -> None:
    """The cubes are listed in the slice's own order: neighbours there are joined by fibres."""
    torus = nx.grid_graph(GRID, periodic=True)
    own = list(product(*(range(side) for side in cube_grid(shape))))
    steps = [(a, b) for a in own for b in own if sum(abs(i - j) for i, j in zip(a, b, strict=True)) == 1]
    for _, cubes in boxes(shape):
        place = dict(zip(own, (grid_place(cube) for cube in cubes), strict=True))
        assert all(torus.has_edge(place[a], place[b]) for a, b in steps)


@given(st.sampled_from(FITTING), st.sets(st.integers(0, CUBES - 1)))
def test_the_first_box_is_there_if_any_is_and_is_idle(shape: Shape, busy: set[int]) -> None:
    idle = set(range(CUBES)) - busy
    found = first_box(shape, sum(1 << cube for cube in idle))
    fitting = [box for box in all_boxes(shape) if box <= idle]
    if found is None:
        assert fitting == []
        return
    assert frozenset(found) in fitting
    first_corner = min(cubes[0] for _, cubes in boxes(shape) if idle.issuperset(cubes))
    assert found[0] == first_corner


def test_a_row_lies_along_z_first_and_may_lie_across_the_end_of_the_torus() -> None:
    everything = (1 << CUBES) - 1
    assert first_box((4, 4, 8), everything) == (0, 1)
    assert first_box((4, 4, 8), everything & ~(1 << 1)) == (0, 4)  # along y
    assert first_box((4, 4, 8), 1 << 3 | 1 << 0) == (3, 0)
    assert first_box((8, 8, 8), everything) == (0, 1, 4, 5, 16, 17, 20, 21)
    assert first_box((16, 16, 16), everything) == tuple(range(64))
    assert boxes((2, 4, 4)) == ()


@pytest.mark.parametrize(
    ("shape", "twisted", "sentence"),
    [
        (
            (4, 4, 32),
            False,
            (
                "shape 4x4x32: side 32 is longer than the fixed grid of a static pod (16 chips); "
                "the nearest that fits is 4x4x16"
            ),
        ),
        (
            (4, 4, 8),
            True,
            (
                "twisted: true is not allowed; the links of a static pod are fixed and cannot be twisted; "
                "must be 4x4x8 without a twist"
            ),
        ),
        ((8, 4, 4), False, "sides must not decrease from x to z"),
        ((4, 4, 12), True, "shape 4x4x12 cannot be twisted"),
    ],
)
def test_a_slice_that_never_fits_in_the_grid_is_refused_with_its_rule(
    shape: Shape, twisted: bool, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_static_shape(shape, twisted)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("shape", legal_shapes(CUBES))
def test_a_shape_is_refused_exactly_if_it_is_too_long(shape: Shape) -> None:
    nearest = nearest_that_fits(shape)
    check_static_shape(nearest, False)
    if max(shape) <= 16:
        check_static_shape(shape, False)
        assert nearest == shape
    else:
        with pytest.raises(InvalidInput, match="longer than the fixed grid"):
            check_static_shape(shape, False)
