"""Fast split of demand over direct and one-transit paths that minimises the largest trunk use, in
milliseconds, by smooth prices.

Every trunk has a price p ≥ 0 and a weight w = e^−p. A demand from i to j takes the direct path in
proportion to w_ij and each path over k in proportion to ε·w_ik·w_kj. With a small ε, traffic takes a
transit only if it needs to. All sums over transit blocks are then products of (B, B) matrices:

    Z = W + ε·W·W,   G = D / Z,   load = W ∘ (G + ε·(G·Wᵀ + Wᵀ·G)).

Among all splits whose load is at most `aim` × capacity, the one with the least Kullback–Leibler distance from
the unpriced one has this form. Its prices maximise a concave function of p with gradient load − aim·capacity
(as iterative scaling does in statistics: Darroch and Ratcliff 1972). An overloaded trunk gets more expensive
by the logarithm of its overload, with Nesterov's momentum. Duality proves the quality: any lengths l of the
trunks bound the largest use of any split from below by Σ D·distance ÷ Σ C·l.
"""

from dataclasses import dataclass

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.routing.path_loads import capacity_shares, trunk_loads, unreachable_pairs
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

GAP = 0.01
"""Relative gap between the largest use and its lower bound, unless that takes too many steps."""
TRANSIT_PRIOR = 0.05
"""The weight of all transit paths together relative to the direct one, before prices."""
ROUNDS = 20
"""Steps between two checks of the bounds."""
STEPS_MAX = 200
"""64 blocks take 0.13 ms a step."""
FIRST_STEP = 1.0
SAFE_STEP = 0.5
"""A path has at most two trunks. Half steps always improve the prices (generalised iterative scaling), but
whole steps are faster and work for most demands."""
EXPONENT_MAX = 300.0
"""The highest price: the weight of two such trunks is still a positive number."""
STALLED = 0.5
"""An aim is dropped if this share of the distance to it remains after some rounds."""


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """A split by prices, with a proof of its quality: no split has a smaller largest use than `bound`.

    The share `hedge` of every demand goes over all paths in proportion to their capacity, independent of
    prices.
    """

    prices: FloatArray
    """(B, B) of every trunk and direction; infinite if there is no trunk."""
    prior: float
    hedge: float
    use: float
    bound: float
    steps: int

    def shares(self, carries: FloatArray) -> FloatArray:
        """(B, B, B) as in `shared.models.dcn.routing.path_loads`."""
        weight = np.exp(-self.prices)
        share = (self.prior * weight)[:, None, :] * weight.T[None, :, :]
        heads = np.arange(len(weight))
        share[:, heads, heads] = weight
        share[heads, heads, :] = 0.0
        total = share.sum(axis=2, keepdims=True)
        share = np.where(total > 0.0, share / np.where(total > 0.0, total, 1.0), 0.0)
        if self.hedge == 0.0:
            return share
        return (1.0 - self.hedge) * share + self.hedge * capacity_shares(carries)


def split_demand(
    carries: FloatArray,
    demand: IntArray,
    hedge: float = 0.0,
    *,
    gap: float = GAP,
    steps_max: int = STEPS_MAX,
) -> Split:
    """A split for trunks (B, B) in Mb/s and a demand (B, B) in which every pair has a path (`check_paths`).

    `hedge` 0 … 1 is the share of every demand that is spread by capacity, which limits the harm if the demand
    changes; the rest is optimised. The search ends at a proved `gap`, or after `steps_max` steps; a gap of
    0.001 takes some hundred.
    """
    if not 0.0 <= hedge <= 1.0:
        raise InvalidInput(f"hedge: {hedge} is not allowed; must be between 0 and 1")
    wanted = demand.astype(np.float64)
    background = np.zeros_like(carries)
    if hedge > 0.0:
        background = trunk_loads(capacity_shares(carries), hedge * wanted)
    search = _Search(carries, (1.0 - hedge) * wanted, background, 0.5 * gap)
    search.run(steps_max)
    return Split(search.best, search.prior, hedge, search.use, min(search.bound, search.use), search.steps)


def use_of(carries: FloatArray, demand: IntArray) -> float:
    """The largest use of trunks (B, B) with such a split of a demand (B, B).

    Infinite if a pair has no path.
    """
    return float("inf") if unreachable_pairs(carries, demand).any() else split_demand(carries, demand).use


