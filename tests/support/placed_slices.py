"""OCS circuits of a slice on given cubes, and the slice of given circuits.

Wiring after Lightwave Fabrics (appendix A, Fig. A.1): see shared.models.superpod.wiring.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from schemas.names import Join, Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import check_shape, cubes_of, is_twistable, shape_text, slice_joins
from shared.models.superpod.wiring import (
    CUBE_SIDE,
    DIMENSIONS,
    FACE_LINKS,
    FACES,
    OCS_COUNT,
    STRANDS,
    IntArray,
    LinkEnd,
    end_at,
    join_ports,
    strand_at,
)
from shared.models.topology.graph import CUBES_PER_POD

Circuit = tuple[int, int, int]
"""(OCS, North port, South port)."""


@dataclass(frozen=True, slots=True)
class PlacedSlice:
    """A torus and its cubes, x-major: x slowest, z fastest."""

    shape: Shape
    twisted: bool
    cubes: tuple[int, ...]


def slice_circuits(
    shape: Shape, twisted: bool, cubes: Sequence[int], cubes_in_pod: int = CUBES_PER_POD
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the circuits of a slice on these cubes as (OCS, North port, South port), each (96 × cubes,).

    They are ordered by dimension, cube, face index and strand; empty for a mesh. Raises InvalidInput if cubes
    and shape do not fit.
    """
    check_shape(shape, twisted, cubes_in_pod)
    if len(cubes) != cubes_of(shape):
        raise InvalidInput(f"cubes: {len(cubes)} given; shape {shape_text(shape)} takes {cubes_of(shape)}")
    for cube in cubes:
        if not 0 <= cube < cubes_in_pod:
            raise InvalidInput(f"cube: {cube} does not exist; must be between 0 and {cubes_in_pod - 1}")
    if len(set(cubes)) < len(cubes):
        raise InvalidInput(f"cubes: {', '.join(map(str, cubes))} has one twice; all must differ")
    return join_ports(slice_joins(shape, twisted, tuple(cubes)))


