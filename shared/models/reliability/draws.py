"""Draws of the kernel: arrays of keyed draws, from integers and the four arithmetic operations only.

These operations round identically on every machine; the logarithm of a mathematics library does not. So the
same seed gives the same history to the last bit on any machine, plain or compiled.
"""

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.keyed_random import draw_bits_array, draw_uniform_array

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)
"""The bits of √½: mantissas range from there to √2, where the logarithm is smallest."""
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SERIES = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
"""Of log((1 + s) / (1 − s)) − 2s over s³, as in fdlibm, the highest power first."""


def minus_log(values: FloatArray) -> FloatArray:
    """−log of normal numbers above 0, of any shape, within a unit in the last place."""
    bits = values.view(np.int64)
    power = (bits - _ROOT_HALF) >> np.int64(52)
    beyond = (bits - (power << np.int64(52))).view(np.float64) - 1.0
    exponent = power.astype(np.float64)
    s = beyond / (2.0 + beyond)
    square = s * s
    series = np.full_like(s, _SERIES[0])
    for term in _SERIES[1:]:
        series *= square
        series += term
    series *= square
    half = 0.5 * beyond * beyond
    rest = s * (half + series) + exponent * _LN2_LOW
    return np.asarray(((half - rest) - beyond) - exponent * _LN2_HIGH, dtype=np.float64)


def counts(first: int, many: int) -> npt.NDArray[np.uint64]:
    """first, first + 1, … as counts of keyed draws, shape (many,)."""
    return np.arange(first, first + many, dtype=np.uint64)


def exponentials(seed: int, entity: str, purpose: str, first: int, many: int) -> FloatArray:
    """Exponential draws of mean 1 by their counts, shape (many,)."""
    return minus_log(draw_uniform_array(seed, entity, purpose, counts(first, many)))


def lognormals(seed: int, entity: str, purpose: str, first: int, many: int, sigma: float) -> FloatArray:
    """Log-normal draws of mean 1 by their counts, shape (many,); not bit-identical on every machine."""
    normal = scipy.special.ndtri(draw_uniform_array(seed, entity, purpose, counts(first, many)))
    return np.asarray(np.exp(sigma * normal - 0.5 * sigma * sigma), dtype=np.float64)


def indices(seed: int, entity: str, purpose: str, first: int, many: int, size: int) -> IntArray:
    """Draws from 0 … size − 1 by their counts, shape (many,); size is below 2³²."""
    bits = draw_bits_array(seed, entity, purpose, counts(first, many))
    return (((bits >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)).astype(np.int64)
