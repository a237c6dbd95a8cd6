"""The mean of independent runs with its interval, and the number of runs for a given precision."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.checks import check_count, check_positive
from shared.basics.errors import InvalidInput

FloatArray = npt.NDArray[np.float64]
RUNS_MIN = 10
"""Minimum number of runs: the deviation of fewer runs is too uncertain."""
CHECKS_GROW = 1.5
RUNS_NEEDED_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its bounds at this confidence, from `runs` runs.

    The bounds are infinite if nothing is known about them. `deviation` is that of single runs.
    """

    value: float
    low: float
    high: float
    confidence: float
    runs: int
    deviation: float = math.nan

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2.0


def mean_interval(values: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Interval of the mean of independent runs, shape (n,), by Student's t; unbounded for a single run.

    InvalidInput without runs, or for an invalid confidence.
    """
    runs = np.asarray(values, dtype=np.float64)
    n = check_count("runs", len(runs), 1)
    is_confidence(confidence)
    mean = float(runs.mean())
    if n == 1:
        return Interval(mean, -math.inf, math.inf, confidence, 1)
    deviation = math.sqrt(float(((runs - mean) ** 2).sum()) / (n - 1))
    half = quantile_of_t(n - 1, confidence) * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, confidence, n, deviation)


def is_confidence(value: float) -> float:
    """The value, if it is a valid confidence; InvalidInput otherwise."""
    if not 0.0 < value < 1.0:
        raise InvalidInput(f"confidence: {value:g} is not allowed; must be between 0 and 1")
    return value


def quantile_of_t(freedom: float, confidence: float) -> float:
    """Standard errors that a two-sided interval extends on each side."""
    return float(scipy.special.stdtrit(freedom, (1.0 + confidence) / 2.0))


@dataclass(frozen=True, slots=True)
class Precision:
    """Required half width of an interval, absolute or as a share of the mean, or both."""

    half_width: float | None = None
    relative_half_width: float | None = None

    def is_met(self, found: Interval) -> bool:
        """Whether an interval is narrow enough.

        A share γ of the unknown mean is reached if the half width is at most γ / (1 + γ) of the mean of the
        runs (Law 9.4.1).
        """
        return found.half_width <= self.wanted(found.value)

    def wanted(self, mean: float) -> float:
        """The required half width for this mean."""
        found = math.inf if self.half_width is None else self.half_width
        if self.relative_half_width is not None:
            share = self.relative_half_width
            found = min(found, share / (1.0 + share) * abs(mean))
        return found


def check_points(least: int, most: int) -> tuple[int, ...]:
    """Numbers of runs after which the precision is checked.

    Checks are rare, because checking after each run stops too early. From `least`, each half as many again,
    and finally `most`.
    """
    check_count("least", least, 2)
    check_count("most", most, least)
    found = [least]
    while found[-1] < most:
        found.append(min(max(found[-1] + 1, int(found[-1] * CHECKS_GROW)), most))
    return tuple(found)


def runs_needed(deviation: float, half_width: float, confidence: float = 0.95) -> int:
    """The smallest number of runs, at least 2, whose expected interval is this narrow.

    RUNS_NEEDED_MAX if that is not enough.
    """
    check_positive("half-width", half_width)
    low, high = 2, 2
    while not _is_enough(high, deviation, half_width, confidence):
        if high >= RUNS_NEEDED_MAX:
            return RUNS_NEEDED_MAX
        low, high = high, min(2 * high, RUNS_NEEDED_MAX)
    while low < high:
        middle = (low + high) // 2
        if _is_enough(middle, deviation, half_width, confidence):
            high = middle
        else:
            low = middle + 1
    return high


def _is_enough(runs: int, deviation: float, half_width: float, confidence: float) -> bool:
    return quantile_of_t(runs - 1, confidence) * deviation / math.sqrt(runs) <= half_width


def wilson_share(happened: int, times: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of independent trials; on average over many shares as wide as its confidence.

    InvalidInput unless 0 ≤ happened ≤ times and times ≥ 1.
    """
    _check_share(happened, times, confidence)
    z = float(scipy.special.ndtri((1.0 + confidence) / 2.0))
    share = happened / times
    middle = (share + z * z / (2 * times)) / (1 + z * z / times)
    half = z / (1 + z * z / times) * math.sqrt(share * (1 - share) / times + z * z / (4 * times * times))
    low = 0.0 if happened == 0 else max(0.0, middle - half)
    high = 1.0 if happened == times else min(1.0, middle + half)
    return Interval(share, low, high, confidence, times)


def _check_share(happened: int, times: int, confidence: float) -> None:
    check_count("times", times, 1, most=2**53)
    check_count("happened", happened, 0, most=times)
    is_confidence(confidence)
