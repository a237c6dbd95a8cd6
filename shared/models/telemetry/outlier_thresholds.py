"""Outlier thresholds: when a link end stands out by its module readings, compared with expected values.

Expected values come from acceptance (every module's monitors were compared with a meter), from the factory's
loss matrix of the OCS for the end's circuit, and from the hall's temperature. Each has a small constant
error, of an end or of a circuit. The lanes of a strand are averaged, because only lying sensors affect a
single lane.
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
"""The accuracy of the matrix covers nearly all its entries: two standard deviations."""
CLOSED_DB = 0.0
"""The SNR of a closed eye, the lowest value that can be measured."""
LIT_DBM = DARK_DBM + 3.0
"""From this power on a monitor sees more than its own noise."""
READINGS_PER_INSPECTION = 4
"""Readings of one inspection, a minute apart; their mean has half the noise of one."""
CLEARS_BELOW = 0.7
"""Share of a threshold below which an end is no longer an outlier."""
NOISE_SIGMAS = 6.0
"""Values within this many standard deviations of the noise of a threshold may cross it by noise alone."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """An end is an outlier if one deviation is beyond `beyond`, in either direction or only upwards.

    `step` is the change that is worth a new report. `noise` is the assumption with the noise of one reading
    of a lane, averaged over `lanes` lanes.
    """

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
"""By field of Inspection. Power: the smallest faults take half a dB, and 0.4 dB is five times the combined
error of acceptance and matrix."""
FLAGS = ("silent", "unchanged")


@dataclass(frozen=True, slots=True)
class ExpectationOffsets:
    """Constant errors of the expected values of ends, read-only.

    Of shape (ends, strands): received and launched power and SNR in dB, MPI in dB. Of shape (ends,): bias as
    a share of it, temperature in K.
    """

    rx_db: FloatArray
    tx_db: FloatArray
    snr_db: FloatArray
    mpi_db: FloatArray
    bias: FloatArray
    warmer_k: FloatArray


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def acceptance(seed: int, fabric: str, ends: int) -> ExpectationOffsets:
    """Of the first `ends` link ends of a fabric, without their circuits; cached."""
    return accepted(seed, fabric, np.arange(ends))


def accepted(seed: int, fabric: str, ends: IntArray, generation: int = 0) -> ExpectationOffsets:
    """Of the modules of one generation at these link ends, without their circuits.

    The temperature of a place does not depend on its module.
    """
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
    """Errors of the factory's matrix for the circuits between these link ends, of shape (n, strands).

    The same seen from both ends. 0 if there is no far end (−1).
    """
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
    """Deviations at one link end, with or without a link (then `far` is None, and so is everything that
    depends on received light).

    - `rx_db`, `snr_db`, `mpi_db`, `tx_db`: by strand, received power, SNR, MPI and launched power over the
      expected value in dB; None if there is none.
    - `bias`: as a share. `warmer_k`: temperature.
    - `spread_db`: scatter of the lanes of the worse strand about their mean, received or launched.
    - `silent`: the module does not answer. `age_min`: age of its readings by its own timestamp.
    - `unchanged`: the readings are identical to those of an interval ago.
    - `outages`: those of the last day.
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
    """Deviations of the readings of n ends from the expected values; fields as in Inspection.

    By strand of shape (n, strands), else (n,); NaN if there is nothing to measure, or no light.
    """

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
    """Deviations of mean readings from the light as manufactured.

    `made` is the calibration at acceptance and `off` the errors of the expected values (of these ends,
    circuits included). Readings are of these ends, one after another, READINGS_PER_INSPECTION times.
    """
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
    """The mean of the lanes of each strand, of shape (n, strands); NaN if one of them is."""
    found: FloatArray = lanes.reshape(len(lanes), STRANDS, LANES).mean(axis=2)
    return found


def spread_db(lanes: FloatArray) -> FloatArray:
    """Scatter of the lanes about their mean, of the worse strand, of shape (n,)."""
    by_lane = lanes.reshape(len(lanes), STRANDS, LANES)
    found = (by_lane - by_lane.mean(axis=2, keepdims=True)).std(axis=2)
    spread: FloatArray = np.fmax(found[:, 0], found[:, 1])
    return spread


def _open_db(snr_db: FloatArray) -> FloatArray:
    found: FloatArray = np.maximum(snr_db, CLOSED_DB)
    return found


def may_false_alarm(off: ExpectationOffsets) -> npt.NDArray[np.bool_]:
    """Which ends may be outliers without a fault, of shape (n,).

    The error of their expected values is so large that the noise of an inspection may carry it over a
    threshold.
    """
    found = np.zeros(len(off.bias), dtype=np.bool_)
    for name, threshold in THRESHOLDS.items():
        if threshold.noise is None:
            continue
        noise = assumed(threshold.noise) / np.sqrt(READINGS_PER_INSPECTION * threshold.lanes)
        amount = getattr(off, name)
        beyond = (amount if threshold.upwards else np.abs(amount)) > threshold.beyond - NOISE_SIGMAS * noise
        found |= beyond.any(axis=1) if beyond.ndim > 1 else beyond
    return found


def is_outlier(inspection: Inspection, *, was_outlier: bool = False) -> bool:
    """Whether an end has an unexpected deviation.

    Loss of light is already reported by link loss, and a silent module by its host. An end that
    `was_outlier` stays one until it is well below the threshold, so that values near it do not flap.
    """
    share = CLEARS_BELOW if was_outlier else 1.0
    if inspection.unchanged or (not inspection.silent and None in inspection.tx_db):
        return True
    for name, threshold in THRESHOLDS.items():
        for amount in _amounts(inspection, name):
            size = 0.0 if amount is None else amount if threshold.upwards else abs(amount)
            if size > share * threshold.beyond:
                return True
    return False


def has_moved(inspection: Inspection, reported: Inspection) -> bool:
    """Whether an end has moved by a step since it was reported."""
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
    """Whether all values are still readable that were at the last report.

    Otherwise it is unknown whether an old deviation remains. Without a link or light, nothing that depends on
    light is read.
    """
    return not inspection.silent and not any(
        now is None and before is not None
        for name in THRESHOLDS
        for now, before in zip(_amounts(inspection, name), _amounts(reported, name), strict=True)
    )


def _amounts(inspection: Inspection, name: str) -> tuple[float | None, ...]:
    value = getattr(inspection, name)
    return value if isinstance(value, tuple) else (value,)


def _mean(readings: Readings, name: str) -> FloatArray:
    """Mean of one field over the readings of each end."""
    values = readings.field(name)
    by_reading = values.reshape(READINGS_PER_INSPECTION, -1, *values.shape[1:])
    total: FloatArray = by_reading[0].copy()
    for one in by_reading[1:]:
        total += one
    return total / READINGS_PER_INSPECTION
