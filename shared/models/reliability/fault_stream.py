"""Faults independent of repairs: for each class a Poisson process over all its parts, broken ones included.

Faults of broken parts are ignored, which leaves each working part its failure rate. Because no fault depends
on a repair, the same seed has the same faults with any number of crews.
"""

import math
from dataclasses import dataclass

import numpy as np

from shared.models.reliability.draws import FloatArray, IntArray, exponentials, indices
from shared.models.reliability.repair_shop import Shop

MARGIN = 6.0
"""Standard deviations beyond the mean that are drawn at once."""


@dataclass(frozen=True, slots=True)
class FaultBatch:
    """In order of time: `at` and the `struck_parts`, each of shape (n,)."""

    at: FloatArray
    struck_parts: IntArray


class FaultStream:
    """The faults of a shop for a seed, in consecutive pieces of any length."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self._shop = shop
        self._seed = seed
        self._drawn = [0] * len(shop.classes)
        self._last = [0.0] * len(shop.classes)

    @property
    def rate(self) -> float:
        """Faults per unit of time, including those of broken parts."""
        return sum(one.number * one.failure_rate for one in self._shop.classes)

    def until(self, end: float) -> FaultBatch:
        """All faults from the end of the last piece to before `end`."""
        times, parts, first = [], [], 0
        for n, one in enumerate(self._shop.classes):
            rate = one.number * one.failure_rate
            if rate > 0.0:
                at = self._times(n, rate, end)
                times.append(at)
                parts.append(first + self._struck(n, one.number, len(at)))
                self._drawn[n] += len(at)
            first += one.number
        if not times:
            return FaultBatch(np.empty(0), np.empty(0, dtype=np.int64))
        every, struck_parts = np.concatenate(times), np.concatenate(parts)
        if len(times) == 1:
            return FaultBatch(every, struck_parts)
        order = np.argsort(every, kind="stable")
        return FaultBatch(every[order], struck_parts[order])

    def _times(self, n: int, rate: float, end: float) -> FloatArray:
        """For class `n`. Gaps are added one after another, so the length of pieces does not matter."""
        found = [np.array([self._last[n]])]
        drawn, last = self._drawn[n], self._last[n]
        while last < end:
            mean = (end - last) * rate
            many = math.ceil(mean + MARGIN * math.sqrt(mean) + MARGIN)
            gaps = exponentials(self._seed, self._shop.classes[n].name, "kernel gap", drawn, many) / rate
            found.append(np.cumsum(np.concatenate(([last], gaps)))[1:])
            drawn, last = drawn + many, float(found[-1][-1])
        at = np.concatenate(found)[1:]
        at = at[: np.searchsorted(at, end)]
        if at.size:
            self._last[n] = float(at[-1])
        return np.asarray(at, dtype=np.float64)

    def _struck(self, n: int, parts: int, many: int) -> IntArray:
        name = self._shop.classes[n].name
        return indices(self._seed, name, "kernel part", self._drawn[n], many, parts)
