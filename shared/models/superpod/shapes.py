"""Slice shapes: legal shapes, their chips and cubes, and the joins of their cubes.

Shapes after TPU v4 (2.2, 2.5, 2.8, Table 2) and Lightwave Fabrics (4.2). A mesh is inside one cube and has no
circuits. A torus consists of whole cubes, wraps around in all three dimensions and may be twisted. The cubes
of a slice are listed x-major: x slowest, z fastest.
"""

from functools import lru_cache

from schemas.names import Join, Shape
from shared.basics.errors import InvalidInput
from shared.basics.parsing import parse_sides
from shared.basics.spelling import truncated
from shared.models.superpod.wiring import CHIPS_PER_CUBE, CUBE_SIDE

SIDE_MAX = 576
"""Maximum chips along a side: the 144 cubes of the largest pod in a row."""
POD_CUBES_MAX = SIDE_MAX // CUBE_SIDE
MESHES: tuple[Shape, ...] = ((1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4), (2, 4, 4))
"""Shapes below 64 chips ([T4] Table 2), each with a different number of chips."""


def parse_shape(text: str) -> Shape:
    """`4x4x8` or `4×4×8` → (4, 4, 8). Checks the form only; `check_shape` checks whether it is legal."""
    sides = parse_sides(text)
    if sides is None:
        raise InvalidInput(
            f"shape: {truncated(repr(text))} is not three sides in chips; must be written like 4x4x8"
        )
    for side in sides:
        if not 1 <= side <= SIDE_MAX:
            raise InvalidInput(
                f"shape {truncated(repr(text))}: side {truncated(str(side))} is not allowed; "
                f"must be between 1 and {SIDE_MAX} chips"
            )
    return sides


def shape_text(shape: Shape) -> str:
    """(4, 4, 8) → `4x4x8`."""
    return "x".join(str(side) for side in shape)


def chips_of(shape: Shape) -> int:
    x, y, z = shape
    return x * y * z


def is_mesh(shape: Shape) -> bool:
    """Whether a legal shape is inside one cube, without circuits."""
    return chips_of(shape) < CHIPS_PER_CUBE


