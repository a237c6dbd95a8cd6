"""Scatter of readings: normal draws by the thousand from few random bits, and counts of rare errors."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BitsArray = npt.NDArray[np.uint64]

FIELD_BITS = 12
NORMALS_PER_DRAW = 64 // FIELD_BITS
"""Normals that 64 random bits make: each of 4,096 values, out to 3.7 standard deviations."""
MANY_ERRORS = 100.0
"""From so many on, a count scatters as a normal does: within 0.02 of its standard deviation anywhere."""
COUNT_MAX = 200
"""No count of fewer than MANY_ERRORS in the mean comes so far: ten standard deviations."""


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
    """Poisson counts of these means, all arrays of one shape: by a standard normal where errors are many,
    else by a uniform over (0, 1) through the distribution. What is not a number stays so."""
    found: FloatArray = np.rint(means + np.sqrt(means) * scatter)
    few = np.flatnonzero(means < MANY_ERRORS)
    if len(few):
        found.ravel()[few] = _few(means.ravel()[few], uniform.ravel()[few])
    return found


def _few(means: FloatArray, uniform: FloatArray) -> FloatArray:
    """The least count whose cumulative probability is above the draw."""
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
