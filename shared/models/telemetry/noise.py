"""Noise of readings: many normal draws from few random bits, and counts of rare errors."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BitsArray = npt.NDArray[np.uint64]

FIELD_BITS = 12
NORMALS_PER_DRAW = 64 // FIELD_BITS
"""Normals from 64 random bits: each of 4,096 values, up to 3.7 standard deviations."""
MANY_ERRORS = 100.0
"""From this mean on, a count is approximately normal: within 0.02 of its standard deviation everywhere."""
COUNT_MAX = 200
"""Counts with a mean below MANY_ERRORS never reach this: ten standard deviations."""


@lru_cache(maxsize=1)
def _quantiles() -> FloatArray:
    size = 1 << FIELD_BITS
    normal = NormalDist()
    found = np.array([normal.inv_cdf((number + 0.5) / size) for number in range(size)])
    found.flags.writeable = False
    return found


def normals(bits: BitsArray, place: int) -> FloatArray:
    """Standard normals from one of the NORMALS_PER_DRAW places of some random bits, of their shape."""
    fields = (bits >> np.uint64(FIELD_BITS * place)) & np.uint64((1 << FIELD_BITS) - 1)
    found: FloatArray = _quantiles().take(fields.astype(np.intp))
    return found


def error_counts(means: FloatArray, scatter: FloatArray, uniform: FloatArray) -> FloatArray:
    """Poisson counts of these means, all arrays of one shape.

    By a standard normal if errors are many, else by a uniform over (0, 1) through the distribution. NaN stays
    NaN.
    """
    found: FloatArray = np.rint(means + np.sqrt(means) * scatter)
    few = np.flatnonzero(means < MANY_ERRORS)
    if len(few):
        found.ravel()[few] = _few(means.ravel()[few], uniform.ravel()[few])
    return found


def _few(means: FloatArray, uniform: FloatArray) -> FloatArray:
    """The smallest count whose cumulative probability exceeds the draw."""
    term = np.exp(-means)
    below, counts = term.copy(), np.zeros(len(means))
    left = np.flatnonzero(uniform > below)
    for count in range(1, COUNT_MAX + 1):
        if not len(left):
            break
        term[left] *= means[left] / count
        below[left] += term[left]
        counts[left] = count
        left = left[uniform[left] > below[left]]
    return counts
