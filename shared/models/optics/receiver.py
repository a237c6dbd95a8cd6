"""The receiver of one lane: levels, noise, beat and the resulting error rate, the last step of `lane_ber`.

[LF] 3.3.1, 4.1.2, Figures 11 and 12. Light of average power P has 2 (NRZ) or 4 (PAM4) evenly spaced levels.
The noise of each level adds up in variances of photocurrent: thermal, shot, laser intensity noise, distortion
by transmitter and signal processing, and the beat with all reflections but the strongest. The strongest
shifts the level within bounds, by its phase and its data (`beat`). The slicer between two levels is where
both have the same error rate by their total deviations; a level is wrong if its shifted noise crosses the
slicer.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used: a quarter of a second

from shared.models.assumptions import assumed
from shared.models.optics.fec import OVERHEAD, decoded_log10
from shared.models.optics.lane_parts import LaneParts, parts_of
from shared.models.optics.module_kinds import LaneRate
from shared.models.optics.multipath_interference import has_a_tone, is_steady, passed, products

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

BER_THRESHOLD = 2e-4
"""Threshold before the outer code, KP4 ([LF] 4.1.2)."""
W_PER_MW = 1e-3
ELECTRON_C = 1.602176634e-19
SYMBOL_GBD = {10: 10.3125, 25: 25.78125, 50: 26.5625, 100: 53.125}
"""Symbol rates by Gb/s of the lane, as in Ethernet: NRZ with its line code, PAM4 also with KP4. The inner
code is added on top. Every rate is measured with the same codes."""
LEVELS = {"NRZ": 2, "PAM4": 4}
PHASES = 12
"""Phases of a beat that are evaluated (Gauss–Chebyshev: exact for polynomials of twice the degree)."""
NONE = np.asarray(-np.inf)
TOGETHER_MAX = 1_024
"""Lanes evaluated together: their phases fit a processor's cache."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiver of one lane.

    `mitigation`: the digital notch that removes the tone of the beat with interference (OIM). `soft_fec`: the
    inner code.
    """

    rate: LaneRate
    mitigation: bool = True
    soft_fec: bool = True

    @property
    def levels(self) -> int:
        return LEVELS[self.rate.modulation]

    @property
    def symbol_gbd(self) -> float:
        """Including the inner code's bits, if it is used."""
        return SYMBOL_GBD[self.rate.gbps] * (OVERHEAD if self.soft_fec else 1.0)

    @property
    def bit_gbps(self) -> float:
        """Line rate, including the inner code's bits."""
        return self.symbol_gbd * math.log2(self.levels)

    @property
    def bandwidth_ghz(self) -> float:
        return assumed("receiver_bandwidth") * self.symbol_gbd

    @property
    def parts(self) -> LaneParts:
        return parts_of(self.rate)

    def ber(
        self,
        received_dbm: FloatArray,
        interference_db: FloatArray,
        rest_db: FloatArray = NONE,
        offset_ghz: FloatArray | None = None,
        extinction_db: FloatArray | None = None,
    ) -> FloatArray:
        """Bit error rate before the outer code, from `log10_ber`. 0 if it is too small for a float."""
        found: FloatArray = 10.0 ** self.log10_ber(
            received_dbm, interference_db, rest_db, offset_ghz, extinction_db
        )
        return found

    def log10_ber(
        self,
        received_dbm: FloatArray,
        interference_db: FloatArray,
        rest_db: FloatArray = NONE,
        offset_ghz: FloatArray | None = None,
        extinction_db: FloatArray | None = None,
    ) -> FloatArray:
        """log10 of the bit error rate before the outer code, of the broadcast shape.

        `received_dbm` is the average power; `interference_db` is the strongest reflection relative to it and
        `rest_db` all others together (MPI is the sum of both). Their laser is `offset_ghz` from the signal's;
        without it the beat is in the middle of the band and no tone stands still. The signal's extinction
        ratio is that of the components unless given.
        """
        extinction = self.parts.extinction_db if extinction_db is None else extinction_db
        offsets = () if offset_ghz is None else (offset_ghz,)
        given = (received_dbm, interference_db, rest_db, np.asarray(extinction), *offsets)
        alike = len({array.shape for array in given}) == 1
        arrays = given if alike else np.broadcast_arrays(*given)
        flat = [np.asarray(array, dtype=np.float64).ravel() for array in arrays]
        found = np.empty(flat[0].size)
        for start in range(0, len(found), TOGETHER_MAX):
            part = slice(start, start + TOGETHER_MAX)
            found[part] = self._log10_ber(*(array[part] for array in flat))
        return found.reshape(arrays[0].shape)

    def uncoded(self) -> "Receiver":
        """The same without decoding the inner code, at the same symbol rate: the errors of its decisions."""
        return _Uncoded(self.rate, self.mitigation, self.soft_fec)

    @property
    def errors_per_decision(self) -> float:
        """Wrong bits of a symbol in Gray code, over its bits: 1 of 1 for NRZ, 6 ÷ 4 ÷ 2 for PAM4."""
        return 2.0 * (self.levels - 1) / (self.levels * math.log2(self.levels))

    def _log10_ber(
        self,
        received_dbm: FloatArray,
        interference_db: FloatArray,
        rest_db: FloatArray,
        extinction_db: FloatArray,
        offset_ghz: FloatArray | None = None,
    ) -> FloatArray:
        """The same for flat arrays of one length."""
        in_band, notched, steady = self._beat(offset_ghz)
        strongest, rest = (in_band * 10.0 ** (db / 10.0) for db in (interference_db, rest_db))
        levels = self.relative_levels(extinction_db)
        beats = products(levels, notched)
        current_a = assumed("receiver_responsivity_a_per_w") * W_PER_MW * 10.0 ** (received_dbm / 10.0)
        noise = self._noise(current_a, levels) + 2.0 * rest * _mean(beats**2, (1,))
        deviation = np.sqrt(noise)
        if not strongest.any():
            return self._coded(_log10_errors(levels, deviation, deviation, None))
        swing = 2.0 * np.sqrt(strongest) * beats
        total = np.sqrt(noise + 0.5 * _mean(swing**2, (1,)))
        by_phase = _log10_errors(levels, deviation, total, swing)
        over_phases = _mean_log10(by_phase)
        if steady is None or not steady.any():
            return self._coded(over_phases)
        # One call for both.
        coded = self._coded(np.concatenate([over_phases[None], by_phase]))
        found: FloatArray = np.where(steady, _mean_log10(coded[1:]), coded[0])
        return found

    def _beat(
        self, offset_ghz: FloatArray | None
    ) -> tuple[FloatArray | float, FloatArray | float, BoolArray | None]:
        """(share of its power in band, 1 where the notch removes its tone, whether it stands still)."""
        overlap = assumed("interference_overlap")
        if offset_ghz is None:
            return overlap, float(self.mitigation), None
        notched = has_a_tone(offset_ghz) & self.mitigation
        steady = is_steady(offset_ghz, self.bit_gbps) if self.soft_fec else None
        return passed(offset_ghz, self.bandwidth_ghz) * overlap, notched.astype(np.float64), steady

    def _coded(self, log10_errors: FloatArray) -> FloatArray:
        """Bit error rates from decision error rates."""
        raw = log10_errors + math.log10(self.errors_per_decision)
        return decoded_log10(raw, self.errors_per_decision) if self.soft_fec else raw

    def relative_levels(self, extinction_db: FloatArray) -> FloatArray:
        """Powers of the evenly spaced levels over their average, of shape (M, …)."""
        extinction = 10.0 ** (extinction_db / 10.0)
        both = 1.0 + extinction
        low, high = 2.0 / both, 2.0 * extinction / both
        # Bit-identical to `np.linspace`, at a third of its cost for a few lanes.
        steps = _numbers(self.levels).reshape(-1, *(1,) * extinction.ndim)
        found: FloatArray = steps * ((high - low) / (self.levels - 1)) + low
        found[-1] = high
        return found

    def _noise(self, current_a: FloatArray, levels: FloatArray) -> FloatArray:
        """Variance at every level over the square of the average current, of shape (M, lanes)."""
        parts, bandwidth_hz = self.parts, 1e9 * self.bandwidth_ghz
        thermal = (parts.noise_pa_per_rthz * 1e-12) ** 2 * bandwidth_hz / current_a**2
        shot = 2.0 * ELECTRON_C * levels * bandwidth_hz / current_a
        laser = 10.0 ** (parts.intensity_noise_db_per_hz / 10.0) * bandwidth_hz * levels**2
        distortion = (levels[-1] - levels[0]) ** 2 * 10.0 ** (-assumed("signal_to_distortion_db") / 10.0)
        found: FloatArray = thermal + shot + laser + distortion
        return found


