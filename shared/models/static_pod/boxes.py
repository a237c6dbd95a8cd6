"""Placement of slices on the fixed grid of a static pod.

Fibres join a cube to its six neighbours only, so a slice of several cubes is a box of adjacent cubes in any
orientation. The grid is a torus, so a box may wrap around. Links wrap around a slice only along dimensions
that it spans completely. No slice is twisted, because there are no circuits (Lightwave Fabrics 4.2, TPU v4
2.5-2.8).
"""

from functools import lru_cache
from itertools import permutations, product

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.static_pod.static_pod_plant import CUBES, GRID
from shared.models.superpod import shapes
from shared.models.superpod.shapes import cube_grid, is_mesh, shape_text
from shared.models.superpod.wiring import CUBE_SIDE

SIDE_CHIPS = CUBE_SIDE * max(GRID)
BOXES_KEPT_MAX = 64
"""Shapes whose boxes are cached; 20 shapes of whole cubes fit."""

Box = tuple[int, tuple[int, ...]]
"""(set of cubes as a bit mask, the same cubes x-major in the slice's own order of dimensions)."""


def cube_at(x: int, y: int, z: int) -> int:
    """The number of the cube at a place of the grid, modulo the torus."""
    return (x % GRID[0] * GRID[1] + y % GRID[1]) * GRID[2] + z % GRID[2]


def grid_place(cube: int) -> tuple[int, int, int]:
    """(x, y, z) of a cube in the grid."""
    rest, z = divmod(cube, GRID[2])
    return *divmod(rest, GRID[1]), z


def check_static_shape(shape: Shape, twisted: bool) -> None:
    """InvalidInput, with the nearest valid shape, unless an empty static pod can run such a slice."""
    shapes.check_shape(shape, twisted, CUBES)
    if twisted:
        raise InvalidInput(
            "twisted: true is not allowed; the links of a static pod are fixed and cannot be twisted; "
            f"must be {shape_text(shape)} without a twist"
        )
    if max(shape) > SIDE_CHIPS:
        raise InvalidInput(
            f"shape {shape_text(shape)}: side {max(shape)} is longer than the fixed grid of a static pod "
            f"({SIDE_CHIPS} chips); the nearest that fits is {shape_text(nearest_that_fits(shape))}"
        )


def nearest_that_fits(shape: Shape) -> Shape:
    """The legal shape of a static pod with the smallest sum of side differences; of several, the one with the
    most chips."""
    fitting = [legal for legal in shapes.legal_shapes(CUBES) if max(legal) <= SIDE_CHIPS]

    def distance(legal: Shape) -> tuple[int, int, Shape]:
        difference = sum(abs(a - b) for a, b in zip(sorted(shape), legal, strict=True))
        return difference, -shapes.chips_of(legal), legal

    return min(fitting, key=distance)


@lru_cache(maxsize=BOXES_KEPT_MAX)
def boxes(shape: Shape) -> tuple[Box, ...]:
    """Every box of cubes for a slice of whole cubes, in order of its first corner, then of its extents.

    Of several boxes with the same set of cubes, only the first. Empty for a shape that does not fit.
    """
    if is_mesh(shape):
        return ()
    extents = cube_grid(shape)
    found: dict[int, tuple[int, ...]] = {}
    for corner, along in product(range(CUBES), _orientations(extents)):
        cubes = _cubes(grid_place(corner), extents, along)
        if len(set(cubes)) == len(cubes):
            found.setdefault(sum(1 << cube for cube in cubes), cubes)
    return tuple(found.items())


def _orientations(extents: tuple[int, int, int]) -> list[tuple[int, ...]]:
    """For each distinct orientation of the box: the grid dimension of each of the slice's dimensions.

    In order of the extents along x, y, z.
    """
    ways: dict[tuple[int, ...], tuple[int, ...]] = {}
    for along in permutations(range(len(GRID))):
        laid = [0] * len(GRID)
        for own, dimension in enumerate(along):
            laid[dimension] = extents[own]
        if all(side <= limit for side, limit in zip(laid, GRID, strict=True)):
            ways.setdefault(tuple(laid), along)
    return [along for _, along in sorted(ways.items())]


def _cubes(
    corner: tuple[int, int, int], extents: tuple[int, int, int], along: tuple[int, ...]
) -> tuple[int, ...]:
    cubes = []
    for steps in product(*(range(side) for side in extents)):
        place = list(corner)
        for own, dimension in enumerate(along):
            place[dimension] += steps[own]
        cubes.append(cube_at(*place))
    return tuple(cubes)


def first_box(shape: Shape, idle: int) -> tuple[int, ...] | None:
    """The cubes of the first box for a slice whose cubes are all idle, given as a bit mask; None if there is
    none."""
    for mask, cubes in boxes(shape):
        if mask & idle == mask:
            return cubes
    return None
