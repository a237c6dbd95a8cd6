"""Choice of free hops for all pairs: around missing links and away from busy ones.

A pair that moves to the next line before a run makes room behind it. So all pairs may take a free hop, not
only those with a broken way. In each round a decreasing share of the pairs changes to the way with the least
busy links. The round with the lowest maximum load is used (Frank and Wolfe's descent, 1956, with whole pairs
instead of flows).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.models.superpod.wiring import DIMENSIONS, FACES, IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.routing.straight_runs import StraightRuns
from shared.models.topology.routing.table import DIRECT, ESCAPE, FreeHops, direct_hops

FloatArray = npt.NDArray[np.float64]
ROUNDS_MAX = 120
PAIRS_PRICED_MAX = 6_000_000
"""Pairs priced over all rounds: a table without symmetry gets fewer rounds, one with millions of
pairs none."""
SQUARINGS = 5
"""A link's price is its load to the power 2⁵, so the busiest links dominate. Squaring rounds identically on
every machine, so all make the same table."""
HOP_PRICE = 0.6
"""Price of a hop over an idle link, so that no hop is taken without a gain."""
BOLDNESS, CAUTION = 0.3, 3
"""Share of the willing pairs that change in round r: 0.3 ÷ (r + 3), decreasing, so that the
choice converges."""
STRIDES = (7919, 104_729, 15_485_863)
"""Primes that spread the pairs that change in a round."""
SCATTER = 1009


@dataclass(frozen=True, eq=False, slots=True)
class Ways:
    """The dimension-ordered runs from every start of a stored source: the source itself or a neighbour."""

    topology: SliceTopology
    lines: StraightRuns
    sources: IntArray
    twin: IntArray
    """(N,): the stored source that a move takes to this chip; equivalent chips have equal loads."""
    row: IntArray
    """(N,): the row of a start; −1 for other chips."""
    order: tuple[int, int, int]
    runs: IntArray
    """(3, starts, N): the run of each dimension in order, as (2·reach + 1)·chip + reach + steps."""


def ways_of(
    topology: SliceTopology,
    lines: StraightRuns,
    sources: IntArray,
    moves: IntArray,
    order: tuple[int, int, int],
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


def load_of(ways: Ways, hops: FreeHops) -> FloatArray:
    """Ways over each link, (N, 6), if every chip sends to every chip with these free hops, without escaping
    pairs."""
    chips = ways.topology.chips
    source, target = np.nonzero(hops.first != ESCAPE)
    begin, stop = ways.sources[source], target.copy()
    load = np.zeros((chips, len(FACES)))
    first, last = hops.first[source, target], hops.last[source, target]
    free = first != DIRECT
    np.add.at(load, (begin[free], first[free]), 1)
    begin[free] = ways.topology.neighbours[begin[free], first[free]]
    free = last != DIRECT
    stop[free] = ways.topology.neighbours[stop[free], last[free] ^ 1]
    np.add.at(load, (stop[free], last[free]), 1)
    taken = np.bincount(ways.row[begin] * chips + stop, minlength=ways.runs[0].size)
    columns = 2 * ways.lines.reach + 1
    for place, dimension in enumerate(ways.order):
        runs = np.bincount(ways.runs[place].ravel(), weights=taken, minlength=chips * columns)
        _add_runs(ways.lines, dimension, runs.astype(np.float64).reshape(chips, columns), load)
    total = np.zeros_like(load)
    np.add.at(total, ways.twin, load)
    return total[ways.twin]


def _add_runs(lines: StraightRuns, dimension: int, runs: FloatArray, load: FloatArray) -> None:
    """Adds the load of runs (N, 2·reach + 1) along a dimension to its links.

    The link after `step` steps carries all longer runs from the same chip.
    """
    reach = lines.reach
    for step in range(reach):
        for way, sign in ((2 * dimension, 1), (2 * dimension + 1, -1)):
            longer = runs[:, reach + step + 1 :] if sign > 0 else runs[:, : reach - step]
            carried = longer.sum(axis=1)
            there = np.flatnonzero(carried)
            np.add.at(load[:, way], lines.after[dimension, there, reach + sign * step], carried[there])


def _cheapest(
    ways: Ways, runs: FloatArray, price: FloatArray, may_end_free: bool
) -> tuple[FreeHops, FloatArray]:
    """The free hops of the cheapest way of every stored pair by link prices, ESCAPE if it has none, and its
    price, (S, N)."""
    neighbours = ways.topology.neighbours
    by_stop = runs.copy()
    last = np.full(runs.shape, DIRECT, dtype=np.int8)
    for way in range(len(FACES)) if may_end_free else ():
        stop = neighbours[:, way ^ 1]
        offer = np.where(stop == NO_LINK, np.inf, runs[:, stop] + price[stop, way])
        last[offer < by_stop] = way
        np.minimum(by_stop, offer, out=by_stop)
    row = ways.row[ways.sources]
    lowest, first, ends = by_stop[row], np.full((len(row), runs.shape[1]), DIRECT, dtype=np.int8), last[row]
    for way in range(len(FACES)):
        near = neighbours[ways.sources, way]
        offer = by_stop[ways.row[near]] + price[ways.sources, way][:, None]
        offer[near == NO_LINK] = np.inf
        cheaper = offer < lowest
        first[cheaper] = way
        ends[cheaper] = last[ways.row[near]][cheaper]
        np.minimum(lowest, offer, out=lowest)
    first[np.isinf(lowest)] = ESCAPE
    return FreeHops(first, ends), lowest


def _paid(ways: Ways, runs: FloatArray, price: FloatArray, hops: FreeHops) -> FloatArray:
    """Prices of the ways with these free hops, (S, N): infinite over a missing link and on the tree."""
    neighbours, source = ways.topology.neighbours, ways.sources[:, None]
    starts_free, ends_free = (hops.first != DIRECT) & (hops.first != ESCAPE), hops.last != DIRECT
    first, last = np.where(starts_free, hops.first, 0), np.where(ends_free, hops.last, 0)
    begin = np.where(starts_free, neighbours[source, first], source)
    target = np.arange(ways.topology.chips)
    stop = np.where(ends_free, neighbours[target, last ^ 1], target)
    # Summed in the order of `_cheapest`, so equal ways cost the same to the last digit.
    paid = runs[ways.row[begin], stop] + np.where(ends_free, price[stop, last], 0.0)
    paid += np.where(starts_free, price[source, first], 0.0)
    return np.where(hops.first == ESCAPE, np.inf, paid)


def _price_of_runs(ways: Ways, price: FloatArray) -> FloatArray:
    """Price of the dimension-ordered way from every start to every chip: (starts, N)."""
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


def spread(ways: Ways, missing: npt.NDArray[np.bool_]) -> FreeHops:
    """Free hops that avoid every missing link and keep the load of the busiest link low.

    Free last hops cost another virtual channel, so they are used only if a pair would escape without them.
    """
    gone = np.where(missing, np.inf, 0.0)
    price = 1.0 + gone
    runs = _price_of_runs(ways, price)
    direct = direct_hops(len(ways.sources), ways.topology.chips)
    detour, _ = _cheapest(ways, runs, price, may_end_free=False)
    may_end_free = bool((detour.first == ESCAPE).any())
    if may_end_free:
        detour, _ = _cheapest(ways, runs, price, may_end_free)
    hops = best = _where(np.isinf(_paid(ways, runs, price, direct)), detour, direct)
    load = load_of(ways, hops)
    least = load.max()
    pair = np.arange(hops.first.size).reshape(hops.first.shape)
    for turn in range(min(ROUNDS_MAX, PAIRS_PRICED_MAX // hops.first.size)):
        price = _crowding(load) + HOP_PRICE + gone
        runs = _price_of_runs(ways, price)
        wanted, lowest = _cheapest(ways, runs, price, may_end_free)
        drawn = (pair * STRIDES[0] + turn * STRIDES[1]) * STRIDES[2] % SCATTER
        gains = lowest < _paid(ways, runs, price, hops)
        hops = _where(gains & (drawn * (turn + CAUTION) < BOLDNESS * SCATTER), wanted, hops)
        load = load_of(ways, hops)
        if load.max() < least:
            best, least = hops, load.max()
    return best


def _where(chosen: npt.NDArray[np.bool_], hops: FreeHops, others: FreeHops) -> FreeHops:
    return FreeHops(*(np.where(chosen, one, other) for one, other in zip(hops, others, strict=True)))


def _crowding(load: FloatArray) -> FloatArray:
    """Load of each link relative to the busiest."""
    crowding: FloatArray = load / load.max()
    for _ in range(SQUARINGS):
        crowding = crowding * crowding
    return crowding
