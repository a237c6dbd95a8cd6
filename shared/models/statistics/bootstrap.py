"""Bounds of a mean by resampling, for runs that are far from normal (BCa, Efron 1987)."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from shared.basics.keyed_random import draw_bits_array
from shared.models.statistics.means import is_confidence

RESAMPLES = 4_000
LEAST = 10
"""Fewer runs are too few to resample."""


@lru_cache(maxsize=8)
def _resamples(n: int) -> npt.NDArray[np.intp]:
    """Which of n runs each resample has, shape (RESAMPLES, n)."""
    counts = np.arange(RESAMPLES * n, dtype=np.uint64).reshape(RESAMPLES, n)
    chosen = (draw_bits_array(0, f"resamples of {n}", "bootstrap", counts) >> np.uint64(11)) % np.uint64(n)
    return chosen.astype(np.intp)


def bca_interval(values: npt.ArrayLike, confidence: float = 0.95) -> tuple[float, float] | None:
    """The bounds of the mean of independent runs, shape (n,): corrected for bias and acceleration, from the
    same resamples for the same number of runs. None of fewer than 10 runs, or where none differ."""
    runs = np.asarray(values, dtype=np.float64)
    n = len(runs)
    beyond = (1.0 - is_confidence(confidence)) / 2.0
    if n < LEAST or runs.min() == runs.max():
        return None
    means = np.sort(runs[_resamples(n)].mean(axis=1))
    mean = runs.mean()
    below = float((means < mean).mean() + (means == mean).mean() / 2.0)
    bias = float(ndtri(min(max(below, 0.5 / RESAMPLES), 1.0 - 0.5 / RESAMPLES)))
    # Of a mean the jackknife is known outright: what leaving out each run changes is its distance from it.
    off = runs - mean
    acceleration = float((off**3).sum() / (6.0 * (off**2).sum() ** 1.5))
    ranks = []
    for share in (beyond, 1.0 - beyond):
        z = bias + float(ndtri(share))
        ranks.append(float(ndtr(bias + z / (1.0 - acceleration * z))))
    low, high = (float(np.interp(rank * (RESAMPLES - 1), np.arange(RESAMPLES), means)) for rank in ranks)
    return low, high
