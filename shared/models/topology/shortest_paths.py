"""Shortest paths on any slice, whole or not: hop counts and the load of links."""

from dataclasses import dataclass

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.lattice import FloatArray, shortest_path_load, torus_hops
from shared.models.topology.symmetry import cube_moves, is_whole, source_chips

WORD_BITS = 64
"""Sources searched at once in a machine word: one bit each."""


@dataclass(frozen=True, slots=True)
class Hops:
    """Distances of chips.

    `diameter` and `mean` count hops over all ordered pairs, a chip with itself included. Both are None if
    some pairs have no path; `unreachable_pairs` is their number.
    """

    diameter: int | None
    mean: float | None
    unreachable_pairs: int


def hops(topology: SliceTopology) -> Hops:
    """Diameter and mean of the hop counts: from one chip of a whole torus, else from one of each kind."""
    if is_whole(topology):
        from_first = torus_hops(topology.shape, topology.twisted)
        return Hops(int(from_first.max()), float(from_first.mean()), 0)
    sources = source_chips(topology)
    share = topology.chips // len(sources)
    total, diameter, unreached = 0, 0, 0
    for start in range(0, len(sources), WORD_BITS):
        left = _pairs_left(topology, sources[start : start + WORD_BITS])
        total += sum(left)
        diameter = max(diameter, len(left) - 1)
        unreached += left[-1]
    if unreached:
        return Hops(None, None, unreached * share)
    return Hops(diameter, total / (len(sources) * topology.chips), 0)


def _pairs_left(topology: SliceTopology, sources: IntArray) -> list[int]:
    """Pairs of up to 64 sources and all chips that are more than 0, 1, 2 … hops apart, until no more are
    reached.

    Every chip has a word with a bit for each source that has reached it.
    """
    reached = np.zeros(topology.chips + 1, dtype=np.uint64)
    reached[sources] = np.uint64(1) << np.arange(len(sources), dtype=np.uint64)
    pairs = len(sources) * topology.chips
    left = [pairs - int(np.bitwise_count(reached).sum())]
    while left[-1]:
        # The extra last row represents missing links: it is never reached.
        reached[:-1] |= np.bitwise_or.reduce(reached[topology.neighbours], axis=1)
        left.append(pairs - int(np.bitwise_count(reached).sum()))
        if left[-1] == left[-2]:
            return left[:-1]
    return left


def link_load(topology: SliceTopology) -> FloatArray:
    """(N, 6): ordered pairs that each directed link carries when every pair sends one unit over all its
    shortest paths evenly: the edge betweenness. 0 if there is no link.

    InvalidInput if some pairs have no path.
    """
    if is_whole(topology):
        by_dimension = shortest_path_load(topology.shape, topology.twisted)
        return np.tile(np.repeat(by_dimension, 2), (topology.chips, 1))
    sources = source_chips(topology)
    load = np.zeros(topology.neighbours.shape)
    for source in sources:
        load += _load_from(topology, int(source))
    return load if len(sources) == topology.chips else _over_cubes(topology, load)


def _load_from(topology: SliceTopology, source: int) -> FloatArray:
    """(N, 6): load of one source on each directed link (Brandes 2001), a level of hops at a time."""
    neighbours = topology.neighbours
    away = np.full(topology.chips, -1)
    away[source] = 0
    paths = np.zeros(topology.chips)
    paths[source] = 1.0
    levels: list[tuple[IntArray, IntArray, IntArray]] = []
    frontier = np.array([source])
    while len(frontier):
        chips, ways = np.nonzero(neighbours[frontier] != NO_LINK)
        chips = frontier[chips]
        far = neighbours[chips, ways]
        ahead = (away[far] < 0) | (away[far] > away[source] + len(levels))
        chips, ways, far = chips[ahead], ways[ahead], far[ahead]
        away[far] = len(levels) + 1
        np.add.at(paths, far, paths[chips])
        levels.append((chips, ways, far))
        frontier = np.unique(far)
    if (away < 0).any():
        raise InvalidInput(
            f"slice: {int((away < 0).sum())} of its chips cannot be reached from chip {source}"
        )
    load = np.zeros(neighbours.shape)
    carried = np.ones(topology.chips)
    for chips, ways, far in reversed(levels):
        flow = paths[chips] / paths[far] * carried[far]
        load[chips, ways] = flow
        np.add.at(carried, chips, flow)
    return load


def _over_cubes(topology: SliceTopology, load: FloatArray) -> FloatArray:
    """The load of all sources from that of the sources in one cube: its sum over all shifts by
    whole cubes."""
    total = np.zeros_like(load)
    for move in cube_moves(topology):
        total += load[move]
    return total
