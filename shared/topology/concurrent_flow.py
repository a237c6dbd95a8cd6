"""The most that all pairs can send at once on any slice: the maximum concurrent flow, by cutting planes.

Every ordered pair of N chips sends at rate r, split over any paths; no directed link carries more than 1. By
duality of linear programs (Shahrokhi and Matula 1990), with c the number of links of each kind,

    1/r = max over lengths l ≥ 0 with Σ c·l = 1 of Σ over pairs of the distance under l.

Symmetry lets all links of a kind have one length. Each choice of lengths gives an upper bound of r; routing
every pair along shortest paths loads the links, and the best mixture of the routings seen so far is itself a
routing: a lower bound. A small linear program finds mixture and next lengths at once, until both bounds meet.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from shared.geometry import DIMENSIONS, IntArray
from shared.topology.graph import COPPER, NO_LINK, SliceTopology
from shared.topology.lattice import FloatArray
from shared.topology.symmetry import Symmetry, symmetry_of

GAP_MAX = 1e-6
"""Relative distance of the bounds at which they count as one."""
ROUNDS_MAX = 40
IDLE_MAX = 6
INWARD = 0.5
"""How far each trial goes from the program's lengths towards the best known: cutting planes alone swing."""
LENGTH_MIN = 1e-7
"""Least length of a link, relative to the longest: a path along links of no length could run in circles."""
TIE = 1e-10
"""Paths whose lengths differ by less, relative to the longest distance, are equally short."""


@dataclass(frozen=True, slots=True)
class FlowBounds:
    """Proven bounds of the rate r at which every ordered pair can send at once; a link carries 1 each way."""

    lower: float
    upper: float


def concurrent_flow(topology: SliceTopology) -> FlowBounds:
    """Bounds of the maximum concurrent flow of a connected slice of two chips or more.

    They meet within GAP_MAX unless ROUNDS_MAX rounds were not enough.
    """
    program = _Program(topology)
    routings = _Routings(program)
    best = np.ones(program.kinds)
    lower, upper = 0.0, np.inf

    def tried(lengths: FloatArray) -> bool:
        nonlocal best, upper
        demand, uses = program.route(lengths)
        routings.add(uses)
        if 1.0 / demand >= upper:
            return False
        best, upper = lengths / float(lengths @ program.counts), 1.0 / demand
        return True

    for lengths in (best, *program.planes):
        tried(lengths)
    for _ in range(ROUNDS_MAX):
        lengths, fullest = routings.mix()
        lower = max(lower, 1.0 / fullest)
        if upper - lower <= GAP_MAX * upper:
            break
        if not tried(INWARD * lengths + (1.0 - INWARD) * best):
            tried(lengths)
    return FlowBounds(min(lower, upper), upper)


