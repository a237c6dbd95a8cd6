"""Which pairs take a free first hop, and where to: around what is gone, and away from what is crowded.

Whoever shifts to the next line before a run leaves room behind it. So all pairs, not only those whose way is
broken, may take a free hop; in rounds, ever fewer pairs change over to the way whose links are least
crowded. Of all rounds the one with the least loaded busiest link counts (Frank and Wolfe's descent, 1956,
with whole pairs in place of flows).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.geometry import DIMENSIONS, FACES, IntArray
from shared.topology.graph import NO_LINK, SliceTopology
from shared.topology.routing.lines import Lines
from shared.topology.routing.table import DIRECT, ESCAPE, HopArray

FloatArray = npt.NDArray[np.float64]
ROUNDS_MAX = 120
PAIRS_PRICED_MAX = 6_000_000
"""Pairs priced over all rounds: a table without symmetry gets fewer rounds, one of millions of pairs none."""
SQUARINGS = 5
"""A link's price goes with its load to the power 2⁵: high enough that the busiest links decide. By squaring,
which rounds alike on every machine, so that all make the same table."""
HOP_PRICE = 0.6
"""What a hop over an idle link costs, so that no hop is taken for nothing."""
BOLDNESS, CAUTION = 0.3, 3
"""In round r this share of those who want to change does: 0.3 ÷ (r + 3), ever fewer, so that they settle."""
STRIDES = (7919, 104_729, 15_485_863)
"""Primes that scatter which pairs change over in a round."""
SCATTER = 1009


@dataclass(frozen=True, eq=False, slots=True)
class Ways:
    """The dimension-ordered runs from every chip that a stored source may start from: itself, a neighbour."""

    topology: SliceTopology
    lines: Lines
    sources: IntArray
    twin: IntArray
    """(N,): the stored source that a move takes to this chip; alike chips have alike loads."""
    row: IntArray
    """(N,): the row of a start; −1 for chips that are none."""
    order: tuple[int, int, int]
    runs: IntArray
    """(3, starts, N): the run of each dimension in order, as (2·reach + 1)·chip + reach + steps."""


def ways_of(
    topology: SliceTopology, lines: Lines, sources: IntArray, moves: IntArray, order: tuple[int, int, int]
) -> Ways:
    """The runs of these sources' ways."""
    near = topology.neighbours[sources]
    starts = np.union1d(sources, near[near != NO_LINK])
    row = np.full(topology.chips, -1, dtype=np.int64)
    row[starts] = np.arange(len(starts))
    twin = np.empty(topology.chips, dtype=np.int64)
    twin[moves[:, sources]] = sources
    targets = np.arange(topology.chips)
    steps = lines.steps(starts[:, None], targets[None])
    at = np.broadcast_to(starts[:, None], steps.shape[:2])
    runs = np.empty((DIMENSIONS, len(starts), topology.chips), dtype=np.int64)
    for place, dimension in enumerate(order):
        column = lines.reach + steps[..., dimension].astype(np.int64)
        runs[place] = at * (2 * lines.reach + 1) + column
        at = lines.after[dimension, at, column]
    return Ways(topology, lines, sources, twin, row, order, runs)


def load_of(ways: Ways, first: HopArray) -> FloatArray:
    """Ways over each link, (N, 6), when every chip sends to every chip as `first` says (see RoutingTable);
    those who escape not counted."""
    chips = ways.topology.chips
    source, target = np.nonzero(first != ESCAPE)
    hop = first[source, target]
    begin = ways.sources[source]
    load = np.zeros((chips, len(FACES)))
    free = hop != DIRECT
    np.add.at(load, (begin[free], hop[free]), 1)
    begin[free] = ways.topology.neighbours[begin[free], hop[free]]
    taken = np.bincount(ways.row[begin] * chips + target, minlength=ways.runs[0].size)
    columns = 2 * ways.lines.reach + 1
    for place, dimension in enumerate(ways.order):
        runs = np.bincount(ways.runs[place].ravel(), weights=taken, minlength=chips * columns)
        _add_runs(ways.lines, dimension, runs.astype(np.float64).reshape(chips, columns), load)
    total = np.zeros_like(load)
    np.add.at(total, ways.twin, load)
    return total[ways.twin]


