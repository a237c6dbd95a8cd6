"""Keyed draws: a number is a function of (seed, entity, purpose, count), so every runtime and every
redelivery draws the same one. There is no stream whose position could differ.

The generator is `splitmix64` over a key hashed from (seed, entity, purpose). The array form gives the same
numbers as the scalar one.
"""

import hashlib
import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_NORMAL = NormalDist()


@lru_cache(maxsize=65_536)
def _key(seed: int, entity: str, purpose: str) -> int:
    text = f"{seed}\x1f{entity}\x1f{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def draw_bits(seed: int, entity: str, purpose: str, count: int) -> int:
    """64 random bits."""
    z = (_key(seed, entity, purpose) + (count + 1) * _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def rekeyed_seed(seed: int, salt: int) -> int:
    """Return the seed of all further draws of a future with this salt. It has 52 bits, which every JSON
    reader preserves."""
    return draw_bits(seed, "all", "rekeyed", salt) >> 12


def draw_uniform(seed: int, entity: str, purpose: str, count: int) -> float:
    """Uniform over the open interval (0, 1): never 0 nor 1, so logarithms and quantiles of it are finite."""
    return ((draw_bits(seed, entity, purpose, count) >> 12) + 0.5) * 2.0**-52


def draw_index(seed: int, entity: str, purpose: str, count: int, size: int) -> int:
    """Uniform over 0 … size − 1."""
    return (draw_bits(seed, entity, purpose, count) * size) >> 64


def draw_exponential(seed: int, entity: str, purpose: str, count: int, mean: float) -> float:
    """Exponential with the given mean, in the mean's unit."""
    return -mean * math.log(draw_uniform(seed, entity, purpose, count))


def draw_normal(seed: int, entity: str, purpose: str, count: int) -> float:
    """Standard normal."""
    return _NORMAL.inv_cdf(draw_uniform(seed, entity, purpose, count))


def draw_lognormal(seed: int, entity: str, purpose: str, count: int, mean: float, sigma: float) -> float:
    """Log-normal with the given mean (of the variable, not of its logarithm), in the mean's unit; `sigma` is
    the standard deviation of the logarithm."""
    return mean * math.exp(sigma * draw_normal(seed, entity, purpose, count) - 0.5 * sigma * sigma)


def draw_bits_array(
    seed: int, entity: str, purpose: str, counts: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """`draw_bits` at every count of an array of any shape."""
    z = np.uint64(_key(seed, entity, purpose)) + (counts.astype(np.uint64) + np.uint64(1)) * np.uint64(
        _GOLDEN
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def draw_uniform_array(
    seed: int, entity: str, purpose: str, counts: npt.NDArray[np.uint64]
) -> npt.NDArray[np.float64]:
    """`draw_uniform` at every count of an array of any shape."""
    bits = draw_bits_array(seed, entity, purpose, counts)
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