class _Program:
    """The slice's links by kind, and the two questions that the bounds come from."""

    def __init__(self, topology: SliceTopology) -> None:
        symmetry: Symmetry = symmetry_of(topology)
        self.chips = topology.chips
        self.sources = symmetry.sources
        self.weights = symmetry.weights
        self.tails, ways = np.nonzero(topology.neighbours != NO_LINK)
        self.heads: IntArray = topology.neighbours[self.tails, ways]
        self.links: IntArray = symmetry.links[self.tails, ways]
        self.kinds = int(self.links.max()) + 1
        self.counts: IntArray = np.bincount(self.links)
        self.starts: IntArray = np.searchsorted(self.tails, np.arange(self.chips + 1))
        dimensions = np.where(topology.ocs[self.tails, ways] == COPPER, -1, ways // 2)
        planes = [self._only(dimensions == dimension) for dimension in range(DIMENSIONS)]
        self.planes = [lengths for lengths in planes if lengths.any()]

    def _only(self, links: npt.NDArray[np.bool_]) -> FloatArray:
        """Lengths of 1 for the kinds of these links, 0 for the others: the bound that cutting them gives."""
        return (np.bincount(self.links[links], minlength=self.kinds) > 0).astype(np.float64)

    def route(self, lengths: FloatArray) -> tuple[float, FloatArray]:
        """(Σ over pairs of the distance, (sources, kinds) uses of links on shortest paths by kind of source).

        Lengths of 0 are raised a little, relative to the others, so that no path runs in circles; the sum is
        given for the lengths as raised and scaled back to Σ c·l = 1, which keeps it a bound.
        """
        raised = np.maximum(lengths, float(lengths.max()) * LENGTH_MIN)
        raised /= float(raised @ self.counts)
        along = raised[self.links]
        graph = csr_array((along, self.heads, self.starts), shape=(self.chips, self.chips))
        distance: FloatArray = dijkstra(graph, indices=self.sources)
        demand = float(self.weights @ distance.sum(axis=1))
        tolerance = TIE * float(distance.max())
        uses = [
            weight * self._uses(away, along, tolerance)
            for away, weight in zip(distance, self.weights, strict=True)
        ]
        return demand, np.array(uses)

    def _uses(self, away: FloatArray, along: FloatArray, tolerance: float) -> FloatArray:
        """(kinds,) link uses by one source that reaches every chip over shortest paths, each chip splitting
        evenly over the last links of its shortest paths."""
        tight = np.flatnonzero(np.abs(away[self.tails] + along - away[self.heads]) <= tolerance)
        tails, heads = self.tails[tight], self.heads[tight]
        share = 1.0 / np.bincount(heads, minlength=self.chips)[heads]
        back = csr_array((share, (tails, heads)), shape=(self.chips, self.chips))
        carried = np.ones(self.chips)
        wave = np.ones(self.chips)
        while wave.any():
            wave = np.asarray(back @ wave, dtype=np.float64)
            carried += wave
        uses = np.bincount(self.links[tight], weights=share * carried[heads], minlength=self.kinds)
        return uses.astype(np.float64)


class _Routings:
    """The routings of every source seen so far, and the best mixture of them."""

    def __init__(self, program: _Program) -> None:
        self.counts = program.counts
        self.all_sources = np.arange(len(program.sources))
        self.uses: FloatArray = np.empty((0, program.kinds))
        self.sources: IntArray = np.empty(0, dtype=np.int64)
        self.idle: IntArray = np.empty(0, dtype=np.int64)

    def add(self, uses: FloatArray) -> None:
        """One more routing of each source, (sources, kinds)."""
        self.uses = np.concatenate([self.uses, uses])
        self.sources = np.concatenate([self.sources, self.all_sources])
        self.idle = np.concatenate([self.idle, np.zeros_like(self.all_sources)])

    def mix(self) -> tuple[FloatArray, float]:
        """(lengths under which the cheapest routings of all sources are dearest, the load of the fullest kind
        of link in the best mixture): a linear program and its dual, so one value.

        Each source mixes its own routings. One that had no part in IDLE_MAX mixtures is forgotten.
        """
        kinds, sources = len(self.counts), len(self.all_sources)
        answer = linprog(
            np.concatenate([np.zeros(kinds), -np.ones(sources)]),
            A_ub=np.hstack([-self.uses, np.eye(sources)[self.sources]]),
            b_ub=np.zeros(len(self.uses)),
            A_eq=np.concatenate([self.counts, np.zeros(sources)])[None],
            b_eq=np.ones(1),
            method="highs-ds",
        )
        share = np.maximum(-np.asarray(answer.ineqlin.marginals, dtype=np.float64), 0.0)
        share /= np.bincount(self.sources, weights=share)[self.sources]
        fullest = float((share @ self.uses / self.counts).max())
        self.idle = np.where(share > 0.0, 0, self.idle + 1)
        kept = self.idle < IDLE_MAX
        self.uses, self.sources, self.idle = self.uses[kept], self.sources[kept], self.idle[kept]
        return np.asarray(answer.x, dtype=np.float64)[:kinds], fullest
