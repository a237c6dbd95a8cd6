"""Module readings from physical light: calibration, noise, error counts over a window, register steps, and
broken sensors.

OIF CMIS 5 limits calibration errors to ±3 dB of power and ±3 °C. The actual errors and the scatter of
readings are assumed.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.basics.keyed_random import draw_bits_array, draw_uniform_array
from shared.models.assumptions import assumed
from shared.models.optics.manufactured_modules import purpose_of_generation
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.superpod.wiring import ENDS_PER_CUBE, IntArray
from shared.models.telemetry import registers
from shared.models.telemetry.module_fields import MODULE_FIELD_BIT, MODULE_FIELDS
from shared.models.telemetry.noise import BitsArray, error_counts, normals

# Broken sensors: wrong calibration, stuck, late or lying.

NOT_STUCK = -1


@dataclass(frozen=True, slots=True)
class Sensors:
    """The state of the sensors of n modules, each of shape (n,).

    - `rx_offset_db`: error of received power beyond the calibration.
    - `stuck_at_us`: time since when readings are stuck (−1: they are not). `late_us`: age of readings.
    - `lying`: readings are unrelated to the light.
    """

    rx_offset_db: npt.NDArray[np.float64]
    stuck_at_us: IntArray
    late_us: IntArray
    lying: npt.NDArray[np.bool_]

    @classmethod
    def sound(cls, count: int) -> "Sensors":
        """The sensors of `count` modules without faults."""
        return cls(
            np.zeros(count),
            np.full(count, NOT_STUCK),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.bool_),
        )

    def seen_us(self, at_us: int | IntArray) -> IntArray:
        """The time that a reading refers to, if read at this time or at each of these times, of
        shape (n,)."""
        found: IntArray = np.maximum(
            np.where(self.stuck_at_us == NOT_STUCK, at_us - self.late_us, self.stuck_at_us), 0
        )
        return found


FloatArray = npt.NDArray[np.float64]

FABRICS_KEPT_MAX = 64
"""Fabrics whose calibration is cached: 1.2 megabytes each for 64 cubes."""
BITS_PER_GBIT = 1e9
AGEING_DECIMALS = 6
"""Rounded, so differences in the last bit between machines have no effect."""


@dataclass(frozen=True, slots=True)
class PhysicalLight:
    """The physical light at n link ends. NaN: there is nothing to measure.

    Of shape (n, 8 lanes): average power `launched_dbm` into the multiplexer and `received_dbm` on the
    photodiode (−inf without light), `snr_db` at the slicer, log10 of the errors before the inner code and
    before the outer one, `interference_db` (MPI), and `wear`, the additional bias of a laser as a share of a
    new one's. `temperature_c`, of the case, is of shape (n,).
    """

    launched_dbm: FloatArray
    received_dbm: FloatArray
    snr_db: FloatArray
    log10_raw_ber: FloatArray
    log10_ber: FloatArray
    interference_db: FloatArray
    wear: FloatArray
    temperature_c: FloatArray

    def repeated(self, times: int) -> "PhysicalLight":
        """Repeated `times` times, one after another."""
        arrays = (getattr(self, name) for name in PhysicalLight.__slots__)
        return PhysicalLight(*(np.concatenate([array] * times) for array in arrays))


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings of the modules at n link ends, by field as in MODULE_FIELDS.

    Of shape (n, 8 lanes), or (n,) for fields of the module. NaN: the module reads nothing. `at_us`, of shape
    (n,), is the time of the reading.
    """

    rx_power_dbm: FloatArray
    tx_power_dbm: FloatArray
    bias_ma: FloatArray
    temperature_c: FloatArray
    supply_v: FloatArray
    snr_db: FloatArray
    ber: FloatArray
    raw_ber: FloatArray
    mpi_db: FloatArray
    at_us: IntArray

    def field(self, name: str) -> FloatArray:
        """One of MODULE_FIELDS."""
        found: FloatArray = getattr(self, name)
        return found

    def worst(self, name: str) -> FloatArray:
        """The worst lane, of shape (n,); NaN if one of them is."""
        values = self.field(name)
        if values.ndim == 1:
            return values
        return over_lanes(np.minimum if MODULE_FIELDS[name].worst == "low" else np.maximum, values)


