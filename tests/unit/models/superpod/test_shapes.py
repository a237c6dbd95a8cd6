"""Slice shapes: legality, sizes and the joins of regular and twisted tori, against independent oracles."""

from collections import deque
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.names import Join, Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import (
    MESHES,
    check_shape,
    chips_of,
    cube_grid,
    cubes_of,
    grid_joins,
    is_mesh,
    is_twistable,
    legal_shapes,
    nearest_shape,
    parse_shape,
    shape_for_chips,
    shape_text,
    slice_joins,
)

TWISTABLE: list[Shape] = [(4, 4, 8), (4, 8, 8), (8, 8, 16), (8, 16, 16), (12, 12, 24)]
REGULAR: list[Shape] = [
    (4, 4, 4),
    (4, 4, 8),
    (4, 4, 32),
    (4, 8, 12),
    (8, 8, 8),
    (8, 12, 16),
    (12, 16, 16),
    (16, 16, 16),
]
SIDES = st.integers(1, 576)
SHAPES = st.tuples(SIDES, SIDES, SIDES)

Chip = tuple[int, tuple[int, int, int]]
"""A cube of the slice, and the place inside it."""


def brute_force_legal(shape: Shape, cubes: int) -> bool:
    """Legality straight from the papers' sentence, by divisibility of every side."""
    x, y, z = shape
    if shape in {(1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4), (2, 4, 4)}:
        return True
    return all(side % 4 == 0 for side in shape) and x <= y <= z and x * y * z <= 64 * cubes


