"""Maximum concurrent flow: the highest rate at which all pairs of a slice can send at once, by cutting
planes.

Every ordered pair of N chips sends at rate r, split over any paths; no directed link carries more than 1. By
duality of linear programs (Shahrokhi and Matula 1990), with c the number of links of each kind,

    1/r = max over lengths l ≥ 0 with Σ c·l = 1 of Σ over pairs of the distance under l.

By symmetry all links of a kind can have one length. Each choice of lengths gives an upper bound of r. Routing
every pair along shortest paths loads the links, and the best mixture of the routings seen so far is itself a
routing: a lower bound. A small linear program finds mixture and next lengths at once, until both bounds meet.
If many kinds of chips make the program large, routings with prices on the links bring the bounds together.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from shared.models.superpod.wiring import CHIPS_PER_CUBE, IntArray
from shared.models.topology.flow_program import FlowProgram
from shared.models.topology.graph import SliceTopology
from shared.models.topology.lattice import FloatArray
from shared.models.topology.spread_flow import SpreadFlow

GAP_MAX = 1e-6
"""Relative gap below which the bounds count as equal."""
ROUNDS_MAX = 40
ROUTINGS_MAX = 500
"""Total of all sources if there are several cubes: with more, the linear programs take long and gain little.
Those of one cube end soon."""
IDLE_MAX = 6
INWARD = 0.5
"""Step of each trial from the program's lengths towards the best known ones: cutting planes alone
oscillate."""


@dataclass(frozen=True, slots=True)
class FlowBounds:
    """Proven bounds of the rate r at which every ordered pair can send at once; a link carries 1 each way."""

    lower: float
    upper: float


def concurrent_flow(topology: SliceTopology) -> FlowBounds:
    """Bounds of the maximum concurrent flow of a connected slice of two chips or more.

    They meet within GAP_MAX unless that takes too long (ROUNDS_MAX and `spread_flow`).
    """
    program = FlowProgram(topology)
    routings = _Routings(program)
    best = np.ones(program.kinds)
    lower, upper = 0.0, np.inf

    def try_out(lengths: FloatArray) -> bool:
        nonlocal best, upper
        demand, uses = program.route(lengths)
        routings.add(uses)
        if 1.0 / demand >= upper:
            return False
        best, upper = lengths / float(lengths @ program.counts), 1.0 / demand
        return True

    for lengths in (best, *program.planes):
        try_out(lengths)
    most = ROUTINGS_MAX if topology.chips > CHIPS_PER_CUBE else np.inf
    for _ in range(ROUNDS_MAX):
        lengths, fullest = routings.mix()
        lower = max(lower, 1.0 / fullest)
        if upper - lower <= GAP_MAX * upper or len(routings.uses) > most:
            break
        if not try_out(INWARD * lengths + (1.0 - INWARD) * best):
            try_out(lengths)
    if upper - lower > GAP_MAX * upper:
        spread = SpreadFlow(program, best, lower, upper)
        spread.close(GAP_MAX)
        lower, upper = spread.lower, spread.upper
    return FlowBounds(min(lower, upper), upper)


class _Routings:
    """The routings of every source so far, and their best mixture."""

    def __init__(self, program: FlowProgram) -> None:
        self.counts = program.counts
        self.all_sources = np.arange(len(program.sources))
        self.uses: FloatArray = np.empty((0, program.kinds))
        self.sources: IntArray = np.empty(0, dtype=np.int64)
        self.idle: IntArray = np.empty(0, dtype=np.int64)

    def add(self, uses: FloatArray) -> None:
        """Adds a routing of each source, (sources, kinds)."""
        self.uses = np.concatenate([self.uses, uses])
        self.sources = np.concatenate([self.sources, self.all_sources])
        self.idle = np.concatenate([self.idle, np.zeros_like(self.all_sources)])

    def mix(self) -> tuple[FloatArray, float]:
        """(lengths under which the cheapest routings of all sources are most expensive, load of the fullest
        kind of link in the best mixture): a linear program and its dual, so one value.

        Each source mixes its own routings. A routing that was in none of the last IDLE_MAX mixtures is
        dropped.
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
