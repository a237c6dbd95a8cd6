"""Equivalent chips and links of a slice under symmetries, so that computing one of each kind is enough.

A map v → M·v + t of a torus onto itself, with M rotating or mirroring the axes, is a symmetry if it takes
every link to a link. A healthy torus has all translations. If OCSes are missing, translations by whole cubes
remain, because an OCS removes the same link of every cube, and some of the 48 rotations and reflections.
"""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from shared.models.superpod.shapes import cube_grid, is_mesh
from shared.models.superpod.wiring import CHIPS_PER_CUBE, CUBE_SIDE, DIMENSIONS, FACES, IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.lattice import chips_at

TURNS = tuple(
    np.diag(signs)[list(axes)]
    for axes in permutations(range(DIMENSIONS))
    for signs in product((1, -1), repeat=3)
)
"""The 48 signed permutations of the axes."""


@dataclass(frozen=True, eq=False, slots=True)
class Symmetry:
    """Chips and links sorted into kinds.

    `sources` is one chip of each kind and `weights` the number of its chips. `links` is the kind of each
    directed link as (N, 6), −1 if there is none. Both directions of a link are of one kind.
    """

    sources: IntArray
    weights: IntArray
    links: IntArray


def is_whole(topology: SliceTopology) -> bool:
    """Whether a torus misses none of its links."""
    return not is_mesh(topology.shape) and bool((topology.neighbours != NO_LINK).all())


def same_in_every_cube(topology: SliceTopology) -> bool:
    """Whether translations by whole cubes preserve the missing links."""
    if is_mesh(topology.shape):
        return False
    pattern = _pattern(topology)
    return bool((pattern == pattern[:1]).all())


def source_chips(topology: SliceTopology) -> IntArray:
    """Chips that represent all others: 1, 64 or all of them, each standing for an equal number."""
    if is_whole(topology):
        return np.zeros(1, dtype=np.int64)
    if same_in_every_cube(topology):
        return np.flatnonzero((topology.coordinates < CUBE_SIDE).all(axis=1))
    return np.arange(topology.chips)


def cube_moves(topology: SliceTopology) -> IntArray:
    """(cubes, N): the chip that each translation by whole cubes takes every chip to, the identity first."""
    places = np.indices(cube_grid(topology.shape)).reshape(DIMENSIONS, -1).T * CUBE_SIDE
    moves = [chips_at(topology.coordinates + place, topology.shape, topology.twisted) for place in places]
    return np.array(moves, dtype=np.int64)


def _pattern(topology: SliceTopology) -> npt.NDArray[np.bool_]:
    """(cubes, 64, 6): the links of the chips of each cube."""
    place, local = np.divmod(topology.coordinates, CUBE_SIDE)
    order = np.lexsort((*local.T[::-1], *place.T[::-1]))
    present: npt.NDArray[np.bool_] = (topology.neighbours != NO_LINK)[order]
    return present.reshape(-1, CHIPS_PER_CUBE, len(FACES))


def symmetry_of(topology: SliceTopology) -> Symmetry:
    """The kinds of chips and links under all symmetries of the form above that preserve the grid of cubes.

    Every map is checked link by link before use.
    """
    chips = np.arange(topology.chips)
    ends, ways = np.nonzero(topology.neighbours != NO_LINK)
    far = topology.neighbours[ends, ways]
    chip_pairs, link_pairs = [], [np.stack([ends * len(FACES) + ways, far * len(FACES) + (ways ^ 1)])]
    for image, directions in _maps(topology):
        chip_pairs.append(np.stack([chips, image]))
        link_pairs.append(np.stack([ends * len(FACES) + ways, image[ends] * len(FACES) + directions[ways]]))
    chip_kinds = _kinds(chip_pairs, topology.chips)
    _, sources, weights = np.unique(chip_kinds, return_index=True, return_counts=True)
    link_kinds = _kinds(link_pairs, topology.chips * len(FACES)).reshape(-1, len(FACES))
    links = np.full_like(topology.neighbours, NO_LINK)
    links[ends, ways] = np.unique(link_kinds[ends, ways], return_inverse=True)[1]
    return Symmetry(sources, weights, links)


def _kinds(pairs: list[IntArray], size: int) -> IntArray:
    """(size,): the number of each element's group, if the elements of these pairs are in one group."""
    from scipy.sparse import coo_array  # noqa: PLC0415 -- slow to import, and healthy slices need none of it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 -- as above

    first, second = np.concatenate([np.empty((2, 0), dtype=np.int64), *pairs], axis=1)
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(size, size))
    kinds: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return kinds


def _maps(topology: SliceTopology) -> list[tuple[IntArray, IntArray]]:
    """The symmetries as (chip → chip, direction → direction); empty without translations by whole cubes."""
    if not same_in_every_cube(topology):
        return []
    shape, twisted = topology.shape, topology.twisted
    found = []
    for axis in range(DIMENSIONS):
        moved = topology.coordinates.copy()
        moved[:, axis] += CUBE_SIDE
        found.append((chips_at(moved, shape, twisted), np.arange(len(FACES))))
    pattern = _pattern(topology)[0].reshape(*(CUBE_SIDE,) * DIMENSIONS, len(FACES))
    *local, way = np.array(np.nonzero(~pattern))
    missing = np.stack(local, axis=1)
    offsets = np.indices((CUBE_SIDE,) * DIMENSIONS).reshape(DIMENSIONS, -1).T
    for turn in TURNS:
        directions = _turned(turn)
        landing = (missing @ turn.T + offsets[:, None]) % CUBE_SIDE
        fits = ~pattern[(*np.moveaxis(landing, -1, 0), directions[way])]
        for offset in offsets[fits.all(axis=1)]:
            image = chips_at(topology.coordinates @ turn.T + offset, shape, twisted)
            if _is_symmetry(topology, image, directions):
                found.append((image, directions))
    return found


def _turned(turn: IntArray) -> IntArray:
    """The six directions of FACES after a rotation."""
    axis = np.abs(turn).argmax(axis=0)
    mirrored = turn.sum(axis=0) < 0
    directions = np.arange(len(FACES))
    turned: IntArray = 2 * axis[directions // 2] + ((directions % 2) ^ mirrored[directions // 2])
    return turned


def _is_symmetry(topology: SliceTopology, image: IntArray, directions: IntArray) -> bool:
    if len(np.unique(image)) != topology.chips:
        return False
    neighbours = topology.neighbours
    wanted = np.where(neighbours == NO_LINK, NO_LINK, image[neighbours])
    return bool((neighbours[image][:, directions] == wanted).all())
