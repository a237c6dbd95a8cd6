"""What a receiver says of its eye: the signal-to-noise ratio at the slicer, as CMIS has it (eSNR).

Of M evenly spaced levels a decision errs with Φ(−q), where q is half the distance of two levels over the
noise, and the mean power of the levels is (M² − 1) ÷ 3 · q² times the noise's. So the ratio follows from what
the decisions err, interference counted as noise.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.models.optics.receiver import Receiver

FloatArray = npt.NDArray[np.float64]

Q_MAX, STEPS = 14.0, 2_800
"""Beyond it a decision errs less than once in 10^44. Steps of 0.005: straight lines err by 2e-5 dB there, and
by less than 0.01 dB where Q is above a half."""


@lru_cache(maxsize=16)
def _table(share: float) -> tuple[FloatArray, FloatArray]:
    """(log10 of the raw bit error rate ascending, Q) for so many wrong bits of a wrong decision."""
    q = np.linspace(Q_MAX, 0.0, STEPS + 1)
    wrong = [0.5 * share * math.erfc(one / math.sqrt(2.0)) for one in q.tolist()]
    return np.log10(wrong), q


def slicer_snr_db(log10_raw_ber: FloatArray, receiver: Receiver) -> FloatArray:
    """From what decisions err before any code, of its shape; −inf where they only guess."""
    rates, q = _table(receiver.errors_per_decision)
    found = np.interp(log10_raw_ber, rates, q)
    with np.errstate(divide="ignore"):
        ratio: FloatArray = 10.0 * np.log10((receiver.levels**2 - 1) / 3.0 * found**2)
    return ratio
