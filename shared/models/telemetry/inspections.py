"""A look at link ends: how far what their modules say is from what should be there.

What should be there is known from acceptance (every module's monitors were compared with a meter), from the
factory's matrix of the OCS for the circuit that the end is on, and from the hall's temperature. Each of these
is a little wrong, for good: of an end, or of a circuit. The lanes of a strand are averaged, since nothing but
lies strikes one lane alone.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.basics.keyed_random import draw_bits_array
from shared.models.assumptions import assumed
from shared.models.optics.manufactured_modules import purpose_of_generation
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.superpod.wiring import STRANDS, IntArray
from shared.models.telemetry.module_readings import FloatArray, ModuleCalibration, PhysicalLight, Readings
from shared.models.telemetry.noise import normals
from shared.models.telemetry.registers import DARK_DBM

FABRICS_KEPT_MAX = 64
LANES = LANES_PER_LINK // STRANDS
MATRIX_SIGMAS = 2.0
"""The accuracy of the matrix is that of nearly all its entries."""
CLOSED_DB = 0.0
"""The SNR of an eye that is closed: no less can be told."""
LIT_DBM = DARK_DBM + 3.0
"""From here on a monitor sees something that is not its own noise."""
READINGS_PER_INSPECTION = 4
"""Their mean halves the noise of one; they are a minute apart."""
CLEARS_BELOW = 0.7
"""Of a threshold: below that an end stands out no more."""
NOISE_SIGMAS = 6.0
"""What is nearer to a threshold than so many standard deviations of the noise may cross it by noise alone."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """From how far off on an end stands out by one departure, either way or only upwards; `step` is by how
    much it has to move to be news. `noise`: the assumption that is the noise of one reading of a lane, over
    so many lanes."""

    beyond: float
    step: float
    noise: str | None = None
    lanes: int = LANES
    upwards: bool = False


THRESHOLDS = {
    "rx_db": Threshold(0.4, 0.4, "reading_power_noise_db"),
    "tx_db": Threshold(0.4, 0.4, "reading_power_noise_db"),
    "snr_db": Threshold(0.6, 0.6, "reading_snr_noise_db"),
    "mpi_db": Threshold(2.0, 2.0, "reading_mpi_noise_db", upwards=True),
    "bias": Threshold(0.06, 0.05, "reading_bias_noise", LANES_PER_LINK, upwards=True),
    "warmer_k": Threshold(4.0, 4.0, "reading_temperature_noise_k", 1, upwards=True),
    "spread_db": Threshold(1.0, 1.0, upwards=True),
    "age_min": Threshold(10.0, 60.0, upwards=True),
    "outages": Threshold(2.5, 2.5, upwards=True),
}
"""By field of Look. Power: half a dB is what the least faults take, and 0.4 dB five times what acceptance and
matrix are off by together."""
FLAGS = ("silent", "unchanged")


@dataclass(frozen=True, slots=True)
class ExpectationOffsets:
    """How far what is expected of ends is off, for good, read-only. Of shape (ends, strands): received and
    launched power and SNR in dB, MPI in dB; of shape (ends,): bias as a share of it, temperature in K."""

    rx_db: FloatArray
    tx_db: FloatArray
    snr_db: FloatArray
    mpi_db: FloatArray
    bias: FloatArray
    warmer_k: FloatArray


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def acceptance(seed: int, fabric: str, ends: int) -> ExpectationOffsets:
    """Of the first so many link ends of a fabric, without their circuits; kept at hand."""
    return accepted(seed, fabric, np.arange(ends))


def accepted(seed: int, fabric: str, ends: IntArray, generation: int = 0) -> ExpectationOffsets:
    """Of the modules of one generation at these link ends, without their circuits. How warm a place is does
    not go by its module."""
    numbers = ends.astype(np.uint64)
    strands = STRANDS * ends[:, None] + np.arange(STRANDS)
    by_strand = draw_bits_array(
        seed, fabric, purpose_of_generation("acceptance", generation), strands.astype(np.uint64)
    )
    by_end = draw_bits_array(seed, fabric, purpose_of_generation("module acceptance", generation), numbers)
    by_place = draw_bits_array(seed, fabric, "module acceptance", numbers)
    power_db = assumed("accepted_power_sigma_db")
    found = ExpectationOffsets(
        power_db * normals(by_strand, 0),
        power_db * normals(by_strand, 1),
        assumed("accepted_snr_sigma_db") * normals(by_strand, 2),
        assumed("accepted_mpi_sigma_db") * normals(by_strand, 3),
        assumed("accepted_bias_sigma") * normals(by_end, 0),
        assumed("accepted_temperature_sigma_k") * normals(by_place, 1),
    )
    for array in (found.rx_db, found.tx_db, found.snr_db, found.mpi_db, found.bias, found.warmer_k):
        array.flags.writeable = False
    return found


def matrix_off_db(seed: int, fabric: str, ends: IntArray, peers: IntArray) -> FloatArray:
    """How far the factory's matrix is off for the circuits between these link ends, of shape (n, strands):
    the same seen from both ends. 0 where there is no far end (−1)."""
    first = np.minimum(ends, peers).astype(np.uint64)
    second = np.maximum(ends, peers).astype(np.uint64)
    circuit = (first << np.uint64(20)) + second
    keys: npt.NDArray[np.uint64] = np.stack(
        [circuit * np.uint64(STRANDS) + np.uint64(strand) for strand in range(STRANDS)], axis=1
    )
    found = normals(draw_bits_array(seed, fabric, "matrix accuracy", keys), 0)
    sigma_db = assumed("ocs_matrix_accuracy_db") / MATRIX_SIGMAS
    return np.where(peers[:, None] < 0, 0.0, sigma_db * found)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What stands at one link end that carries a link, or did not (`far` is None, and all that depends on
    light that comes in as well).

    By strand, over what is expected: received power, SNR, MPI, launched power in dB; None where there is
    none. `bias` as a share, `warmer_k`; `spread_db` is how far the lanes of the worse strand scatter about
    their mean, received or launched; `silent`: the module says nothing at all; `age_min`: how old it says
    that its readings are; `unchanged`: they are to the last digit what they were an interval ago; `outages`
    of the last day.
    """

    end: int
    far: int | None
    silent: bool
    rx_db: tuple[float | None, float | None]
    tx_db: tuple[float | None, float | None]
    snr_db: tuple[float | None, float | None]
    mpi_db: tuple[float | None, float | None]
    bias: float
    warmer_k: float
    spread_db: float
    age_min: float
    unchanged: bool
    outages: int