def over_lanes(fold: Callable[[FloatArray, FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """All 8 lanes of each end folded into one, of shape (n,): by halves, because numpy is slow on such a
    short axis."""
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        values = fold(values[:, :half], values[:, half:])
    return values[:, 0]


@dataclass(frozen=True, slots=True)
class ModuleCalibration:
    """Manufactured calibration of modules, read-only.

    Of shape (ends, 8 lanes): errors of the power monitors in dB, the bias of a new laser over the design's,
    and its yearly growth as a share. Of shape (ends,): errors of the thermometers in K, and of the supply in
    V.
    """

    rx_db: FloatArray
    tx_db: FloatArray
    bias: FloatArray
    ageing: FloatArray
    temperature_k: FloatArray
    supply_v: FloatArray


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def module_calibration(seed: int, fabric: str, ends: int) -> ModuleCalibration:
    """Of the modules at the first `ends` link ends of a fabric, cached."""
    return calibrate_modules(seed, fabric, np.arange(ends))


def calibrate_modules(seed: int, fabric: str, numbers: IntArray, generation: int = 0) -> ModuleCalibration:
    """Of the modules of one generation at these link ends. The supply depends more on the rack than on the
    module."""
    by_lane = draw_bits_array(
        seed, fabric, purpose_of_generation("calibration", generation), _lane_keys(numbers)
    )
    purpose = purpose_of_generation("module calibration", generation)
    by_module = draw_bits_array(seed, fabric, purpose, numbers.astype(np.uint64))
    racks = draw_bits_array(seed, fabric, "rack supply", (numbers // ENDS_PER_CUBE).astype(np.uint64))
    supply = assumed("supply_rack_sigma_v") * normals(racks, 0)
    made = ModuleCalibration(
        assumed("reading_rx_power_sigma_db") * normals(by_lane, 0),
        assumed("reading_tx_power_sigma_db") * normals(by_lane, 1),
        1.0 + assumed("laser_bias_sigma") * normals(by_lane, 2),
        np.round(
            assumed("laser_ageing") * np.exp(assumed("laser_ageing_sigma") * normals(by_lane, 3)),
            AGEING_DECIMALS,
        ),
        assumed("reading_temperature_sigma_k") * normals(by_module, 0),
        assumed("supply_v") + supply + assumed("supply_module_sigma_v") * normals(by_module, 1),
    )
    for field in fields(made):
        getattr(made, field.name).flags.writeable = False
    return made


def read_modules(
    seed: int,
    fabric: str,
    made: ModuleCalibration,
    ends: IntArray,
    light: PhysicalLight,
    at_us: int | IntArray,
    lane_gbps: float,
    sensors: Sensors | None = None,
) -> Readings:
    """Readings of the modules at these link ends, of shape (n,), at one time or each at its own.

    The light of a stuck or late sensor is taken as that of its time; the caller may provide the light of that
    time (`Sensors.seen_us` returns it).
    """
    seen_us = np.full(len(ends), at_us) if sensors is None else sensors.seen_us(at_us)
    several = sensors is not None or not isinstance(at_us, int)
    analog, counted, uniform = _draws(seed, fabric, ends, seen_us, several=several)
    found = _measured(made, ends, light, analog, counted, uniform, lane_gbps)
    if sensors is not None:
        found["rx_power_dbm"] = found["rx_power_dbm"] + sensors.rx_offset_db[:, None]
        lies = np.flatnonzero(sensors.lying)
        for place, name in enumerate(MODULE_FIELDS):
            if len(lies):
                there = ~np.isnan(found[name][lies])
                lie = _lies(seed, fabric, ends[lies], name, analog[lies], place)
                found[name][lies] = np.where(there, lie, np.nan)
    return _in_steps(found, seen_us)


def _measured(
    made: ModuleCalibration,
    ends: IntArray,
    light: PhysicalLight,
    analog: BitsArray,
    counted: BitsArray,
    uniform: FloatArray,
    lane_gbps: float,
) -> dict[str, FloatArray]:
    """By field, for sound sensors, before register steps."""
    noise_db = assumed("reading_power_noise_db")
    warmer_k = light.temperature_c - assumed("laser_bias_at_c")
    bias_ma = assumed("laser_bias_ma") * made.bias[ends] * (1.0 + light.wear)
    bias_ma *= (1.0 + assumed("laser_bias_per_k") * warmer_k)[:, None]
    window_bits = assumed("reading_window_s") * lane_gbps * BITS_PER_GBIT
    floor_db = assumed("reading_mpi_floor_db")
    mpi_db = light.interference_db + assumed("reading_mpi_noise_db") * normals(analog, 4)
    module_noise = normals(counted[:, 0], 2), normals(counted[:, 0], 3)
    return {
        "rx_power_dbm": light.received_dbm + made.rx_db[ends] + noise_db * normals(analog, 0),
        "tx_power_dbm": light.launched_dbm + made.tx_db[ends] + noise_db * normals(analog, 1),
        "bias_ma": bias_ma * (1.0 + assumed("reading_bias_noise") * normals(analog, 2)),
        "temperature_c": light.temperature_c
        + made.temperature_k[ends]
        + assumed("reading_temperature_noise_k") * module_noise[0],
        "supply_v": np.where(
            np.isnan(light.temperature_c),
            np.nan,
            made.supply_v[ends] + assumed("reading_supply_noise_v") * module_noise[1],
        ),
        "snr_db": light.snr_db + assumed("reading_snr_noise_db") * normals(analog, 3),
        "ber": error_counts(10.0**light.log10_ber * window_bits, normals(counted, 0), uniform) / window_bits,
        "raw_ber": error_counts(10.0**light.log10_raw_ber * window_bits, normals(counted, 1), uniform)
        / window_bits,
        "mpi_db": np.maximum(mpi_db, floor_db),
    }


def _in_steps(found: dict[str, FloatArray], seen_us: IntArray) -> Readings:
    """In register steps."""
    return Readings(
        registers.power_dbm(found["rx_power_dbm"]),
        registers.power_dbm(found["tx_power_dbm"]),
        registers.stepped(found["bias_ma"], registers.BIAS_MA),
        registers.stepped(found["temperature_c"], registers.TEMPERATURE_C),
        registers.stepped(found["supply_v"], registers.SUPPLY_V),
        registers.stepped(found["snr_db"], registers.DECIBEL),
        registers.rate(found["ber"]),
        registers.rate(found["raw_ber"]),
        registers.stepped(found["mpi_db"], registers.DECIBEL),
        seen_us,
    )


def _lane_keys(ends: IntArray) -> BitsArray:
    """A number for every lane of these ends, of shape (n, 8)."""
    first = LANES_PER_LINK * ends.astype(np.uint64)[:, None]
    return (first + np.arange(LANES_PER_LINK, dtype=np.uint64)).astype(np.uint64)


def _draws(
    seed: int, fabric: str, ends: IntArray, seen_us: IntArray, *, several: bool
) -> tuple[BitsArray, BitsArray, FloatArray]:
    """Random bits for analog noise and for counts, and uniforms for small counts, of shape (n, 8).

    By link end, lane and time. `several`: the times may differ.
    """
    keys = _lane_keys(ends)
    times = np.unique(seen_us) if several else seen_us[:1]
    analog, counted = np.empty_like(keys), np.empty_like(keys)
    uniform = np.empty(keys.shape)
    for time in times.tolist():
        rows = slice(None) if len(times) == 1 else seen_us == time
        analog[rows] = draw_bits_array(seed, fabric, f"readings {time}", keys[rows])
        counted[rows] = draw_bits_array(seed, fabric, f"counts {time}", keys[rows])
        uniform[rows] = draw_uniform_array(seed, fabric, f"few errors {time}", keys[rows])
    return analog, counted, uniform


def _lies(seed: int, fabric: str, ends: IntArray, name: str, analog: BitsArray, place: int) -> FloatArray:
    """Readings of a lying module: always about the same, within the range of sound ones."""
    field = MODULE_FIELDS[name]
    keys = _lane_keys(ends) if field.by_lane else ends.astype(np.uint64)
    drawn = draw_uniform_array(seed, fabric, f"lie about {name}", keys)
    bits = analog if field.by_lane else analog[:, 0]
    drawn = np.clip(drawn + 0.01 * normals(bits, place % 5), 0.0, 1.0)
    low, high = np.log(field.usual) if field.is_rate else field.usual
    value = low + (high - low) * drawn
    return np.exp(value) if field.is_rate else value


# Flags of modules from their own readings: fields beyond a threshold, one number for each end.

FlagArray = npt.NDArray[np.uint16]


def module_flags(readings: Readings) -> tuple[FlagArray, FlagArray]:
    """(warnings, alarms) of each end, of shape (n,): a bit for every field with a lane beyond its threshold.

    NaN is beyond no threshold. A value beyond an alarm threshold is also beyond the warning threshold.
    """
    warnings, alarms = (np.zeros(len(readings.at_us), dtype=np.uint16) for _ in range(2))
    for name, field in MODULE_FIELDS.items():
        values = readings.field(name)
        lowest, highest = (
            values if values.ndim == 1 else over_lanes(fold, values) for fold in (np.fmin, np.fmax)
        )
        for raised, (low, high) in ((warnings, field.warnings), (alarms, field.alarms)):
            if low is not None:
                raised[lowest < low] |= MODULE_FIELD_BIT[name]
            if high is not None:
                raised[highest > high] |= MODULE_FIELD_BIT[name]
    return warnings, alarms
