"""All-reduce by spanning trees: how many fit into a slice at once, in fractions.

A tree reduces towards its root and broadcasts back, each direction of its links used once. The number of
trees that fit is the minimum of links between parts ÷ (parts − 1) over all partitions of the chips (Tutte
1961, Nash-Williams 1961). No all-reduce is faster, because p parts have to move 2·(p − 1) buffers across.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from shared.models.superpod.shapes import cube_grid, is_mesh
from shared.models.superpod.wiring import CUBE_SIDE, DIMENSIONS, IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.symmetry import is_whole, symmetry_of


@dataclass(frozen=True, slots=True)
class TreePacking:
    """Spanning trees that fit at once, each using its links whole; if not `is_exact`, an upper bound."""

    trees: float
    is_exact: bool


def tree_packing(topology: SliceTopology) -> TreePacking | None:
    """The all-reduce bandwidth of a slice, in units of one direction of a link; None for a single chip.

    Exact if the finest partition, with every chip a part of its own, is the tightest. This is so in a whole
    torus, because any set of its chips has at least six links leading out, and elsewhere if flows prove it.
    Otherwise the bound is the tightest of that partition, the loosest chip against the rest, cubes, and
    layers of cubes.
    """
    if topology.chips == 1:
        return None
    finest, *others = (_crossing(topology, parts) for parts in _partitions(topology))
    least = min(others, default=finest)
    if least < finest:
        return TreePacking(least, least == 0.0)
    return TreePacking(finest, is_whole(topology) or _is_nowhere_denser(topology))


def _is_nowhere_denser(topology: SliceTopology) -> bool:
    """Whether no set S of chips has more links inside than λ·(|S| − 1), with λ = links ÷ (chips − 1).

    Then a share of 1/λ of every link is a mixture of spanning trees (Edmonds 1971). For sets with a chip r
    this is true if and only if every link can be charged to its two ends such that r bears nothing and every
    other chip λ: a flow. Equivalent chips need only one such flow.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 -- slow to import, and healthy tori need none of it
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415 -- as above

    chips = topology.chips
    tails, ways = np.nonzero(topology.neighbours[:, ::2] != NO_LINK)
    heads = topology.neighbours[tails, 2 * ways]
    links = len(tails)
    # Nodes: the chips, the links, where charges come from and where they go. In units of 1 ÷ (chips − 1).
    at_link, source, sink = chips + np.arange(links), chips + links, chips + links + 1
    rows = np.concatenate([np.full(links, source), at_link, at_link, np.arange(chips)])
    columns = np.concatenate([at_link, tails, heads, np.full(chips, sink)])
    for root in symmetry_of(topology).sources:
        bears = np.where(np.arange(chips) == root, 0, links)
        room = np.concatenate([np.full(3 * links, chips - 1), bears]).astype(np.int32)
        graph = csr_array((room, (rows, columns)), shape=(sink + 1, sink + 1))
        if maximum_flow(graph, source, sink).flow_value < links * (chips - 1):
            return False
    return True


def _crossing(topology: SliceTopology, parts: IntArray) -> float:
    tails, ways = np.nonzero(topology.neighbours != NO_LINK)
    between = parts[tails] != parts[topology.neighbours[tails, ways]]
    return float(between.sum()) / 2 / int(parts.max())


def _partitions(topology: SliceTopology) -> list[IntArray]:
    """Part of each chip, numbered from 0, in each partition."""
    found = [np.arange(topology.chips)]
    if is_whole(topology):
        return found
    loosest = int((topology.neighbours != NO_LINK).sum(axis=1).argmin())
    found.append((np.arange(topology.chips) == loosest).astype(np.int64))
    if not is_mesh(topology.shape):
        place = topology.coordinates // CUBE_SIDE
        grid = np.array(cube_grid(topology.shape))
        for cut in product((0, 1), repeat=DIMENSIONS):
            kept = np.where(cut, place, 0)
            moves = np.where(cut, grid, 1)
            parts = (kept[:, 0] * moves[1] + kept[:, 1]) * moves[2] + kept[:, 2]
            if parts.max() > 0:
                found.append(parts)
    return found
