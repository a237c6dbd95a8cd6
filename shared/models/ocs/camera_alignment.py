"""Camera alignment of a circuit's two mirrors: an open-loop slew by table, then camera frames ([LF] 3.2.2).

A monitor beam at 850 nm lights each mirror array, and a camera images it. A *try* starts with an open-loop
slew, which leaves a pointing error of two tilts on either mirror. Each frame then measures the tilts with
noise. If both mirrors appear within the tolerance, the circuit is made; otherwise each moves by the gain
times the measured error. A try fails if a mirror's light is outside the capture range, or if the last frame
is still outside the tolerance. The next try slews again. A circuit that has used all its tries has failed.

With gain g and noise σ a tilt e evolves as e' = (1 − g) e − g n: stable for 0 < g < 2, with a jitter of
variance g σ² ÷ (2 − g). A try does not depend on its circuit. So some ten thousand tries are computed once,
frame by frame (`all_tries`), and every try of a circuit is one of them, drawn by its key: millions of
circuits cost hardly more than as many draws.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.checks import check_not_negative, check_positive
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_bits_array, draw_uniform_array
from shared.basics.units import US_PER_MS, to_whole_us
from shared.models.assumptions import by_default
from shared.models.ocs.ocs_assumptions import ASSUMPTIONS, assumed

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
CodeArray = npt.NDArray[np.int8]

ALIGNED, UNSEEN, UNSTEADY = 0, 1, 2
"""How a try ends."""
REASONS = {
    UNSEEN: "the monitor light of a mirror was not where the camera looked for it",
    UNSTEADY: "the camera did not see both mirrors within the tolerance in one frame",
}
"""Why a try failed, by code."""
POPULATION_BITS = 14
MIRRORS, TILTS = 2, 2
DECIMALS = 6
"""Decimals of a standard normal draw, so differences in the last bit between machines have no effect."""
FRAMES_MAX, TRIES_MAX = 1_000, 64 // POPULATION_BITS
PORT_BITS, TURN_BITS = 10, 37
"""Bits of a key; 17 are left for the number of the OCS."""


@dataclass(frozen=True, slots=True)
class AlignmentLoop:
    """Parameters of the loop, with the names of ASSUMPTIONS. Errors are tilts of a mirror in µrad."""

    slew_ms: float = by_default(ASSUMPTIONS, "slew_ms")
    pointing_urad: float = by_default(ASSUMPTIONS, "pointing_urad")
    frame_ms: float = by_default(ASSUMPTIONS, "frame_ms")
    camera_noise_urad: float = by_default(ASSUMPTIONS, "camera_noise_urad")
    capture_urad: float = by_default(ASSUMPTIONS, "capture_urad")
    gain: float = by_default(ASSUMPTIONS, "gain")
    tolerance_urad: float = by_default(ASSUMPTIONS, "tolerance_urad")
    frames: float = by_default(ASSUMPTIONS, "frames")
    tries: float = by_default(ASSUMPTIONS, "tries")

    def __post_init__(self) -> None:
        for name in ("slew_ms", "frame_ms", "capture_urad", "tolerance_urad", "gain"):
            check_positive(name, getattr(self, name))
        for name in ("pointing_urad", "camera_noise_urad"):
            check_not_negative(name, getattr(self, name))
        for name, most in (("frames", FRAMES_MAX), ("tries", TRIES_MAX)):
            value = getattr(self, name)
            if not (1 <= value <= most and float(value).is_integer()):
                raise InvalidInput(f"{name}: {value} is not allowed; must be a whole number from 1 to {most}")

    @property
    def jitter_urad(self) -> float:
        """Standard deviation of a tilt under the loop; infinite if the gain makes it unstable."""
        if self.gain >= 2.0:
            return math.inf
        return self.camera_noise_urad * math.sqrt(self.gain / (2.0 - self.gain))


@dataclass(frozen=True, eq=False, slots=True)
class AlignmentTries:
    """Simulated tries, read-only.

    Of shape (tries,): duration `time_us`, number of `frames` and result `code`. Of shape (mirrors, tries):
    the final `error_urad`, and whether the mirror `missed`. The missed mirrors of a failed try are those that
    their camera did not see, or saw outside the tolerance in the end.
    """

    time_us: IntArray
    frames: IntArray
    code: CodeArray
    error_urad: FloatArray
    missed: BoolArray


@dataclass(frozen=True, eq=False, slots=True)
class Alignments:
    """Results of some circuits, of shape (circuits,).

    `time_us` from the command to the end, the number of `tries`, and the `code` of the last try, ALIGNED if
    the circuit is made. `last` is the number of that try among all tries `of`.
    """

    time_us: IntArray
    tries: IntArray
    code: CodeArray
    last: IntArray
    of: AlignmentTries

    @property
    def loss_db(self) -> FloatArray:
        """Loss from the remaining pointing errors of both mirrors together."""
        return pointing_loss_db(self.of.error_urad.take(self.last, axis=1))

    @property
    def missed(self) -> BoolArray:
        """Mirrors that were not aligned in the last try, of shape (mirrors, circuits)."""
        return self.of.missed.take(self.last, axis=1)


def simulate_tries(loop: AlignmentLoop, seed: int, count: int) -> AlignmentTries:
    """`count` tries, frame by frame; determined by the seed, each independent of the count."""
    error = np.empty((MIRRORS, TILTS, count))
    for mirror in range(MIRRORS):
        for tilt in range(TILTS):
            error[mirror, tilt] = loop.pointing_urad * _normal(seed, mirror, tilt, 0, np.arange(count))
    frames = np.zeros(count, dtype=np.int64)
    code = np.full(count, UNSTEADY, dtype=np.int8)
    missed = np.zeros((MIRRORS, count), dtype=np.bool_)
    left = np.arange(count)
    for frame in range(1, int(loop.frames) + 1):
        frames[left] = frame
        seen = np.empty((MIRRORS, TILTS, len(left)))
        for mirror in range(MIRRORS):
            for tilt in range(TILTS):
                noise = loop.camera_noise_urad * _normal(seed, mirror, tilt, frame, left)
                seen[mirror, tilt] = error[mirror, tilt, left] + noise
        off_urad = _radius(seen)
        lost = _radius(error[:, :, left]) > loop.capture_urad
        unseen = lost.any(axis=0)
        aligned = ~unseen & (off_urad <= loop.tolerance_urad).all(axis=0)
        code[left[unseen]], code[left[aligned]] = UNSEEN, ALIGNED
        missed[:, left] = np.where(unseen, lost, (off_urad > loop.tolerance_urad) & ~aligned)
        going = ~(unseen | aligned)
        left = left[going]
        if not len(left):
            break
        error[:, :, left] -= loop.gain * seen[:, :, going]
    time_us = to_whole_us(loop.slew_ms, US_PER_MS) + frames * to_whole_us(loop.frame_ms, US_PER_MS)
    found = (time_us, frames, code, _radius(error), missed)
    for array in found:
        array.flags.writeable = False
    return AlignmentTries(*found)


@lru_cache(maxsize=16)
def all_tries(loop: AlignmentLoop) -> AlignmentTries:
    """The tries from which the tries of all circuits are drawn."""
    return simulate_tries(loop, 0, 1 << POPULATION_BITS)


def align(
    loop: AlignmentLoop, seed: int, fabric: str, ocs: IntArray, north: IntArray, turn: IntArray
) -> Alignments:
    """Aligns the circuits at these North ports; `turn` counts the commands of each OCS. All of shape
    (circuits,).

    The result of a circuit does not depend on other circuits or OCSes.
    """
    key = ((ocs << PORT_BITS | north) << TURN_BITS | turn).view(np.uint64)
    of = all_tries(loop)
    bits = draw_bits_array(seed, fabric, "alignment", key)
    last = _chosen(bits, 0)
    time_us, code = of.time_us.take(last), of.code.take(last)
    tries = np.ones(len(key), dtype=np.int64)
    again = code.nonzero()[0]
    for number in range(1, int(loop.tries)):
        if not len(again):
            break
        tried = _chosen(bits[again], number)
        last[again] = tried
        time_us[again] += of.time_us.take(tried)
        code[again] = of.code.take(tried)
        tries[again] += 1
        again = again[code[again] != ALIGNED]
    return Alignments(time_us, tries, code, last, of)


def longest_us(loop: AlignmentLoop) -> int:
    """Time of a circuit that uses all its tries and all their frames."""
    frames_us = int(loop.frames) * to_whole_us(loop.frame_ms, US_PER_MS)
    return int(loop.tries) * (to_whole_us(loop.slew_ms, US_PER_MS) + frames_us)


def failure_probability(loop: AlignmentLoop) -> float:
    """Probability that all tries of a circuit fail independently."""
    return failing_share(loop) ** int(loop.tries)


def failing_share(loop: AlignmentLoop) -> float:
    """Share of failed tries among all simulated ones."""
    return float((all_tries(loop).code != ALIGNED).mean())


@lru_cache(maxsize=64)
def expected_us(loop: AlignmentLoop, circuits: int) -> int:
    """Mean time until the slowest of `circuits` circuits aligned in parallel ends."""
    times_us, shares = np.array(sorted(_spans(loop).items())).T
    slowest = np.cumsum(shares) ** circuits
    return round(float(times_us @ np.diff(slowest, prepend=0.0)))


def _spans(loop: AlignmentLoop) -> dict[int, float]:
    """Distribution of the total time of a circuit: microseconds → share of circuits."""
    of = all_tries(loop)
    ends = [
        (int(time_us), is_last, number / len(of.code))
        for is_last in (True, False)
        for time_us, number in zip(
            *np.unique(of.time_us[(of.code == ALIGNED) == is_last], return_counts=True), strict=True
        )
    ]
    spans, going = defaultdict[int, float](float), {0: 1.0}
    for number in range(1, int(loop.tries) + 1):
        before, going = going, defaultdict[int, float](float)
        for so_far_us, share in before.items():
            for time_us, is_last, chance in ends:
                after = spans if is_last or number == loop.tries else going
                after[so_far_us + time_us] += share * chance
    return spans


def pointing_loss_db(error_urad: FloatArray) -> FloatArray:
    """Loss from pointing errors, of shape (mirrors, …) → (…).

    Quadratic in the error, as for a Gaussian beam.
    """
    per_square = assumed("pointing_loss_db_per_mrad2") * 1e-6
    found: FloatArray = np.round(per_square * (error_urad**2).sum(axis=0), 4)
    return found


def pointing_error_urad(loss_db: FloatArray) -> FloatArray:
    """The inverse for single mirrors: the error that causes a loss, of the same shape."""
    found: FloatArray = np.sqrt(loss_db / assumed("pointing_loss_db_per_mrad2")) * 1e3
    return found


def drift_loss_db(hours: float, arrays: int = MIRRORS) -> float:
    """Mean extra loss of a circuit this long after the camera or monitor beam of `arrays` arrays failed.

    Each of two tilts of a mirror is a random walk, so the mean square of the error grows with time.
    """
    check_not_negative("hours", hours)
    square_mrad2 = arrays * TILTS * (assumed("drift_urad_per_rt_h") * 1e-3) ** 2 * hours
    return assumed("pointing_loss_db_per_mrad2") * square_mrad2


def _chosen(bits: npt.NDArray[np.uint64], number: int) -> IntArray:
    """The simulated try for this try of each circuit; each try has its own bits of the key."""
    left = np.uint64(64 - POPULATION_BITS * (number + 1))
    return ((bits >> left) & np.uint64((1 << POPULATION_BITS) - 1)).view(np.int64)


def _normal(seed: int, mirror: int, tilt: int, frame: int, tries: IntArray) -> FloatArray:
    purpose = f"mirror {mirror} tilt {tilt} frame {frame}"
    uniform = draw_uniform_array(seed, "alignment", purpose, tries.astype(np.uint64))
    found: FloatArray = np.round(scipy.special.ndtri(uniform), DECIMALS)
    return found


def _radius(tilts: FloatArray) -> FloatArray:
    """Shape (mirrors, tilts, tries) → (mirrors, tries)."""
    found: FloatArray = np.sqrt(tilts[:, 0] ** 2 + tilts[:, 1] ** 2)
    return found