@pytest.mark.parametrize(
    ("text", "shape"),
    [("4x4x8", (4, 4, 8)), ("4×4×8", (4, 4, 8)), ("16X16x16", (16, 16, 16)), ("1x1x1", (1, 1, 1))],
)
def test_parse(text: str, shape: Shape) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "must be written like 4x4x8"),
        ("4x4", "must be written like 4x4x8"),
        ("4x4x4x4", "must be written like 4x4x8"),
        ("-4x4x4", "must be written like 4x4x8"),
        ("4x4x٤", "must be written like 4x4x8"),
        ("4x4x99999999999999999999", "must be written like 4x4x8"),
        ("0x4x4", "side 0"),
        ("4x4x577", "side 577"),
    ],
)
def test_parse_refuses_with_the_value(text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_shape(text)
    assert repr(text) in str(refusal.value)
    assert named in str(refusal.value)


@given(SHAPES)
def test_text_and_parse_are_inverse(shape: Shape) -> None:
    assert parse_shape(shape_text(shape)) == shape


@pytest.mark.parametrize("cubes", [4, 64, 100])
def test_check_and_enumeration_agree_with_brute_force(cubes: int) -> None:
    legal = set(legal_shapes(cubes))
    every = range(1, 33)
    for shape in product(every, every, every):
        assert (shape in legal) == brute_force_legal(shape, cubes)
    some = (1, 2, 3, 4, 6, 8, 16, 20)
    for shape in product(some, some, some):
        if brute_force_legal(shape, cubes):
            check_shape(shape, False, cubes)
        else:
            with pytest.raises(InvalidInput):
                check_shape(shape, False, cubes)


@pytest.mark.parametrize(
    ("shape", "twisted", "cubes", "sentence"),
    [
        ((4, 4, 6), False, 64, "shape 4x4x6: sides must be multiples of 4"),
        ((4, 4, 6), False, 64, "the nearest legal shape is 4x4x8"),
        (
            (8, 4, 4),
            False,
            64,
            "shape 8x4x4: sides must not decrease from x to z; the nearest legal shape is 4x4x8",
        ),
        (
            (16, 16, 20),
            False,
            64,
            "it needs 80 cubes and the pod has 64; the nearest legal shape is 16x16x16",
        ),
        ((1, 1, 3), False, 64, "the nearest legal shape is 1x1x2"),
        ((4, 4, 4), True, 64, "twisted: true is not allowed; shape 4x4x4 cannot be twisted"),
        ((4, 4, 4), True, 64, "the nearest legal shape is 4x4x8"),
        ((2, 2, 4), True, 64, "cannot be twisted"),
        (
            (16, 32, 32),
            True,
            64,
            "it needs 256 cubes and the pod has 64; the nearest legal shape is 12x12x24",
        ),
    ],
)
def test_refusals_name_field_value_and_nearest(
    shape: Shape, twisted: bool, cubes: int, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_shape(shape, twisted, cubes)
    assert sentence in str(refusal.value)


@given(SHAPES, st.booleans(), st.integers(4, 144))
def test_the_nearest_shape_is_legal_and_a_legal_shape_is_its_own(
    shape: Shape, twisted: bool, cubes: int
) -> None:
    nearest = nearest_shape(shape, twisted, cubes)
    check_shape(nearest, twisted, cubes)
    assert nearest_shape(nearest, twisted, cubes) == nearest


def test_only_the_papers_two_families_twist() -> None:
    families = {(n, n, 2 * n) for n in (4, 8, 12)} | {(n, 2 * n, 2 * n) for n in (4, 8)}
    assert {shape for shape in legal_shapes(64) if is_twistable(shape)} == families


@pytest.mark.parametrize(
    ("chips", "shape"),
    [
        (1, (1, 1, 1)),
        (3, (1, 2, 2)),
        (33, (4, 4, 4)),
        (64, (4, 4, 4)),
        (65, (4, 4, 8)),
        (512, (8, 8, 8)),
        (448, (4, 4, 28)),
        (4096, (16, 16, 16)),
        (9216, (16, 24, 24)),
    ],
)
def test_shape_for_chips(chips: int, shape: Shape) -> None:
    assert shape_for_chips(chips) == shape


@given(st.integers(1, 9216))
def test_shape_for_chips_is_the_smallest_and_most_cubical(chips: int) -> None:
    shape = shape_for_chips(chips)
    enough = [s for s in legal_shapes(144) if chips_of(s) >= chips]
    assert chips_of(shape) == min(chips_of(s) for s in enough)
    rivals = [s for s in enough if chips_of(s) == chips_of(shape)]
    surfaces = {s: s[0] * s[1] + s[1] * s[2] + s[0] * s[2] for s in rivals}
    assert surfaces[shape] == min(surfaces.values())


@pytest.mark.parametrize(("chips", "cubes"), [(0, 64), (-5, 64), (4097, 64), (10**30, 144)])
def test_shape_for_chips_refuses_impossible_numbers(chips: int, cubes: int) -> None:
    with pytest.raises(InvalidInput, match=f"chips: {chips}"):
        shape_for_chips(chips, cubes)


def test_sizes() -> None:
    assert [chips_of(mesh) for mesh in MESHES] == [1, 2, 4, 8, 16, 32]
    assert all(is_mesh(mesh) and cubes_of(mesh) == 1 and grid_joins(mesh, False) == () for mesh in MESHES)
    assert (cubes_of((12, 16, 16)), cube_grid((12, 16, 16))) == (48, (3, 4, 4))


@pytest.mark.parametrize(("shape", "twisted"), [(s, False) for s in REGULAR] + [(s, True) for s in TWISTABLE])
def test_each_dimension_is_a_permutation_of_the_cubes(shape: Shape, twisted: bool) -> None:
    joins = grid_joins(shape, twisted)
    for dimension in range(3):
        north = [a for d, a, _ in joins if d == dimension]
        south = [b for d, _, b in joins if d == dimension]
        assert sorted(north) == sorted(south) == list(range(cubes_of(shape)))


@pytest.mark.parametrize("shape", REGULAR)
def test_a_regular_torus_is_the_product_of_three_rings(shape: Shape) -> None:
    ni, nj, nk = cube_grid(shape)
    cube = {place: n for n, place in enumerate(product(range(ni), range(nj), range(nk)))}
    expected: list[Join] = [(0, cube[x, y, z], cube[(x + 1) % ni, y, z]) for x, y, z in cube]
    expected += [(1, cube[x, y, z], cube[x, (y + 1) % nj, z]) for x, y, z in cube]
    expected += [(2, cube[x, y, z], cube[x, y, (z + 1) % nk]) for x, y, z in cube]
    assert list(grid_joins(shape, False)) == expected


@pytest.mark.parametrize("shape", TWISTABLE)
def test_a_twist_is_the_regular_wrap_and_then_the_stated_shift(shape: Shape) -> None:
    ni, nj, nk = cube_grid(shape)
    places = list(product(range(ni), range(nj), range(nk)))
    regular = {(d, places[a]): places[b] for d, a, b in grid_joins(shape, False)}
    twisted = {(d, places[a]): places[b] for d, a, b in grid_joins(shape, True)}
    for (d, place), (x, y, z) in regular.items():
        wraps = place[d] == (ni, nj, nk)[d] - 1
        if wraps and shape[0] == shape[1] and d in (0, 1):
            expected = (x, y, (z + ni) % nk)
        elif wraps and shape[1] == shape[2] and d == 0:
            expected = (x, (y + ni) % nj, (z + ni) % nk)
        else:
            expected = (x, y, z)
        assert twisted[d, place] == expected


def chip_neighbours(shape: Shape, twisted: bool) -> dict[Chip, list[Chip]]:
    """Chip graph from the cube joins, chip by chip as the fibres run: face index by face index."""
    joins = slice_joins(shape, twisted, tuple(range(cubes_of(shape))))
    far = {(d, a): b for d, a, b in joins}
    graph: dict[Chip, list[Chip]] = {}
    for cube in range(cubes_of(shape)):
        for chip in product(range(4), range(4), range(4)):
            x, y, z = chip
            for d, after in enumerate((((x + 1) % 4, y, z), (x, (y + 1) % 4, z), (x, y, (z + 1) % 4))):
                other = (far[d, cube] if chip[d] == 3 else cube, after)
                graph.setdefault((cube, chip), []).append(other)
                graph.setdefault(other, []).append((cube, chip))
    return graph


def distances(graph: dict[Chip, list[Chip]], start: Chip) -> dict[Chip, int]:
    seen = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in graph[node]:
            if other not in seen:
                seen[other] = seen[node] + 1
                queue.append(other)
    return seen


@pytest.mark.parametrize(
    ("shape", "twisted", "diameter"),
    [((4, 4, 4), False, 6), ((4, 4, 8), False, 8), ((4, 8, 8), False, 10), ((8, 8, 8), False, 12)],
)
def test_chips_of_a_regular_torus_have_six_links_and_half_a_ring_a_side(
    shape: Shape, twisted: bool, diameter: int
) -> None:
    graph = chip_neighbours(shape, twisted)
    assert all(len(others) == 6 for others in graph.values())
    reached = distances(graph, (0, (0, 0, 0)))
    assert len(reached) == chips_of(shape)
    assert max(reached.values()) == diameter == sum(side // 2 for side in shape)


@pytest.mark.parametrize("shape", [(4, 4, 8), (4, 8, 8)])
def test_a_twist_shortens_the_mean_way_and_makes_all_chips_alike(shape: Shape) -> None:
    regular = distances(chip_neighbours(shape, False), (0, (0, 0, 0)))
    graph = chip_neighbours(shape, True)
    assert all(len(others) == 6 for others in graph.values())
    twisted = distances(graph, (0, (0, 0, 0)))
    assert len(twisted) == chips_of(shape)
    assert sum(twisted.values()) < sum(regular.values())
    assert max(twisted.values()) < max(regular.values())
    for start in ((1, (3, 2, 1)), (0, (3, 3, 3))):
        assert sorted(distances(graph, start).values()) == sorted(twisted.values())


def test_joins_name_the_given_cubes() -> None:
    assert slice_joins((4, 4, 4), False, (9,)) == ((0, 9, 9), (1, 9, 9), (2, 9, 9))
    assert slice_joins((4, 4, 8), False, (7, 3)) == (
        (0, 7, 7),
        (0, 3, 3),
        (1, 7, 7),
        (1, 3, 3),
        (2, 7, 3),
        (2, 3, 7),
    )
    assert slice_joins((4, 4, 8), True, (7, 3)) == (
        (0, 7, 3),
        (0, 3, 7),
        (1, 7, 3),
        (1, 3, 7),
        (2, 7, 3),
        (2, 3, 7),
    )