@dataclass(frozen=True, slots=True)
class Deviations:
    """How far the readings of n ends are from what is expected; fields as in Look. By strand of shape (n,
    strands), else (n,); not a number where there is nothing to measure, or no light."""

    rx_db: FloatArray
    tx_db: FloatArray
    snr_db: FloatArray
    mpi_db: FloatArray
    bias: FloatArray
    warmer_k: FloatArray
    spread_db: FloatArray
    silent: npt.NDArray[np.bool_]


def deviations(
    readings: Readings,
    expected: PhysicalLight,
    made: ModuleCalibration,
    off: ExpectationOffsets,
    ends: IntArray,
) -> Deviations:
    """Of the mean of some readings from the light as made, by the calibration that the modules were accepted
    with and what that is off by (of these ends, circuits included). Readings are of these ends, one after
    another, READINGS_A_LOOK times."""
    rx_dbm, tx_dbm = _mean(readings, "rx_power_dbm"), _mean(readings, "tx_power_dbm")
    rx_db = rx_dbm - expected.received_dbm - made.rx_db[ends]
    tx_db = tx_dbm - expected.launched_dbm - made.tx_db[ends]
    rx_db[(rx_dbm < LIT_DBM) | np.isinf(rx_db)] = np.nan
    tx_db[tx_dbm < LIT_DBM] = np.nan
    temperature_c = _mean(readings, "temperature_c") - made.temperature_k[ends]
    warmer_k = temperature_c - assumed("laser_bias_at_c")
    usual_ma = (
        assumed("laser_bias_ma") * made.bias[ends] * (1.0 + assumed("laser_bias_per_k") * warmer_k)[:, None]
    )
    usual_ma *= 1.0 + expected.wear
    usual_mpi_db = np.maximum(expected.interference_db, assumed("reading_mpi_floor_db"))
    rx = by_strand(rx_db)
    return Deviations(
        rx + off.rx_db,
        by_strand(tx_db) + off.tx_db,
        by_strand(_open_db(_mean(readings, "snr_db")) - _open_db(expected.snr_db)) + off.snr_db,
        by_strand(_mean(readings, "mpi_db") - usual_mpi_db) + off.mpi_db,
        (_mean(readings, "bias_ma") / usual_ma).mean(axis=1) - 1.0 + off.bias,
        temperature_c - expected.temperature_c + off.warmer_k,
        np.fmax(spread_db(rx_db), spread_db(tx_db)),
        np.isnan(readings.temperature_c[: len(ends)]),
    )


