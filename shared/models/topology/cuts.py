"""Bisection of a slice by planes: the fewest links between two halves."""

from itertools import product
from math import gcd

import numpy as np
import numpy.typing as npt

from schemas.names import Shape
from shared.models.superpod.shapes import is_mesh
from shared.models.superpod.wiring import DIMENSIONS
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.lattice import cosets, periods
from shared.models.topology.symmetry import is_whole

Sides = npt.NDArray[np.bool_]


def best_plane_cut(topology: SliceTopology) -> int:
    """The fewest links between two equal halves of a slice divided by parallel planes; 0 for one chip.

    A torus is cut by two planes p·v ≡ a and p·v ≡ a + M/2 (mod M), for every p with entries −1, 0, 1 that is
    compatible with its wrap-around, and every a if links are missing; a mesh by one plane across an even
    side.
    """
    counts = [links_between(topology, half) for half in _halves(topology)]
    return min(counts, default=0)


def links_between(topology: SliceTopology, half: Sides) -> int:
    """Links with one end in the half, given as (N,), and the other outside."""
    tails, ways = np.nonzero(topology.neighbours != NO_LINK)
    return int((half[tails] & ~half[topology.neighbours[tails, ways]]).sum())


def _halves(topology: SliceTopology) -> list[Sides]:
    shape, points = topology.shape, topology.coordinates
    if is_mesh(shape):
        return [points[:, axis] < side // 2 for axis, side in enumerate(shape) if side % 2 == 0]
    found = []
    for normal, period in plane_families(shape, topology.twisted):
        level = points @ np.array(normal) % period
        starts = range(1 if is_whole(topology) else period // 2)
        found += [(level - start) % period < period // 2 for start in starts]
    return found


def plane_families(shape: Shape, twisted: bool) -> list[tuple[Shape, int]]:
    """(p, M) of the planes p·v ≡ a (mod M) that remain planes across the torus wrap, M even.

    p·w must be a multiple of M for all w that lead back to the same chip. A normal and its opposite count
    once.
    """
    x, y, z = periods(shape, twisted)
    ways_back = ((x, 0, 0), (0, y, 0), (0, 0, z), *cosets(shape, twisted))
    found: list[tuple[Shape, int]] = []
    for p, q, r in product((0, 1, -1), repeat=DIMENSIONS):
        normal = (p, q, r)
        if next((entry for entry in (p, q, r) if entry), -1) > 0:
            period = gcd(*(int(np.dot(normal, way)) for way in ways_back))
            if period % 2 == 0:
                found.append((normal, period))
    return found
