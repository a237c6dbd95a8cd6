"""Exact split of demand over direct and one-transit paths by linear programs (HiGHS), the reference for the
fast method of `shared.models.dcn.routing.weights`.

The first program minimises the largest use of a trunk; the second minimises transit traffic at that use.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from shared.basics.errors import InvalidInput, OperationFailed
from shared.models.dcn.routing.path_loads import path_capacity
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

SLACK = 1e-7
"""Relative excess over the least use allowed in the second program, because solvers are exact only to about
this."""
USE_COUNTS = 1_000.0
"""Weight of the largest use relative to the share of transit, if one program minimises both."""

SolverMethod = Literal["highs", "highs-ds", "highs-ipm"]
"""HiGHS's own choice, its dual simplex or its interior point method. If several splits are optimal, they may
find different ones."""


@dataclass(frozen=True, eq=False, slots=True)
class ExactSplit:
    """`use`: the least largest use. `share` (B, B, B): of all splits with that use, the one with the least
    transit."""

    use: float
    share: FloatArray


def exact_split(carries: FloatArray, demand: IntArray, background: FloatArray | None = None) -> ExactSplit:
    """The optimum for trunks (B, B) in Mb/s and a demand (B, B); every demand must have a path.

    `background` (B, B) is existing load.
    """
    program = _Program(carries, demand, background)
    least = float(program.solve(0.0, 1.0)[-1])
    return ExactSplit(least, program.shares(program.solve(1.0, 0.0, use_max=least * (1.0 + SLACK))))


def least_transit(carries: FloatArray, demand: IntArray, use: float) -> FloatArray:
    """(B, B, B) shares with the least transit such that no trunk exceeds `use`; OperationFailed if there are
    none."""
    program = _Program(carries, demand)
    return program.shares(program.solve(1.0, 0.0, use_max=use))


def capped_split(
    carries: FloatArray, demand: IntArray, spread: float, method: SolverMethod = "highs-ds"
) -> ExactSplit:
    """The optimum if a path of capacity C_p may take at most D·C_p ÷ (spread·ΣC) of a demand D, the sum over
    all its paths.

    Demand is then spread over many paths, which limits the harm if it grows anywhere. `spread` 1 is by
    capacity alone; near 0 no path is limited (InvalidInput outside). One program minimises use and transit
    together: the use is at most 1 ÷ USE_COUNTS above the least.
    """
    if not 0.0 < spread <= 1.0:
        raise InvalidInput(f"spread: {spread} is not allowed; must be above 0 and at most 1")
    program = _Program(carries, demand)
    found = program.solve(1.0, USE_COUNTS, share_max=program.parts / spread, method=method)
    return ExactSplit(float(found[-1]), program.shares(found))


class _Program:
    """All paths (P) of all demands (N).

    The variables are the flow over every path and, last, the largest use; flows are in units of the largest
    demand.
    """

    def __init__(self, carries: FloatArray, demand: IntArray, background: FloatArray | None = None) -> None:
        self.blocks = blocks = len(carries)
        wanted = demand > 0
        capacity = path_capacity(carries)
        self.tails, self.heads, self.over = tails, heads, over = np.nonzero(
            (capacity > 0.0) & wanted[:, :, None]
        )
        self.parts: FloatArray = capacity[tails, heads, over] / capacity.sum(axis=2)[tails, heads]
        """(P,) of the capacity of all paths of the same demand."""
        self.transit = over != heads
        paths, columns = len(tails), np.arange(len(tails))
        scale = float(demand.max())
        self.given = demand[wanted] / scale
        self.demand_of = (np.cumsum(wanted.reshape(-1)).reshape(blocks, blocks) - 1)[tails, heads]
        sums = coo_array((np.ones(paths), (self.demand_of, columns)), shape=(len(self.given), paths + 1))
        trunks = np.flatnonzero(carries.reshape(-1) > 0.0)
        row = np.zeros(blocks * blocks, dtype=np.int64)
        row[trunks] = np.arange(len(trunks))
        links = np.concatenate(
            [row[tails * blocks + over], row[(over * blocks + heads)[self.transit]], np.arange(len(trunks))]
        )
        ends = np.concatenate([columns, columns[self.transit], np.full(len(trunks), paths)])
        flows = np.ones(len(links) - len(trunks))
        values = np.concatenate([flows, -carries.reshape(-1)[trunks] / scale])
        self.load = np.zeros(len(trunks)) if background is None else background.reshape(-1)[trunks] / scale
        # scipy's stubs do not know that `linprog` takes sparse constraints, nor bounds in one array.
        self.at_most: Any = coo_array((values, (links, ends))).tocsr()
        self.all_of: Any = sums.tocsr()

    def solve(
        self,
        transit: float,
        use: float,
        *,
        use_max: float = np.inf,
        share_max: FloatArray | None = None,
        method: SolverMethod = "highs",
    ) -> FloatArray:
        """(P + 1,) the solution for these costs of the share of transit and of the largest use.

        `share_max` (P,) is the largest share of its demand that a path may take.
        """
        flow_max = np.full(len(self.tails), np.inf)
        if share_max is not None:
            flow_max = share_max * self.given[self.demand_of]
        bounds: Any = np.stack([np.zeros(len(flow_max) + 1), np.append(flow_max, use_max)], axis=1)
        answer = linprog(
            np.append(transit / float(self.given.sum()) * self.transit, use),
            A_ub=self.at_most,
            b_ub=-self.load,
            A_eq=self.all_of,
            b_eq=self.given,
            bounds=bounds,
            method=method,
        )
        if answer.status != 0:
            raise OperationFailed(f"linear program of the demand failed: {answer.message}")
        return np.asarray(answer.x, dtype=np.float64)

    def shares(self, found: FloatArray) -> FloatArray:
        """(B, B, B) shares of a solution."""
        share = np.zeros((self.blocks, self.blocks, self.blocks))
        share[self.tails, self.heads, self.over] = np.maximum(found[:-1], 0.0) / self.given[self.demand_of]
        return share
