"""The binomial distribution without overflow or cancellation: how many of n independent units work."""

import numpy as np
import numpy.typing as npt

from shared.basics.checks import check_count, check_probability

FloatArray = npt.NDArray[np.float64]


def binomial(trials: int, success: float) -> FloatArray:
    """P(exactly k of `trials` succeed) for k = 0 … trials, shape (trials + 1,).

    Computed from the mode outwards by the ratio of neighbours, then normalised. Every term is positive and at
    most the mode's, so nothing overflows, and the relative error stays near trials × 1e-16.
    """
    check_count("trials", trials, 0)
    check_probability("success", success)
    weights = np.zeros(trials + 1)
    if success in (0.0, 1.0):
        weights[round(trials * success)] = 1.0
        return weights
    mode = min(int((trials + 1) * success), trials)
    odds = success / (1.0 - success)
    upwards = np.arange(mode, trials, dtype=np.float64)
    downwards = np.arange(mode, 0, -1, dtype=np.float64)
    weights[mode] = 1.0
    weights[mode + 1 :] = np.cumprod((trials - upwards) / (upwards + 1.0) * odds)
    weights[:mode] = np.cumprod(downwards / (trials - downwards + 1.0) / odds)[::-1]
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def tails(trials: int, success: float) -> tuple[FloatArray, FloatArray]:
    """(P(at least k of `trials` succeed), P(fewer)) for k = 0 … trials, each of shape (trials + 1,).

    The smaller of the two is summed and the other is 1 minus it, so neither loses digits where it is small.
    """
    exactly = binomial(trials, success)
    fewer = np.empty_like(exactly)
    fewer[0] = 0.0
    np.cumsum(exactly[:-1], out=fewer[1:])
    tail = np.cumsum(exactly[::-1])[::-1]
    rare = tail < fewer
    return np.where(rare, tail, 1.0 - fewer), np.where(rare, 1.0 - tail, fewer)


def at_least(trials: int, success: float) -> FloatArray:
    """P(at least k of `trials` succeed) for k = 0 … trials, shape (trials + 1,). The first is exactly 1."""
    return tails(trials, success)[0]
