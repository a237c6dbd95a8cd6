"""Bounds of a mean by resampling, for runs far from normal (BCa, Efron 1987)."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.keyed_random import draw_bits_array
from shared.models.statistics.means import is_confidence

RESAMPLES = 4_000
LEAST = 10
"""Minimum number of runs to resample."""


@lru_cache(maxsize=8)
def _resamples(n: int) -> npt.NDArray[np.intp]:
    """The runs of each resample of n runs, shape (RESAMPLES, n)."""
    counts = np.arange(RESAMPLES * n, dtype=np.uint64).reshape(RESAMPLES, n)
    chosen = (draw_bits_array(0, f"resamples of {n}", "bootstrap", counts) >> np.uint64(11)) % np.uint64(n)
    return chosen.astype(np.intp)


def bca_interval(values: npt.ArrayLike, confidence: float = 0.95) -> tuple[float, float] | None:
    """The bounds of the mean of independent runs, shape (n,), corrected for bias and acceleration.

    The resamples are the same for the same number of runs. None for fewer than 10 runs, or if all are equal.
    """
    runs = np.asarray(values, dtype=np.float64)
    n = len(runs)
    beyond = (1.0 - is_confidence(confidence)) / 2.0
    if n < LEAST or runs.min() == runs.max():
        return None
    means = np.sort(runs[_resamples(n)].mean(axis=1))
    mean = runs.mean()
    below = float((means < mean).mean() + (means == mean).mean() / 2.0)
    bias = float(scipy.special.ndtri(min(max(below, 0.5 / RESAMPLES), 1.0 - 0.5 / RESAMPLES)))
    # The jackknife of a mean has a closed form: leaving out a run changes it by the run's distance from it.
    off = runs - mean
    acceleration = float((off**3).sum() / (6.0 * (off**2).sum() ** 1.5))
    ranks = []
    for share in (beyond, 1.0 - beyond):
        z = bias + float(scipy.special.ndtri(share))
        ranks.append(float(scipy.special.ndtr(bias + z / (1.0 - acceleration * z))))
    low, high = (float(np.interp(rank * (RESAMPLES - 1), np.arange(RESAMPLES), means)) for rank in ranks)
    return low, high
