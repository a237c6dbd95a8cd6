"""Interval of a proportion that is valid near 0 and 1 as well."""

import math

from scipy.special import ndtri

from shared.basics.checks import check_count
from shared.models.statistics.means import Interval, is_confidence


def wilson_share(happened: int, times: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of independent trials; on average over many shares as wide as its confidence.

    InvalidInput unless 0 ≤ happened ≤ times and times ≥ 1.
    """
    _check(happened, times, confidence)
    z = float(ndtri((1.0 + confidence) / 2.0))
    share = happened / times
    middle = (share + z * z / (2 * times)) / (1 + z * z / times)
    half = z / (1 + z * z / times) * math.sqrt(share * (1 - share) / times + z * z / (4 * times * times))
    low = 0.0 if happened == 0 else max(0.0, middle - half)
    high = 1.0 if happened == times else min(1.0, middle + half)
    return Interval(share, low, high, confidence, times)


def _check(happened: int, times: int, confidence: float) -> None:
    check_count("times", times, 1, most=2**53)
    check_count("happened", happened, 0, most=times)
    is_confidence(confidence)