def by_strand(lanes: FloatArray) -> FloatArray:
    """The mean of the lanes of each strand, of shape (n, strands); not a number if one of them is."""
    found: FloatArray = lanes.reshape(len(lanes), STRANDS, LANES).mean(axis=2)
    return found


def spread_db(lanes: FloatArray) -> FloatArray:
    """How far the lanes of a strand scatter about their mean, of the worse strand, of shape (n,)."""
    by_lane = lanes.reshape(len(lanes), STRANDS, LANES)
    found = (by_lane - by_lane.mean(axis=2, keepdims=True)).std(axis=2)
    spread: FloatArray = np.fmax(found[:, 0], found[:, 1])
    return spread


def _open_db(snr_db: FloatArray) -> FloatArray:
    found: FloatArray = np.maximum(snr_db, CLOSED_DB)
    return found


def may_false_alarm(off: ExpectationOffsets) -> npt.NDArray[np.bool_]:
    """Which ends could stand out with nothing wrong with them, of shape (n,): what is expected of them is so
    far off that the noise of a look may carry it over a threshold."""
    found = np.zeros(len(off.bias), dtype=np.bool_)
    for name, threshold in THRESHOLDS.items():
        if threshold.noise is None:
            continue
        noise = assumed(threshold.noise) / np.sqrt(READINGS_PER_INSPECTION * threshold.lanes)
        amount = getattr(off, name)
        beyond = (amount if threshold.upwards else np.abs(amount)) > threshold.beyond - NOISE_SIGMAS * noise
        found |= beyond.any(axis=1) if beyond.ndim > 1 else beyond
    return found


def stands_out(inspection: Inspection, *, did: bool = False) -> bool:
    """Whether there is something about an end that should not be. That light does not come in is known to
    those who lost it, and of a module that is silent its host knows. One that `did` stand out does so until
    it is well below the threshold: what is just at it should not come and go."""
    share = CLEARS_BELOW if did else 1.0
    if inspection.unchanged or (not inspection.silent and None in inspection.tx_db):
        return True
    for name, threshold in THRESHOLDS.items():
        for amount in _amounts(inspection, name):
            size = 0.0 if amount is None else amount if threshold.upwards else abs(amount)
            if size > share * threshold.beyond:
                return True
    return False


def has_moved(inspection: Inspection, reported: Inspection) -> bool:
    """Whether an end has moved by a step since it was told of."""
    if inspection.far != reported.far or any(
        getattr(inspection, flag) != getattr(reported, flag) for flag in FLAGS
    ):
        return True
    for name, threshold in THRESHOLDS.items():
        for now, before in zip(_amounts(inspection, name), _amounts(reported, name), strict=True):
            if (now is None) != (before is None):
                return True
            if now is not None and before is not None and abs(now - before) > threshold.step:
                return True
    return False


def reads_as_much(inspection: Inspection, reported: Inspection) -> bool:
    """Whether all can be read of an end that could when it was told of: else nobody knows whether what stood
    out then still does. Of what is not linked, or gets no light, nothing that depends on light is read."""
    return not inspection.silent and not any(
        now is None and before is not None
        for name in THRESHOLDS
        for now, before in zip(_amounts(inspection, name), _amounts(reported, name), strict=True)
    )


def _amounts(inspection: Inspection, name: str) -> tuple[float | None, ...]:
    value = getattr(inspection, name)
    return value if isinstance(value, tuple) else (value,)


def _mean(readings: Readings, name: str) -> FloatArray:
    """Of one field over the readings of each end."""
    values = readings.field(name)
    by_reading = values.reshape(READINGS_PER_INSPECTION, -1, *values.shape[1:])
    total: FloatArray = by_reading[0].copy()
    for one in by_reading[1:]:
        total += one
    return total / READINGS_PER_INSPECTION
