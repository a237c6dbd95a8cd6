"""The beat of a signal with the receiving end's own reflected light: when it is in band, and its size.

[LF] 3.3.1, 3.3.2, 4.1.2. Two waves of powers I and i and frequencies Δf apart make a current that swings by 2
√(I i) cos(2π Δf t + φ). Two uncooled lasers of one nominal wavelength are nanometres apart, hundreds of GHz,
so the swing is mostly far above the receiver's bandwidth. If it is in band, the strongest reflection swings
within fixed bounds, and the others together act as noise.

Both waves carry data and have a carrier, the mean of their fields. The beat of the two carriers is a pure
tone. Interference mitigation (OIM) finds it by its frequency and removes it; the products with data remain.
If Δf is almost 0, the tone cannot be distinguished from the signal.
"""

import numpy as np
import numpy.typing as npt

from shared.models.assumptions import assumed
from shared.models.optics.fec import BLOCK_BITS

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

REACH = 1.5
"""Receiver bandwidths beyond which no beat is counted: less than −28 dB of a tone passes there, and about −20
dB of its data products."""
ROLL_OFF = 16
"""Order of the receiver's response in power: an eighth-order filter and the equaliser's own cut-off."""
GHZ_PER_NM = 177.0
"""At 1300 nm: c ÷ λ²."""


def passed(offset_ghz: FloatArray, bandwidth_ghz: float) -> FloatArray:
    """Share of the beat's power within the receiver's bandwidth, of the offset's shape."""
    away = np.abs(offset_ghz) / bandwidth_ghz
    share: FloatArray = np.where(away < REACH, 1.0 / (1.0 + np.minimum(away, REACH) ** ROLL_OFF), 0.0)
    return share


def in_reach(offset_ghz: FloatArray, bandwidth_ghz: float) -> BoolArray:
    """Whether any of it passes."""
    found: BoolArray = np.abs(offset_ghz) < REACH * bandwidth_ghz
    return found


def is_steady(offset_ghz: FloatArray, bit_gbps: float) -> BoolArray:
    """Whether the beat hardly moves over a block of the inner code, so that whole blocks are in its worst
    phase."""
    found: BoolArray = np.abs(offset_ghz) < bit_gbps / BLOCK_BITS
    return found


def has_a_tone(offset_ghz: FloatArray) -> BoolArray:
    """Whether the notch can distinguish the tone of both carriers from the signal."""
    found: BoolArray = np.abs(offset_ghz) >= assumed("mitigation_least_offset_ghz")
    return found


def products(levels: FloatArray, mitigation: FloatArray | float) -> FloatArray:
    """√(a b) of a signal's level a and an interfering level b, without the carriers' product where mitigation
    removes it.

    `levels` of shape (M, …), `mitigation` (0 or 1) of shape (…) or one for all; the result is of shape (M, M,
    …), by signal and interfering level.
    """
    fields = np.sqrt(levels)
    carrier = np.add.reduce(fields) / len(fields)
    taken = mitigation * assumed("mitigation_depth") * carrier**2
    found: FloatArray = fields[:, None] * fields[None, :] - taken
    return found
