"""Two variants under the same seeds: the difference of their runs, and the gain from pairing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.models.statistics.batch_means import batch_means
from shared.models.statistics.means import FloatArray, Interval, mean_interval, quantile_of_t

ROUNDING = 1e-12
"""Relative differences below this are rounding errors: the same sum in another order."""


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """`first` minus `second`, run by run.

    `correlation` is that of both. `saved` is the factor by which more runs would be needed without common
    seeds; NaN if one of them does not vary. `chance` is the two-sided p-value.
    """

    interval: Interval
    correlation: float
    saved: float
    chance: float


def paired_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, confidence: float = 0.95
) -> MeanDifference:
    """Two variants, each of shape (n,), with run i of both under the same seed."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    apart_by = _apart_by(a, b)
    found = mean_interval(apart_by, confidence)
    both = _variance(a) + _variance(b)
    spread = _variance(apart_by)
    apart = math.sqrt(_variance(a) * _variance(b))
    return MeanDifference(
        found,
        (both - spread) / (2.0 * apart) if apart > 0.0 else math.nan,
        both / spread if spread > 0.0 else math.nan,
        _chance(found, found.runs - 1),
    )


def welch_difference(first: npt.ArrayLike, second: npt.ArrayLike, confidence: float = 0.95) -> MeanDifference:
    """Difference of the means of two variants with independent runs (Welch).

    `runs` is that of the smaller one, and nothing is saved. Unbounded if one has a single run.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    value = float(a.mean() - b.mean())
    runs = min(len(a), len(b))
    if runs == 1:
        return _is_apart(Interval(value, -math.inf, math.inf, confidence, 1), 1.0)
    errors = [_variance(one) / len(one) for one in (a, b)]
    whole = sum(errors)
    if whole == 0.0:
        return _is_apart(Interval(value, value, value, confidence, runs, 0.0), 1.0)
    freedom = whole**2 / sum(e**2 / (len(one) - 1) for e, one in zip(errors, (a, b), strict=True))
    half = quantile_of_t(freedom, confidence) * math.sqrt(whole)
    interval = Interval(value, value - half, value + half, confidence, runs, math.sqrt(whole * runs))
    return _is_apart(interval, freedom)


def _is_apart(interval: Interval, freedom: float) -> MeanDifference:
    return MeanDifference(interval, math.nan, math.nan, _chance(interval, freedom))


def batched_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, confidence: float = 0.95
) -> MeanDifference:
    """Two variants of one run each under the same seed, from their time series, shape (n,), n ≥ 20.

    By batch means of their differences. InvalidInput for fewer values.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    found = batch_means(_apart_by(a, b), confidence)
    error = found.interval.half_width / quantile_of_t(found.count - 1, confidence)
    size = abs(found.interval.value) / error if error > 0.0 else math.inf
    chance = 1.0 if found.interval.value == 0.0 else 2.0 * float(scipy.special.stdtr(found.count - 1, -size))
    return MeanDifference(found.interval, math.nan, math.nan, chance)


def holm(chances: Sequence[float]) -> list[float]:
    """The p-values adjusted for multiple comparisons (Holm 1979)."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    found, least = [0.0] * len(chances), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(chances) - rank) * chances[place]))
        found[place] = least
    return found


def _apart_by(a: FloatArray, b: FloatArray) -> FloatArray:
    """The differences run by run; 0 if only rounding differs."""
    more = a - b
    return np.where(np.abs(more) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, more)


def _chance(found: Interval, freedom: float) -> float:
    if found.runs == 1:
        return 1.0
    if found.deviation == 0.0:
        return 1.0 if found.value == 0.0 else 0.0
    size = abs(found.value) / (found.deviation / math.sqrt(found.runs))
    return 2.0 * float(scipy.special.stdtr(freedom, -size))


def _variance(values: FloatArray) -> float:
    n = len(values)
    return float(((values - values.mean()) ** 2).sum()) / (n - 1) if n > 1 else math.nan
