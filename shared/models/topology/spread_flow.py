"""Bounds of the concurrent flow for large slices, without a linear program: random paths with smooth prices.

From every source packets go only to chips farther away than the last, under some lengths of the links, so
there are no cycles. Of all such paths to a chip one is taken with a probability proportional to e^(−its
price), the sum of x ≥ 0 over its links (Dial 1971). With Z the sum of these terms over the paths of a pair,
D(x) = Σ over pairs of −ln Z is concave and its gradient is the load of every kind of link. At the maximum of

    D(x) − (1 + aim)/u · Σ c·x,   x ≥ 0,   u the upper bound,

no kind of link carries more than (1 + aim)/u: a routing at rate u/(1 + aim). If there is no maximum, x grows
without limit, in a direction in which lengths with a lower upper bound are searched (after Farkas' lemma).
Correctness does not depend on convergence: every x gives a routing, all lengths an upper bound.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from shared.models.superpod.wiring import IntArray
from shared.models.topology.flow_program import FlowProgram
from shared.models.topology.lattice import FloatArray

FIRST_AIM = 0.01
CLOSER = 0.25
"""Factor of the next aim after one is met."""
MET = 0.05
"""An aim is met when the bounds are within this share of it."""
STEPS = 60
"""Evaluations for one aim."""
FUTILE_MAX = 3
"""Consecutive searches that may improve neither bound."""
WORK_MAX = 8e7
"""Links of all sources times evaluations: limit for one slice, some two seconds."""
EXPONENT_MAX = 600.0
"""e to plus or minus this is still a number."""
REACHES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Distances along a direction of prices at which better lengths are searched."""
AWAY_MIN = 1e-12
"""Relative to the longest distance: chips with smaller differences are equally far away."""


class Descent:
    """All paths of every source that only lead away from it under these lengths (K,).

    Nodes are numbered source · chips + chip; a link of a source's paths joins two of them. Links are sorted
    by the level of their heads, the maximum number of hops to them, so one level at a time is summed.
    """

    def __init__(self, program: FlowProgram, lengths: FloatArray) -> None:
        _, distance = program.distances(lengths)
        least = AWAY_MIN * float(distance.max())
        source, link = np.nonzero(distance[:, program.heads] - distance[:, program.tails] > least)
        self.program, self.size = program, distance.size
        self.roots = np.arange(len(program.sources)) * program.chips + program.sources
        self.weights = np.repeat(program.weights, program.chips).astype(np.float64)
        first = source * program.chips
        tails, heads = first + program.tails[link], first + program.heads[link]
        level = _levels(tails, heads, self.roots, self.size)
        self.depth = int(level.max())
        order = np.lexsort((heads, level[heads]))
        self.kinds = program.links[link][order]
        self.runs = _runs(level[heads[order]], tails[order], heads[order])

    def spread(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """(D, (K,) load of all links of a kind) with random paths by these prices (K,)."""
        flow = np.exp(-prices)[self.kinds]
        paths = np.zeros(self.size)
        paths[self.roots] = 1.0
        for run in self.runs:
            part = flow[run.links]
            part *= paths[run.tails]
            into = np.add.reduceat(part, run.starts)
            paths[run.nodes] = into
            part /= np.repeat(into, run.counts)
        carried = self.weights.copy()
        for run in reversed(self.runs):
            part = flow[run.links]
            part *= np.repeat(carried[run.nodes], run.counts)
            carried[run.left] += np.bincount(run.places, weights=part)
        loads = np.bincount(self.kinds, weights=flow, minlength=self.program.kinds).astype(np.float64)
        # A short product: for long ones BLAS wakes threads, which costs more than the product.
        by_source = np.log(paths).reshape(-1, self.program.chips).sum(axis=1)
        return -float(self.program.weights @ by_source), loads


@dataclass(frozen=True, slots=True)
class _Run:
    """The links into one level, sorted by head.

    Their tails, the heads (`nodes`), the start and number of each head's links, the distinct tails (`left`),
    and the place of every link's tail in these.
    """

    links: slice
    tails: IntArray
    nodes: IntArray
    starts: IntArray
    counts: IntArray
    left: IntArray
    places: IntArray


def _levels(tails: IntArray, heads: IntArray, roots: IntArray, size: int) -> IntArray:
    """(size,) the maximum number of hops from a root to each node of an acyclic graph."""
    onward = csr_array((np.ones(len(tails), dtype=np.int64), (tails, heads)), shape=(size, size))
    waiting: IntArray = np.bincount(heads, minlength=size)
    level = np.zeros(size, dtype=np.int64)
    front, depth = roots, 0
    while len(front):
        level[front] = depth
        ends = np.zeros(size, dtype=np.int64)
        ends[front] = 1
        arrived = np.asarray(ends @ onward)
        waiting -= arrived
        front, depth = np.flatnonzero((arrived > 0) & (waiting == 0)), depth + 1
    return level


def _changes(values: IntArray) -> IntArray:
    """Start of each value in a sorted array."""
    return np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))


