"""A slice as a graph of chips: coordinates, the six links of each chip, and the OCS of each link.

Shapes after TPU v4 (2.2, 2.8, Fig. 1) and Lightwave Fabrics (appendix A, 4.2). Links inside a cube are
copper. A link between cubes, or from a cube to itself around a ring of one cube, passes the OCS of its
dimension and face index.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import check_shape, cube_grid, grid_joins, is_mesh
from shared.models.superpod.wiring import CUBE_SIDE, DIMENSIONS, FACE_LINKS, FACES, OCS_COUNT, IntArray

CUBES_PER_POD = 64
"""Cubes of a superpod ([LF] appendix A, [T4] 2.2)."""
NO_LINK = -1
COPPER = -1


@dataclass(frozen=True, eq=False, slots=True)
class SliceTopology:
    """The chips and links of one slice; every array is read-only.

    Chips are numbered x-major, z fastest: chip (x, y, z) of an X×Y×Z slice is (x·Y + y)·Z + z. Columns 0 … 5
    of `neighbours` and `ocs` are the directions in the order of FACES (+x, −x, +y, −y, +z, −z), so the
    opposite of direction d is d ^ 1 and its dimension d // 2. The link from a chip in direction d and the
    one back in direction d ^ 1 are the two directions of one link.
    """

    shape: Shape
    twisted: bool
    coordinates: IntArray
    """(N, 3): x, y, z of each chip."""
    neighbours: IntArray
    """(N, 6): the chip at the far end of each link, −1 if there is none: a mesh's edge, or a removed link."""
    ocs: IntArray
    """(N, 6): the OCS that each link passes, −1 for copper inside a cube and if there is no link."""

    @property
    def chips(self) -> int:
        return len(self.coordinates)


def slice_topology(shape: Shape, twisted: bool = False, cubes_in_pod: int = CUBES_PER_POD) -> SliceTopology:
    """The healthy slice of this shape; InvalidInput names the nearest legal shape."""
    check_shape(shape, twisted, cubes_in_pod)
    coordinates = np.indices(shape, dtype=np.int64).reshape(DIMENSIONS, -1).T.copy()
    neighbours = np.empty((len(coordinates), len(FACES)), dtype=np.int64)
    ocs = np.full_like(neighbours, COPPER)
    for dimension in range(DIMENSIONS):
        for sign in (1, -1):
            ahead = coordinates.copy()
            ahead[:, dimension] += sign
            leaves = (ahead[:, dimension] < 0) | (ahead[:, dimension] >= shape[dimension])
            inside = np.where(leaves, NO_LINK, _numbers(ahead, shape))
            neighbours[:, 2 * dimension + (sign < 0)] = inside
    if not is_mesh(shape):
        _join_cubes(shape, twisted, coordinates, neighbours, ocs)
    return _read_only(SliceTopology(shape, twisted, coordinates, neighbours, ocs))


def _numbers(coordinates: IntArray, shape: Shape) -> IntArray:
    """Chip numbers of coordinates inside the shape."""
    _, y, z = shape
    return (coordinates[:, 0] * y + coordinates[:, 1]) * z + coordinates[:, 2]


def _join_cubes(
    shape: Shape, twisted: bool, coordinates: IntArray, neighbours: IntArray, ocs: IntArray
) -> None:
    """Connects the links on the cubes' faces by the slice's joins (`superpod.shapes`)."""
    grid = cube_grid(shape)
    place, local = np.divmod(coordinates, CUBE_SIDE)
    cube = _numbers(place, grid)
    places = np.indices(grid, dtype=np.int64).reshape(DIMENSIONS, -1).T
    joins = np.array(grid_joins(shape, twisted), dtype=np.int64).reshape(DIMENSIONS, -1, 3)
    for dimension in range(DIMENSIONS):
        north = np.flatnonzero(local[:, dimension] == CUBE_SIDE - 1)
        landing = local[north]
        landing[:, dimension] = 0
        south = _numbers(places[joins[dimension, cube[north], 2]] * CUBE_SIDE + landing, shape)
        first, second = np.delete(local[north], dimension, axis=1).T
        switch = dimension * FACE_LINKS + CUBE_SIDE * first + second
        neighbours[north, 2 * dimension] = south
        neighbours[south, 2 * dimension + 1] = north
        ocs[north, 2 * dimension] = switch
        ocs[south, 2 * dimension + 1] = switch


def without_ocs(topology: SliceTopology, numbers: Iterable[int]) -> SliceTopology:
    """The slice without the links of these failed OCSes.

    An OCS removes one of the 16 parallel links of its dimension on every cube of the slice; an unused OCS
    removes nothing. InvalidInput for an unknown OCS.
    """
    failed = sorted(set(numbers))
    for number in failed:
        if not 0 <= number < OCS_COUNT:
            raise InvalidInput(_absent("ocs", number, OCS_COUNT))
    gone = np.isin(topology.ocs, failed)
    return _read_only(
        replace(
            topology,
            neighbours=np.where(gone, NO_LINK, topology.neighbours),
            ocs=np.where(gone, COPPER, topology.ocs),
        )
    )


def without_links(topology: SliceTopology, links: Iterable[tuple[int, int]]) -> SliceTopology:
    """The slice without these links, each given as (chip, direction) from either end.

    Both directions of a link are removed. InvalidInput for an unknown chip, direction or link.
    """
    neighbours = topology.neighbours.copy()
    ocs = topology.ocs.copy()
    for chip, direction in links:
        if not 0 <= chip < topology.chips:
            raise InvalidInput(_absent("chip", chip, topology.chips))
        if not 0 <= direction < len(FACES):
            raise InvalidInput(_absent("direction", direction, len(FACES)))
        far = int(topology.neighbours[chip, direction])
        if far == NO_LINK:
            raise InvalidInput(f"link {FACES[direction]} of chip {chip}: does not exist in this slice")
        for end, way in ((chip, direction), (far, direction ^ 1)):
            neighbours[end, way] = NO_LINK
            ocs[end, way] = COPPER
    return _read_only(replace(topology, neighbours=neighbours, ocs=ocs))


def _absent(field: str, number: int, size: int) -> str:
    nearest = min(max(number, 0), size - 1)
    return f"{field}: {number} does not exist; must be between 0 and {size - 1}; the nearest is {nearest}"


def _read_only(topology: SliceTopology) -> SliceTopology:
    for array in (topology.coordinates, topology.neighbours, topology.ocs):
        array.flags.writeable = False
    return topology
