"""The receiver of one lane: levels, noise, and the bit error rate that they leave.

[LF] 3.3.1, 4.1.2, Figures 11 and 12. Light of average power P carries 2 (NRZ) or 4 (PAM4) evenly spaced
levels. The noise of each level adds up, in variances of photocurrent: thermal, shot, laser intensity noise,
what transmitter and signal processing distort, and the beat of the level with interfering light in band.
Between two levels with currents I and deviations σ the decision has Q = (I' − I) ÷ (σ' + σ), and errs with
probability ½ erfc(Q ÷ √2).
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used: a quarter of a second

from shared.models.assumptions import assumed
from shared.models.optics.modules import LaneRate

FloatArray = npt.NDArray[np.float64]

BER_THRESHOLD = 2e-4
"""Before the outer code, KP4 ([LF] 4.1.2)."""
W_PER_MW = 1e-3
ELECTRON_C = 1.602176634e-19
SYMBOL_GBD = {10: 10.3125, 25: 25.78125, 50: 26.5625, 100: 53.125}
"""Symbol rates by Gb/s of the lane, as Ethernet has them: NRZ with its line code, PAM4 with KP4 as well. What
the inner code adds is not counted, and every rate is measured by the same codes."""
LEVELS = {"NRZ": 2, "PAM4": 4}


@dataclass(frozen=True, slots=True)
class Receiver:
    """What receives one lane. `mitigation`: the digital notch that takes off most of the beat with
    interference (OIM). `soft_fec`: the inner code, whose gain counts as a larger Q."""

    rate: LaneRate
    mitigation: bool = True
    soft_fec: bool = True

    @property
    def levels(self) -> int:
        return LEVELS[self.rate.modulation]

    @property
    def symbol_gbd(self) -> float:
        return SYMBOL_GBD[self.rate.gbps]

    def ber(self, received_dbm: FloatArray, interference_db: FloatArray) -> FloatArray:
        """Bit error rate before the outer code, of the broadcast shape. `received_dbm` is the average
        power, `interference_db` that of interfering light over it (MPI). 0 where it is too small to write."""
        errs: FloatArray = np.asarray(0.0)
        for minus_q in self._minus_q(received_dbm, interference_db):
            errs = errs + scipy.special.ndtr(minus_q)
        return errs * self._errors_per_bit

    def log10_ber(self, received_dbm: FloatArray, interference_db: FloatArray) -> FloatArray:
        """The logarithm of `ber`, also where the rate itself is too small to write."""
        logs = [scipy.special.log_ndtr(q) for q in self._minus_q(received_dbm, interference_db)]
        total: FloatArray = np.logaddexp.reduce(np.stack(np.broadcast_arrays(*logs)), axis=0)
        found: FloatArray = (total + np.log(self._errors_per_bit)) / np.log(10.0)
        return found

    def uncoded(self) -> "Receiver":
        """The same without the inner code."""
        return Receiver(self.rate, self.mitigation, soft_fec=False)

    @property
    def _errors_per_bit(self) -> float:
        """Of the sum over the decisions: each errs for the two levels beside it, one bit of a symbol in Gray
        code."""
        return 2.0 / (self.levels * math.log2(self.levels))

    def _minus_q(self, received_dbm: FloatArray, interference_db: FloatArray) -> list[FloatArray]:
        """−Q of every decision, lowest first."""
        power_w = W_PER_MW * 10.0 ** (np.asarray(received_dbm) / 10.0)
        interference = 10.0 ** (np.asarray(interference_db) / 10.0)
        extinction = 10.0 ** (assumed("laser_extinction_db") / 10.0)
        low, high = 2.0 / (1.0 + extinction), 2.0 * extinction / (1.0 + extinction)
        relative = np.linspace(low, high, self.levels)
        deviations = [self._deviation(power_w, level, high - low, interference) for level in relative]
        current = assumed("receiver_responsivity_a_per_w") * power_w
        gain = 10.0 ** (assumed("soft_fec_gain_db") / 20.0) if self.soft_fec else 1.0
        step = gain * (high - low) / (self.levels - 1)
        return [-step * current / (lower + upper) for lower, upper in pairwise(deviations)]

    def _deviation(
        self, power_w: FloatArray, level: float, swing: float, interference: FloatArray
    ) -> FloatArray:
        """σ of the photocurrent at one level, in A; `level` and `swing` are relative to the average."""
        bandwidth_hz = assumed("receiver_bandwidth") * self.symbol_gbd * 1e9
        current = assumed("receiver_responsivity_a_per_w") * power_w
        thermal = (assumed("receiver_noise_pa_per_rthz") * 1e-12) ** 2 * bandwidth_hz
        shot = 2.0 * ELECTRON_C * level * current * bandwidth_hz
        relative = 10.0 ** (assumed("laser_intensity_noise_db_per_hz") / 10.0) * bandwidth_hz * level**2
        relative = relative + swing**2 * 10.0 ** (-assumed("signal_to_distortion_db") / 10.0)
        left = 1.0 - assumed("mitigation_share") if self.mitigation else 1.0
        beat = 2.0 * assumed("interference_overlap") * left * level * interference
        variance: FloatArray = thermal + shot + (relative + beat) * current**2
        return np.sqrt(variance)
