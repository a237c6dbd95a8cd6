"""Statistics of one long run by batch means."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_count
from shared.models.statistics.means import FloatArray, Interval, mean_interval

BATCHES_MIN = 20
CORRELATION_MAX = 0.2
"""Batches with a higher correlation of neighbours are too short."""
CORRELATION_LEFT_MAX = 0.9


@dataclass(frozen=True, slots=True)
class Batches:
    """An interval from `count` batches of `length` values each, and the lag-1 correlation of batches.

    `is_sound` is false if the correlation is still too high for the longest possible batches.
    """

    interval: Interval
    count: int
    length: int
    correlation: float
    is_sound: bool


def batch_means(values: npt.ArrayLike, confidence: float = 0.95) -> Batches:
    """Interval of one run's mean after its warm-up, shape (n,).

    Batches are doubled until neighbours are no longer correlated, while there are at least 20. InvalidInput
    for fewer than 20 values.
    """
    run = np.asarray(values, dtype=np.float64)
    check_count("values", len(run), BATCHES_MIN, most=2**53)
    length = 1
    while True:
        batches = _means(run, length)
        correlation = _lag_1(batches)
        longer = len(run) // (2 * length) >= BATCHES_MIN
        if correlation < CORRELATION_MAX or not longer:
            break
        length *= 2
    sound = correlation < CORRELATION_MAX
    found = widened(mean_interval(batches, confidence), correlation)
    return Batches(found, len(batches), length, correlation, sound)


def widened(found: Interval, correlation: float) -> Interval:
    """Widens an interval for the remaining correlation of neighbours.

    As for a first-order process, whose mean has (1 + r) / (1 − r) times the variance of independent values
    (Steiger and others 2005, ASAP3).
    """
    left = min(max(correlation, 0.0), CORRELATION_LEFT_MAX)
    factor = math.sqrt((1.0 + left) / (1.0 - left))
    half = factor * found.half_width
    return replace(found, low=found.value - half, high=found.value + half)


def _means(run: FloatArray, length: int) -> FloatArray:
    """Means of whole batches, from the end of the run; the remainder is at its start."""
    number = len(run) // length
    found: FloatArray = run[len(run) - number * length :].reshape(number, length).mean(axis=1)
    return found


def _lag_1(values: FloatArray) -> float:
    """Correlation of neighbours; 0 if nothing varies."""
    off = values - values.mean()
    whole = float((off * off).sum())
    found = float((off[1:] * off[:-1]).sum()) / whole if whole > 0.0 else 0.0
    return 0.0 if math.isnan(found) else found