@dataclass(frozen=True, slots=True)
class _Uncoded(Receiver):
    """A receiver that gets the inner code's bits but does not decode them."""

    def _coded(self, log10_errors: FloatArray) -> FloatArray:
        return log10_errors + math.log10(self.errors_per_decision)


def _log10_errors(
    levels: FloatArray, deviation: FloatArray, total: FloatArray, swing: FloatArray | None
) -> FloatArray:
    """log10 of the decision error rate, the mean over all M − 1 decisions and both levels of each.

    Levels and deviations of shape (M, lanes), in units of the average current. `total` counts the strongest
    reflection as noise and determines the slicer position. `swing`, of shape (M, M, lanes), is the largest
    shift of a level by that reflection; the result is then by phase, of shape (phases, lanes).
    """
    step = levels[1:] - levels[:-1]
    up = step * total[:-1] / (total[:-1] + total[1:])
    minus_q = np.concatenate([-up / deviation[:-1], (up - step) / deviation[1:]])
    if swing is not None:
        relative = swing / deviation[:, None]
        shift = np.concatenate([relative[:-1], relative[1:]])[:, :, None] * _cosines()[:, None]
        shift += minus_q[:, None, None]
        minus_q = shift
    errs = scipy.special.ndtr(minus_q)
    kept = (0,) if swing is None else (0, 1)
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log10(_mean(errs, kept))
    lost = np.isneginf(found)
    if lost.any():  # too small to write
        logs = scipy.special.log_ndtr(minus_q[..., lost])
        count = math.prod(logs.shape[axis] for axis in kept)
        found[lost] = (np.logaddexp.reduce(logs, axis=kept) - math.log(count)) / math.log(10.0)
    return found


def _mean_log10(by_phase: FloatArray) -> FloatArray:
    """log10 of the mean over the first axis."""
    most = by_phase.max(axis=0)
    found: FloatArray = most + np.log10(_mean(10.0 ** (by_phase - most), (0,)))
    return found


def _mean(array: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """Like `np.mean` over these axes, whose checks cost more than the sum of a few lanes."""
    found: FloatArray = np.add.reduce(array, axes) / math.prod(array.shape[axis] for axis in axes)
    return found


@lru_cache(maxsize=4)
def _numbers(count: int) -> FloatArray:
    """0, 1, … below the count."""
    found = np.arange(count, dtype=np.float64)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1)
def _cosines() -> FloatArray:
    """Cosines of all phases, equally likely, by Gauss and Chebyshev."""
    found: FloatArray = np.cos(np.pi * (np.arange(PHASES) + 0.5) / PHASES)
    return found
