"""Escape tree: a way up and down the order of a spanning tree between any two connected chips.

Up*/down* routing (Schroeder et al., Autonet, 1991): a link leads up if its far end is nearer to the root, or,
at equal distance, has the lower number. A legal way goes up, then down, and never up again. All links may be
used, not only those of the tree, and the shortest legal way is taken.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.models.superpod.wiring import FACES, IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology

ROOT = 0
FAR = np.iinfo(np.int16).max // 2
"""Longer than any way; can be doubled without overflow."""


@dataclass(frozen=True, eq=False, slots=True)
class EscapeTree:
    """The next hops on the way to some targets."""

    column: IntArray
    """(N,): the column of a target in the other arrays; −1 if it has none."""
    onward: npt.NDArray[np.int8]
    """(N, targets): direction of the next hop while no hop has gone down yet."""
    downward: npt.NDArray[np.int8]
    """(N, targets): the same after one has."""
    leads_up: npt.NDArray[np.bool_]
    """(N, 6): whether a link leads up."""


def levels(topology: SliceTopology, root: int = ROOT) -> IntArray:
    """Hops from the root to every chip over the remaining links; −1 if there is no way."""
    level = np.full(topology.chips, -1, dtype=np.int64)
    level[root] = 0
    frontier = np.array([root])
    while frontier.size:
        ahead = np.unique(topology.neighbours[frontier])
        ahead = ahead[ahead != NO_LINK]
        ahead = ahead[level[ahead] < 0]
        level[ahead] = level[frontier[0]] + 1
        frontier = ahead
    return level


def escape_tree(topology: SliceTopology, targets: IntArray) -> EscapeTree:
    """The tree of a connected slice with the next hops to these targets."""
    chips = topology.chips
    rank = np.empty(chips, dtype=np.int64)
    ranked = np.lexsort((np.arange(chips), levels(topology)))
    rank[ranked] = np.arange(chips)
    there = topology.neighbours != NO_LINK
    leads_up = there & (rank[topology.neighbours] < rank[:, None])
    column = np.full(chips, -1, dtype=np.int64)
    column[targets] = np.arange(len(targets))
    hops_down, downward = _none(chips, targets), np.zeros((chips, len(targets)), dtype=np.int8)
    for chip in ranked[::-1]:
        ways = np.flatnonzero(there[chip] & ~leads_up[chip])
        _extend(topology, chip, ways, hops_down, downward)
    hops, onward = hops_down.copy(), downward.copy()
    for chip in ranked:
        _extend(topology, chip, np.flatnonzero(leads_up[chip]), hops, onward)
    return EscapeTree(column, onward, downward, leads_up)


def _none(chips: int, targets: IntArray) -> npt.NDArray[np.int16]:
    hops = np.full((chips, len(targets)), FAR, dtype=np.int16)
    hops[targets, np.arange(len(targets))] = 0
    return hops


def _extend(
    topology: SliceTopology,
    chip: int,
    ways: IntArray,
    hops: npt.NDArray[np.int16],
    directions: npt.NDArray[np.int8],
) -> None:
    """Updates a chip's ways to the targets from those of its neighbours, where they are shorter."""
    for way in ways:
        through = hops[topology.neighbours[chip, way]] + np.int16(1)
        shorter = through < hops[chip]
        hops[chip][shorter] = through[shorter]
        directions[chip][shorter] = way


def escape_hops(tree: EscapeTree, topology: SliceTopology, sources: IntArray, targets: IntArray) -> IntArray:
    """The links (6·chip + direction) of the ways from each source to its target: (hops, ways), −1 after the
    end of a way."""
    at, down = sources.copy(), np.zeros(len(sources), dtype=np.bool_)
    columns = tree.column[targets]
    hops = []
    while (going := at != targets).any():
        way = np.where(down, tree.downward[at, columns], tree.onward[at, columns]).astype(np.int64)
        hops.append(np.where(going, len(FACES) * at + way, NO_LINK))
        down |= ~tree.leads_up[at, way]
        at = np.where(going, topology.neighbours[at, way], at)
    return np.array(hops, dtype=np.int64).reshape(len(hops), len(sources))
