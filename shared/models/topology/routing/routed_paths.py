"""Ways hop by hop from a routing table: links with their virtual channels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.models.superpod.wiring import FACES, IntArray
from shared.models.topology.graph import NO_LINK
from shared.models.topology.routing.escape_tree import escape_hops
from shared.models.topology.routing.table import DIRECT, ESCAPE, FREE_CHANNEL, LAST_CHANNEL, RoutingTable

PAIRS_AT_ONCE_MAX = 1 << 17
"""Pairs expanded at a time: the ways of a large slice would not fit into memory together."""


@dataclass(frozen=True, eq=False, slots=True)
class Paths:
    """The ways of some ordered pairs of chips, from any source."""

    sources: IntArray
    """(P,)"""
    targets: IntArray
    """(P,)"""
    links: npt.NDArray[np.int32]
    """(H, P): the h-th link of each way, 6·chip + direction (as in FACES); −1 after its end."""
    channels: npt.NDArray[np.int8]
    """(H, P): the virtual channel on that link."""


def paths_of(table: RoutingTable) -> Iterator[Paths]:
    """The ways of every ordered pair of different chips, some sources at a time."""
    chips = table.topology.chips
    rows = max(1, PAIRS_AT_ONCE_MAX // chips)
    for move in table.moves:
        for start in range(0, len(table.sources), rows):
            row, target = np.divmod(np.arange(min(rows, len(table.sources) - start) * chips), chips)
            different = table.sources[row + start] != target
            yield _unfold(table, move, row[different] + start, target[different])


def _unfold(table: RoutingTable, move: IntArray, rows: IntArray, stored: IntArray) -> Paths:
    """Ways of stored sources (rows of the table) and targets, after a move."""
    first, last, origin = table.first[rows, stored], table.last[rows, stored], table.sources[rows]
    neighbours = table.topology.neighbours
    sources, targets = move[origin], move[stored]
    escaping = np.flatnonzero(first == ESCAPE)
    free = np.flatnonzero((first != DIRECT) & (first != ESCAPE))
    ending = np.flatnonzero(last != DIRECT)
    begin, stop = sources.copy(), targets.copy()
    begin[free] = neighbours[sources[free], first[free]]
    stop[ending] = neighbours[targets[ending], last[ending] ^ 1]
    steps = table.lines.steps(begin, stop).astype(np.int64)
    steps[escaping] = 0
    count = np.abs(steps).sum(axis=1)
    count[free] += 1
    count[ending] += 1
    flights = _flights(table, sources[escaping], targets[escaping])
    hops = max(int(count.max(initial=0)), len(flights))
    links = np.full((hops, len(rows)), NO_LINK, dtype=np.int32)
    channels = np.zeros((hops, len(rows)), dtype=np.int8)
    links[:1, free] = len(FACES) * sources[free] + first[free]
    channels[:1, free] = FREE_CHANNEL
    done = np.zeros(len(rows), dtype=np.int64)
    done[free] = 1
    for dimension in table.order:
        begin = _run(table, dimension, begin, steps[:, dimension], done, links, channels)
    links[done[ending], ending] = len(FACES) * stop[ending] + last[ending]
    channels[done[ending], ending] = LAST_CHANNEL
    links[: len(flights), escaping] = flights
    channels[: len(flights), escaping] = FREE_CHANNEL
    return Paths(sources, targets, links, channels)


def _run(
    table: RoutingTable,
    dimension: int,
    begin: IntArray,
    steps: IntArray,
    done: IntArray,
    links: npt.NDArray[np.int32],
    channels: npt.NDArray[np.int8],
) -> IntArray:
    """Appends the run along one dimension to each way and counts its hops in `done`; returns the ends of the
    runs."""
    going: IntArray = np.flatnonzero(steps)
    at, left, hop = begin[going], np.abs(steps[going]), done[going]
    way = 2 * dimension + (steps[going] < 0)
    channel: npt.NDArray[np.int8] = np.zeros(len(going), dtype=np.int8)
    while going.size:
        links[hop, going] = len(FACES) * at + way
        channels[hop, going] = channel
        channel |= table.lines.dateline[at, way]
        at = table.lines.healthy.neighbours[at, way]
        more = left > 1
        going, at, way, channel = going[more], at[more], way[more], channel[more]
        left, hop = left[more] - 1, hop[more] + 1
    done += np.abs(steps)
    end: IntArray = table.lines.after[dimension, begin, table.lines.reach + steps]
    return end


def _flights(table: RoutingTable, sources: IntArray, targets: IntArray) -> IntArray:
    """The ways of escaping pairs: (hops, ways)."""
    if table.escape is None:
        return np.empty((0, len(sources)), dtype=np.int64)
    return escape_hops(table.escape, table.topology, sources, targets)
