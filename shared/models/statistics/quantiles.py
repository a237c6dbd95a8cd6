"""A quantile of what independent runs came to, by their order alone: whatever they are distributed like."""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from shared.basics.checks import check_count, check_probability
from shared.models.statistics.means import Interval, is_confidence


def quantile_interval(values: npt.ArrayLike, share: float, confidence: float = 0.95) -> Interval:
    """Of the value that a share of all runs does not exceed, from runs of shape (n,) (Conover, 5.1).

    Both bounds are runs themselves; one that so few runs cannot tell is infinite: the 95th percentile has an
    upper one from 72 runs on. The value is the run of nearest rank.
    """
    runs = np.sort(np.asarray(values, dtype=np.float64))
    n = check_count("runs", len(runs), 1, most=2**53)
    check_probability("share", share)
    beyond = (1.0 - is_confidence(confidence)) / 2.0
    # The number of runs below the quantile is binomial: P(fewer than k of them) = bdtr(k - 1).
    below = bdtr(np.arange(n, dtype=np.float64), n, share)
    low = int(np.searchsorted(below, beyond, side="right"))
    high = int(np.searchsorted(below, 1.0 - beyond, side="left")) + 1
    rank = max(1, min(n, math.ceil(share * n)))
    return Interval(
        float(runs[rank - 1]),
        float(runs[low - 1]) if low >= 1 else -math.inf,
        float(runs[high - 1]) if high <= n else math.inf,
        confidence,
        n,
    )