class _Search:
    """The current prices, the best ones, and the bounds of the largest use."""

    def __init__(self, carries: FloatArray, demand: FloatArray, background: FloatArray, close: float) -> None:
        self.close = close
        self.there = carries > 0.0
        self.carries, self.demand, self.background = carries, demand, background
        self.prior = TRANSIT_PRIOR / max(len(carries) - 2, 1)
        self.divisor = np.where(self.there, carries, 1.0)
        self.use, self.steps = np.inf, 0
        self.best = np.where(self.there, 0.0, np.inf)
        self.bound = self._first_bound()
        self.aim = self.bound * (1.0 + self.close)

    def run(self, steps_max: int) -> None:
        if self.bound == 0.0:  # all demands are 0
            self.use = 0.0
            return
        prices = ahead = np.zeros_like(self.carries)
        seen, left, momentum, step = prices, np.inf, 1.0, FIRST_STEP
        while self.steps < steps_max and self.use > self.bound * (1.0 + self.close) ** 2:
            used = self._used(ahead)
            largest = float(used.max())
            self.steps += 1
            if largest < self.use:
                self.use, self.best = largest, np.where(self.there, ahead, np.inf)
            after = _priced(ahead + step * np.log(np.maximum(used, 1e-12) / self.aim))
            faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            moved = after - prices
            if float(((ahead - after) * moved).sum()) > 0.0:  # the momentum points the wrong way: restart
                faster, ahead = 1.0, after
            else:
                ahead = _priced(after + (momentum - 1.0) / faster * moved)
            prices, momentum = after, faster
            if self.steps % ROUNDS == 0:
                self._look(prices, seen)
                seen, left, step = prices, self._aim_anew(left), SAFE_STEP

    def _aim_anew(self, left: float) -> float:
        """A new target relative to the bound: higher if the use hardly came closer, lower if it was reached
        but the bound was not."""
        lowest = self.bound * (1.0 + self.close)
        far = self.use / self.aim - 1.0
        if far <= self.close or far > STALLED * left:
            self.aim = max(lowest, float(np.sqrt((lowest if far <= self.close else self.aim) * self.use)))
            return np.inf if far <= self.close else self.use / self.aim - 1.0
        self.aim = max(self.aim, lowest)
        return far

    def _used(self, prices: FloatArray) -> FloatArray:
        """(B, B) load over capacity of every trunk under these prices."""
        weight = np.exp(-prices)
        weight *= self.there
        into = weight @ weight
        into *= self.prior
        into += weight
        wanted = self.demand / np.where(into > 0.0, into, 1.0)
        load = wanted @ weight.T
        load += weight.T @ wanted
        load *= self.prior
        load += wanted
        load *= weight
        load += self.background
        load /= self.divisor
        return load

    def _first_bound(self) -> float:
        """Traffic that leaves or enters a block must pass its trunks."""
        most = 0.0
        for axis in (0, 1):
            carried = self.carries.sum(axis=axis)
            given = self.demand.sum(axis=axis) + self.background.sum(axis=axis)
            most = max(most, float((given / np.where(carried > 0.0, carried, 1.0)).max()))
        return most

    def _look(self, prices: FloatArray, seen: FloatArray) -> None:
        """Improves the lower bound, with the prices and their growth since the last check."""
        for lengths in (prices, np.maximum(prices - seen, 0.0)):
            self.bound = max(self.bound, self._bound_by(np.where(self.there, lengths, 0.0)))

    def _bound_by(self, lengths: FloatArray) -> float:
        spanned = float((self.carries * lengths).sum())
        if spanned <= 0.0:
            return 0.0
        direct = np.where(self.there, lengths, np.inf)
        distance = np.minimum(direct, (direct[:, :, None] + direct[None, :, :]).min(axis=1))
        wanted = self.demand > 0.0
        needed = float((self.demand[wanted] * distance[wanted]).sum()) + float(
            (self.background * lengths).sum()
        )
        return needed / spanned


def _priced(prices: FloatArray) -> FloatArray:
    """Prices are at least 0, because empty trunks are not rewarded, and at most EXPONENT_MAX."""
    return np.minimum(np.maximum(prices, 0.0), EXPONENT_MAX)
