"""How to split demand over direct and one-transit paths so that the fullest trunk is as empty as it can be,
in milliseconds: paths priced smoothly.

Every trunk has a price p ≥ 0 and a weight w = e^−p. A demand from i to j takes the direct path in
proportion to w_ij and each path over k in proportion to ε·w_ik·w_kj, with a small ε, so what need not take
a transit does not. All sums over transit blocks are then products of (B, B) matrices:

    Z = W + ε·W·W,   G = D / Z,   load = W ∘ (G + ε·(G·Wᵀ + Wᵀ·G)).

Among all splits whose load is at most `aim` × capacity, that of least Kullback–Leibler distance from the
unpriced one has this form, and its prices maximise a concave function of p with gradient load −
aim·capacity (as iterative scaling does in statistics: Darroch and Ratcliff 1972). A trunk that is too full
gets dearer by the logarithm of how much, with Nesterov's momentum. The proof of how good it is comes from
duality: any lengths l of the trunks bound the largest use of any split from below by Σ D·distance ÷ Σ C·l.
"""

from dataclasses import dataclass

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.dcn.routing.path_loads import capacity_shares, trunk_loads, unreachable_pairs
from shared.models.network.blocks import FloatArray
from shared.models.superpod.wiring import IntArray

GAP = 0.01
"""How near the largest use comes to its lower bound, relatively, unless that takes too many steps."""
TRANSIT_PRIOR = 0.05
"""The weight of all transit paths together against the direct one, before prices."""
ROUNDS = 20
"""Steps between two looks at the bounds."""
STEPS_MAX = 200
"""64 blocks take 0.13 ms a step."""
FIRST_STEP = 1.0
SAFE_STEP = 0.5
"""A path has at most two trunks: with half steps the prices only get better (generalised iterative
scaling), but whole ones are faster and do for most demands."""
EXPONENT_MAX = 300.0
"""The highest price: two trunks at it still have a weight that is a number."""
STALLED = 0.5
"""An aim is given up when so much of the distance to it is left after some rounds."""


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """A split by prices, and the proof of how good it is: no split has a smaller largest use than `bound`.

    `hedge` of every demand goes over all paths in proportion to their capacity, whatever the prices say.
    """

    prices: FloatArray
    """(B, B) of every trunk and way; infinite where there is none."""
    prior: float
    hedge: float
    use: float
    bound: float
    steps: int

    def shares(self, carries: FloatArray) -> FloatArray:
        """(B, B, B) as `shared.models.dcn.routing.path_loads` has them."""
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
    """A split for trunks (B, B) in Mb/s and a demand (B, B) each of which has a path (`check_paths`).

    `hedge` 0 … 1: the share of every demand that is spread by capacity, so that a demand that turns out
    otherwise does less harm; the rest makes the best of it. The search ends at a proved `gap`, or after
    `steps_max` steps; a gap of 0.001 takes some hundred.
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
    """The largest use of trunks (B, B) by such a split of a demand (B, B); infinite where one has no path."""
    return float("inf") if unreachable_pairs(carries, demand).any() else split_demand(carries, demand).use


class _Search:
    """The prices so far, the best of them, and the bounds of the largest use."""

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
        if self.bound == 0.0:  # nothing is demanded
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
            if float(((ahead - after) * moved).sum()) > 0.0:  # the momentum leads astray: begin anew
                faster, ahead = 1.0, after
            else:
                ahead = _priced(after + (momentum - 1.0) / faster * moved)
            prices, momentum = after, faster
            if self.steps % ROUNDS == 0:
                self._look(prices, seen)
                seen, left, step = prices, self._aim_anew(left), SAFE_STEP

    def _aim_anew(self, left: float) -> float:
        """How far the use is above an aim that is worth going on with: a higher one where it hardly came
        nearer, a lower one where it is there and the bound is not."""
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
        """What leaves a block must pass its trunks, and so must what comes."""
        most = 0.0
        for axis in (0, 1):
            carried = self.carries.sum(axis=axis)
            given = self.demand.sum(axis=axis) + self.background.sum(axis=axis)
            most = max(most, float((given / np.where(carried > 0.0, carried, 1.0)).max()))
        return most

    def _look(self, prices: FloatArray, seen: FloatArray) -> None:
        """A better lower bound, by the prices and by what they have grown since they were last looked at."""
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
    """No price is below 0, for empty trunks are not paid to be used, and none above EXPONENT_MAX."""
    return np.minimum(np.maximum(prices, 0.0), EXPONENT_MAX)