def cubes_of(shape: Shape) -> int:
    """Cubes of a legal shape; a mesh takes part of one."""
    return max(1, chips_of(shape) // CHIPS_PER_CUBE)


def cube_grid(shape: Shape) -> tuple[int, int, int]:
    """Cubes along x, y, z of a torus."""
    x, y, z = shape
    return x // CUBE_SIDE, y // CUBE_SIDE, z // CUBE_SIDE


def is_twistable(shape: Shape) -> bool:
    """n×n×2n or n×2n×2n of whole cubes ([T4] 2.8)."""
    x, y, z = shape
    return x % CUBE_SIDE == 0 and z == 2 * x and y in (x, z)


def is_legal(shape: Shape, twisted: bool) -> bool:
    """Whether a sufficiently large pod can run such a slice."""
    return _problem(shape, cubes_of(shape)) is None and (is_twistable(shape) or not twisted)


def check_shape(shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
    """InvalidInput, with the nearest legal shape, unless an empty pod of this many cubes can run such a
    slice."""
    problem = _problem(shape, cubes_in_pod)
    if problem is not None:
        nearest = nearest_shape(shape, twisted, cubes_in_pod)
        raise InvalidInput(
            f"shape {shape_text(shape)}: {problem}; the nearest legal shape is {shape_text(nearest)}"
        )
    if twisted and not is_twistable(shape):
        nearest = nearest_shape(shape, True, cubes_in_pod)
        raise InvalidInput(
            f"twisted: true is not allowed; shape {shape_text(shape)} cannot be twisted, must be n×n×2n or "
            f"n×2n×2n with n a multiple of 4; the nearest legal shape is {shape_text(nearest)}"
        )


def several_pods_hint(shape: Shape, cubes_in_pod: int) -> str:
    """A hint, added to the error, for a slice that is larger than a pod; "" for any other."""
    if chips_of(shape) <= CHIPS_PER_CUBE * cubes_in_pod:
        return ""
    return "; a slice of several pods needs a fabric that joins them, and the site has none"


def _problem(shape: Shape, cubes_in_pod: int) -> str | None:
    if shape in MESHES:
        return None
    x, y, z = shape
    if not 0 < x <= y <= z:
        return "sides must not decrease from x to z"
    if x % CUBE_SIDE or y % CUBE_SIDE or z % CUBE_SIDE:
        meshes = ", ".join(shape_text(mesh) for mesh in MESHES)
        return f"sides must be multiples of 4, or the shape one of {meshes}"
    cubes = cubes_of(shape)
    if cubes > cubes_in_pod:
        return f"it needs {cubes} cubes and the pod has {cubes_in_pod}"
    return None


@lru_cache(maxsize=POD_CUBES_MAX)
def legal_shapes(cubes_in_pod: int) -> tuple[Shape, ...]:
    """Every legal shape of a pod of this many cubes: the meshes, then the tori, in order of sides."""
    tori = (
        (CUBE_SIDE * i, CUBE_SIDE * j, CUBE_SIDE * k)
        for i in range(1, cubes_in_pod + 1)
        for j in range(i, cubes_in_pod // i + 1)
        for k in range(j, cubes_in_pod // (i * j) + 1)
    )
    return (*MESHES, *tori)


def nearest_shape(shape: Shape, twisted: bool, cubes_in_pod: int) -> Shape:
    """The legal shape with the smallest sum of side differences, both sorted; of several, the one with the
    most chips."""
    wanted = sorted(shape)

    def distance(legal: Shape) -> tuple[int, int, Shape]:
        difference = sum(abs(a - b) for a, b in zip(wanted, legal, strict=True))
        return difference, -chips_of(legal), legal

    return min((s for s in legal_shapes(cubes_in_pod) if not twisted or is_twistable(s)), key=distance)


@lru_cache(maxsize=POD_CUBES_MAX * CHIPS_PER_CUBE)
def shape_for_chips(chips: int, cubes_in_pod: int = POD_CUBES_MAX) -> Shape:
    """The legal shape with the fewest chips that has at least this many; of several, the most cubical
    (smallest sum of sides)."""
    most = cubes_in_pod * CHIPS_PER_CUBE
    if not 1 <= chips <= most:
        raise InvalidInput(
            f"chips: {chips} is not allowed; must be between 1 and {most}, the chips of the pod"
        )
    enough = (shape for shape in legal_shapes(cubes_in_pod) if chips_of(shape) >= chips)
    return min(enough, key=lambda shape: (chips_of(shape), sum(shape), shape))


@lru_cache(maxsize=1024)
def grid_joins(shape: Shape, twisted: bool) -> tuple[tuple[int, int, int], ...]:
    """The joins of a torus as (dimension, i, j): the + face of its i-th cube to the − face of its j-th.

    Length 3 × cubes, by dimension, then i. A twist is a shift by half a ring, so it is its own inverse.
    k×k×2k: crossing the x or the y wrap also moves z by k. k×2k×2k: crossing the x wrap also moves y and z by
    k.
    """
    if is_mesh(shape):
        return ()
    nx, ny, nz = cube_grid(shape)
    places = [(x, y, z) for x in range(nx) for y in range(ny) for z in range(nz)]
    twists = _twists((nx, ny, nz)) if twisted else {}
    joins = []
    for dimension in range(3):
        for number, place in enumerate(places):
            after = list(place)
            after[dimension] += 1
            if after[dimension] == (nx, ny, nz)[dimension]:
                after[dimension] = 0
                for moved, by in twists.get(dimension, ()):
                    after[moved] = (after[moved] + by) % (nx, ny, nz)[moved]
            joins.append((dimension, number, (after[0] * ny + after[1]) * nz + after[2]))
    return tuple(joins)


def _twists(grid: tuple[int, int, int]) -> dict[int, tuple[tuple[int, int], ...]]:
    """Crossed wrap → (dimension, cubes) of the additional movement."""
    nx, ny, _ = grid
    if nx == ny:
        return {0: ((2, nx),), 1: ((2, nx),)}
    return {0: ((1, nx), (2, nx))}


def slice_joins(shape: Shape, twisted: bool, cubes: tuple[int, ...]) -> tuple[Join, ...]:
    """The joins (d, a, b) of a slice on these cubes: cube a's + face to cube b's − face. Empty for a mesh."""
    return tuple([(dimension, cubes[i], cubes[j]) for dimension, i, j in grid_joins(shape, twisted)])