def _add_runs(lines: Lines, dimension: int, runs: FloatArray, load: FloatArray) -> None:
    """Add what runs (N, 2·reach + 1) along a dimension put on its links: the link after `step` steps carries
    all runs from the same chip that are longer."""
    reach = lines.reach
    for step in range(reach):
        for way, sign in ((2 * dimension, 1), (2 * dimension + 1, -1)):
            longer = runs[:, reach + step + 1 :] if sign > 0 else runs[:, : reach - step]
            carried = longer.sum(axis=1)
            there = np.flatnonzero(carried)
            np.add.at(load[:, way], lines.after[dimension, there, reach + sign * step], carried[there])


def _compare(ways: Ways, price: FloatArray, first: HopArray) -> tuple[HopArray, FloatArray, FloatArray]:
    """At a price a link (N, 6), infinite where it is gone: the first hop (S, N) of the cheapest way of every
    stored pair, ESCAPE where there is none; what it costs; and what the way by `first` costs."""
    runs = _price_of_runs(ways, price)
    lowest = runs[ways.row[ways.sources]]
    best = np.full(lowest.shape, DIRECT, dtype=np.int8)
    paid = np.where(first == DIRECT, lowest, np.inf)
    for way in range(len(FACES)):
        near = ways.topology.neighbours[ways.sources, way]
        offer = runs[ways.row[near]] + price[ways.sources, way][:, None]
        offer[near == NO_LINK] = np.inf
        paid = np.where(first == way, offer, paid)
        cheaper = offer < lowest
        best[cheaper] = way
        lowest = np.where(cheaper, offer, lowest)
    best[np.isinf(lowest)] = ESCAPE
    return best, lowest, paid


def _price_of_runs(ways: Ways, price: FloatArray) -> FloatArray:
    """What the dimension-ordered way from every start to every chip costs: (starts, N)."""
    lines, reach = ways.lines, ways.lines.reach
    total = np.zeros(ways.runs.shape[1:])
    for place, dimension in enumerate(ways.order):
        after = lines.after[dimension]
        prefix = np.zeros((ways.topology.chips, 2 * reach + 1))
        for step in range(1, reach + 1):
            for way, sign in ((2 * dimension, 1), (2 * dimension + 1, -1)):
                last = after[:, reach + sign * (step - 1)]
                prefix[:, reach + sign * step] = prefix[:, reach + sign * (step - 1)] + price[last, way]
        total += prefix.ravel()[ways.runs[place]]
    return total


def spread(ways: Ways, missing: npt.NDArray[np.bool_]) -> HopArray:
    """First hops (S, N) that avoid every missing link and keep the busiest link's load low."""
    gone = np.where(missing, np.inf, 0.0)
    direct = np.full((len(ways.sources), ways.topology.chips), DIRECT, dtype=np.int8)
    detour, _, paid = _compare(ways, 1.0 + gone, direct)
    first = best = np.where(np.isinf(paid), detour, direct)
    load = load_of(ways, first)
    least = load.max()
    pair = np.arange(first.size).reshape(first.shape)
    for turn in range(min(ROUNDS_MAX, PAIRS_PRICED_MAX // first.size)):
        wanted, lowest, paid = _compare(ways, _crowding(load) + HOP_PRICE + gone, first)
        drawn = (pair * STRIDES[0] + turn * STRIDES[1]) * STRIDES[2] % SCATTER
        changes = (lowest < paid) & (drawn * (turn + CAUTION) < BOLDNESS * SCATTER)
        first = np.where(changes, wanted, first)
        load = load_of(ways, first)
        if load.max() < least:
            best, least = first, load.max()
    return best


def _crowding(load: FloatArray) -> FloatArray:
    """How crowded each link is, 1 for the busiest."""
    crowding: FloatArray = load / load.max()
    for _ in range(SQUARINGS):
        crowding = crowding * crowding
    return crowding
