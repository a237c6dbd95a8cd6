"""Values in the format of module registers (OIF CMIS 5): in steps, rates as mantissa and exponent."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

POWER_MW = 1e-4
"""A step of optical power: 0.1 µW."""
POWER_STEPS_MAX = 65_535
DARK_DBM = -40.0
"""One step: the reading of a sensor without light."""
BIAS_MA = 2e-3
TEMPERATURE_C = 1.0 / 256.0
SUPPLY_V = 1e-4
DECIBEL = 1.0 / 256.0
MANTISSA_MAX = 2_047
"""F16 has an 11-bit mantissa and a 5-bit decimal exponent."""
EXPONENT_MIN, EXPONENT_MAX = -24, 7
_TENS = 10.0 ** np.arange(EXPONENT_MIN, EXPONENT_MAX + 2)


def stepped(values: FloatArray, step: float) -> FloatArray:
    """The nearest multiples of a step; NaN stays NaN."""
    found: FloatArray = np.rint(values * (1.0 / step)) * step
    return found


def power_dbm(values_dbm: FloatArray) -> FloatArray:
    """Powers in dBm from 16-bit registers: from −40 to 8.2 dBm. −inf is no light."""
    steps = np.rint(np.exp(values_dbm * (np.log(10.0) / 10.0)) * (1.0 / POWER_MW))
    np.clip(steps, 1.0, POWER_STEPS_MAX, out=steps)
    found: FloatArray = 10.0 * np.log10(steps) + DARK_DBM
    return found


def rate(values: FloatArray) -> FloatArray:
    """Error rates as F16: mantissa × 10^exponent with as many digits as the mantissa has. 0 stays 0."""
    there = values > 0.0
    exponent = np.floor(np.log10(np.where(there, values, 1.0))).astype(np.intp) - 3
    np.clip(exponent, EXPONENT_MIN, EXPONENT_MAX, out=exponent)
    # Mantissas above 2047 only have three digits.
    exponent += np.rint(values / _TENS.take(exponent - EXPONENT_MIN)) > MANTISSA_MAX
    unit = _TENS.take(exponent - EXPONENT_MIN)
    found: FloatArray = np.rint(values / unit) * unit
    return found