def _runs(level: IntArray, tails: IntArray, heads: IntArray) -> list[_Run]:
    bounds = [*_changes(level).tolist(), len(level)]
    runs = []
    for begin, end in pairwise(bounds):
        here = slice(begin, end)
        starts = _changes(heads[here])
        left, places = np.unique(tails[here], return_inverse=True)
        counts = np.diff(starts, append=end - begin)
        runs.append(_Run(here, tails[here], heads[here][starts], starts, counts, left, places))
    return runs


class _AimMet(Exception):
    """The search has reached its aim."""


class SpreadFlow:
    """The search for both bounds, from lengths (K,) of the upper one, which must be positive."""

    def __init__(self, program: FlowProgram, lengths: FloatArray, lower: float, upper: float) -> None:
        self.program, self.lower, self.upper = program, lower, upper
        self.counts = program.counts.astype(np.float64)
        self.lengths = lengths / float(lengths.max())
        self.descent = Descent(program, self.lengths)
        self.prices: FloatArray = np.zeros(program.kinds)
        self.work = 0.0

    def gap(self) -> float:
        return 1.0 - self.lower / self.upper

    def close(self, gap_max: float) -> None:
        """Narrows the bounds until they are within a relative gap, or WORK_MAX is used up."""
        aim, futile = FIRST_AIM, 0
        while self.gap() > gap_max and self.work < WORK_MAX and futile < FUTILE_MAX:
            before = self.gap()
            if self._meet(aim):
                aim *= CLOSER
            elif not self._shorten():
                aim = (aim + self.gap()) / 2
            futile = 0 if self.gap() < (1.0 - MET) * before else futile + 1

    def _meet(self, aim: float) -> bool:
        """Whether a routing within the aim was found; the prices are kept either way."""
        wanted = (1.0 + aim) / self.upper
        scale = self.upper / float(self.counts.sum())
        met = self.upper / (1.0 + aim) * (1.0 - MET * aim)
        tried = self.prices

        def falling(prices: FloatArray) -> tuple[float, FloatArray]:
            nonlocal tried
            tried = prices.copy()
            value, loads = self.descent.spread(prices)
            self.work += len(self.descent.kinds)
            self.lower = max(self.lower, 1.0 / float((loads / self.counts).max()))
            if self.lower >= met:
                raise _AimMet
            return scale * (wanted * float(self.counts @ prices) - value), scale * (
                wanted * self.counts - loads
            )

        bounds = [(0.0, EXPONENT_MAX / self.descent.depth)] * self.program.kinds
        try:
            found = minimize(
                falling,
                self.prices,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": STEPS, "maxfun": STEPS, "ftol": 1e-16, "gtol": 1e-12},
            )
        except _AimMet:
            self.prices = tried
            return True
        self.prices = np.asarray(found.x, dtype=np.float64)
        return False

    def _shorten(self) -> bool:
        """Whether lengths in the direction of the prices have a lower upper bound; paths then follow them."""
        most = float(self.prices.max())
        if most <= 0.0:
            return False
        options = [self.lengths + reach * self.prices / most for reach in REACHES]
        uppers = [self.program.upper_bound(lengths) for lengths in options]
        best = int(np.argmin(uppers))
        if uppers[best] >= self.upper * (1.0 - 1e-7):
            return False
        self.upper, self.lengths = uppers[best], options[best]
        self.descent = Descent(self.program, self.lengths)
        kept = self.lengths * (most / REACHES[best])
        self.prices = np.minimum(kept, EXPONENT_MAX / self.descent.depth)
        return True