def slice_of(circuits: Sequence[Circuit], cubes_in_pod: int = CUBES_PER_POD) -> PlacedSlice:
    """Return the one slice that these circuits make, from its lowest cube. The order of circuits does not
    matter.

    A torus looks the same from each of its cubes, so the first cube is a choice. Raises InvalidInput, with
    the reason, if the circuits are not one slice.
    """
    if not circuits:
        raise InvalidInput("circuits: none given; a mesh inside a cube has none, a torus 96 per cube")
    joins = _joins(circuits, cubes_in_pod)
    after = _after(joins)
    cubes = sorted(after[0])
    apart = set(cubes) - _reached(after, cubes[0])
    if apart:
        raise InvalidInput(
            f"circuits: nothing joins cube {min(apart)} to cube {cubes[0]}; must be those of one slice"
        )
    grids = [
        grid
        for x, y in product(range(1, len(cubes) + 1), repeat=2)
        if len(cubes) % (x * y) == 0
        for grid in [(x, y, len(cubes) // (x * y))]
    ]
    for grid in grids:
        shape = (CUBE_SIDE * grid[0], CUBE_SIDE * grid[1], CUBE_SIDE * grid[2])
        placed = _placed(after, cubes[0], grid)
        for twisted in (False, True) if is_twistable(shape) else (False,):
            if set(slice_joins(shape, twisted, placed)) == joins:
                check_shape(shape, twisted, cubes_in_pod)
                return PlacedSlice(shape, twisted, placed)
    raise InvalidInput(
        f"circuits: {len(cubes)} cubes are joined, but not into a torus, twisted or untwisted: from cube "
        f"{cubes[0]} the rings are {_rings(after, cubes[0])} cubes long along x, y, z"
    )


def _whole_numbers(circuit: Circuit) -> Circuit:
    """Return the circuit as three integers. Numpy integers are valid, 0.0 is not."""
    try:
        ocs, north, south = map(operator.index, circuit)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"circuit: {circuit!r} is not a circuit; must be three whole numbers: OCS, North and South port"
        ) from None
    return ocs, north, south


def _joins(circuits: Sequence[Circuit], cubes_in_pod: int) -> set[Join]:
    """Return the joins of these circuits. All 32 circuits of a join must be present, and no port used
    twice."""
    joined: dict[Join, set[tuple[int, int]]] = {}
    used: set[tuple[int, str, int]] = set()
    for ocs, north, south in map(_whole_numbers, circuits):
        name = f"circuit N{north} to S{south} of OCS {ocs}"
        if not 0 <= ocs < OCS_COUNT:
            raise InvalidInput(f"{name}: the OCS does not exist; must be between 0 and {OCS_COUNT - 1}")
        for side, port in (("N", north), ("S", south)):
            if not 0 <= port < STRANDS * cubes_in_pod:
                most = STRANDS * cubes_in_pod - 1
                raise InvalidInput(f"{name}: no cube is at port {side}{port}; must be between 0 and {most}")
            if (ocs, side, port) in used:
                raise InvalidInput(f"{name}: port {side}{port} is also used by another circuit")
            used.add((ocs, side, port))
        ends = end_at(ocs, north), end_at(ocs, south)
        strand = strand_at("N", north)
        if ends[0].is_plus == ends[1].is_plus:
            face = FACES[ends[0].face]
            raise InvalidInput(
                f"{name}: joins a {face} face to a {face} face; one must be the other's opposite"
            )
        plus, minus = ends if ends[0].is_plus else ends[::-1]
        joined.setdefault((plus.dimension, plus.cube, minus.cube), set()).add((plus.index, strand))
    for (dimension, a, b), present in joined.items():
        for index, strand in product(range(FACE_LINKS), range(STRANDS)):
            if (index, strand) not in present:
                plus, minus = LinkEnd(a, 2 * dimension, index), LinkEnd(b, 2 * dimension + 1, index)
                at_north, at_south = (plus, minus) if plus.side(strand) == "N" else (minus, plus)
                raise InvalidInput(
                    f"circuits: cube {a}'s {FACES[plus.face]} face leads to cube {b}'s {FACES[minus.face]} "
                    f"face on {len(present)} of 32 circuits; N{at_north.port} to S{at_south.port} of OCS "
                    f"{plus.ocs} is missing"
                )
    return set(joined)


def _after(joins: set[Join]) -> tuple[dict[int, int], ...]:
    """Return the cube that follows each cube, per dimension. Every cube must have all six faces joined."""
    after: tuple[dict[int, int], ...] = ({}, {}, {})
    for dimension, a, b in sorted(joins):
        after[dimension][a] = b
    cubes = {cube for _, a, b in joins for cube in (a, b)}
    for dimension in range(DIMENSIONS):
        ends = (set(after[dimension]), set(after[dimension].values()))
        for face, joined in zip(FACES[2 * dimension : 2 * dimension + 2], ends, strict=True):
            for cube in sorted(cubes - joined):
                raise InvalidInput(
                    f"circuits: cube {cube}'s {face} face is not joined; a torus joins all six"
                )
    return after


def _reached(after: tuple[dict[int, int], ...], start: int) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        cube = waiting.pop()
        for nearby in sorted({ring[cube] for ring in after} - reached):
            reached.add(nearby)
            waiting.append(nearby)
    return reached


def _placed(after: tuple[dict[int, int], ...], first: int, grid: tuple[int, int, int]) -> tuple[int, ...]:
    """Return the cubes at the places of a grid, x-major, walking from the first along x, then y, then z."""
    places: IntArray = np.full(grid, first, dtype=np.int64)
    for place in np.ndindex(*grid):
        dimension = max((d for d in range(DIMENSIONS) if place[d]), default=None)
        if dimension is not None:
            before = tuple(at - (d == dimension) for d, at in enumerate(place))
            places[place] = after[dimension][int(places[before])]
    return tuple(places.ravel().tolist())


def _rings(after: tuple[dict[int, int], ...], start: int) -> str:
    """Return the lengths in cubes of the rings along x, y and z."""
    lengths = []
    for ring in after:
        cube, length = ring[start], 1
        while cube != start:
            cube, length = ring[cube], length + 1
        lengths.append(length)
    return ", ".join(map(str, lengths))
