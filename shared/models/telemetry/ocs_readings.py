"""OCS readings from the physical state: mirrors and drives, cameras and monitor beams, temperatures, supplies
and fans.

Readings include manufactured calibration, noise and register steps. They are a pure function of (seed,
fabric, OCS, port, time) and of the OCS's state. Noise is drawn for each reading, so the readings of one OCS
do not depend on other OCSes.
"""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.basics.keyed_random import draw_bits_array
from shared.models.assumptions import assumed as assumed_of_modules
from shared.models.ocs.camera_alignment import TILTS, AlignmentLoop, pointing_error_urad
from shared.models.ocs.ocs_assumptions import assumed
from shared.models.ocs.parts import PART, power_w
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry import registers
from shared.models.telemetry.noise import normals
from shared.models.telemetry.ocs_fields import OCS_FIELD_BIT, OCS_FIELDS
from shared.models.telemetry.temperature import hall_c

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
FlagArray = npt.NDArray[np.uint16]

ARRAYS = 2
SUPPLIES, FANS = PART["supply"].count, PART["fan"].count
FABRICS_KEPT_MAX = 16
"""Fabrics whose calibration is cached: 0.2 megabytes each for 48 OCSes."""
PORT_BITS = 10
"""More than the ports of an OCS on one side."""


OFF_BEYOND_URAD = OCS_FIELDS["mirror_error_urad"].high_warning or 0.0
OFF_TIMES, STEADY_SHARE = 2.0, 0.7
"""A mirror is off if it reads beyond its warning threshold and twice as much as others of its array. It stays
off until it reads less than 70 % of that, as with outlier link ends."""


@dataclass(frozen=True, slots=True)
class ChassisState:
    """The state of n OCSes.

    - `deflection`, (n, 2, ports), by side and physical port: share of the largest angle; NaN for a mirror
      without a made circuit.
    - `loss_db`, (n, 2, ports): loss of the mirror by mispointing.
    - `cameras`, `beams`, (n, 2): whether the camera and the monitor beam of either array work.
    - `supplies`, (n, 2), and `fans`, (n, 4): whether they work.
    - `watts`, (n,): power of all parts except supplies.
    - `answers`, (n,): whether the OCS answers. `run`, (n,): whether its FPGA runs mirrors and cameras.
    - `loop`: None for an OCS without mirrors that a camera aligns.
    """

    deflection: FloatArray
    loss_db: FloatArray
    cameras: BoolArray
    beams: BoolArray
    supplies: BoolArray
    fans: BoolArray
    watts: FloatArray
    answers: BoolArray
    run: BoolArray
    loop: AlignmentLoop | None


@dataclass(frozen=True, slots=True)
class OcsReadings:
    """Readings of n OCSes, by field as in OCS_FIELDS. NaN: no reading.

    Of shape (n, 2, ports) for mirrors, (n, 2) for cameras and supplies, (n, 4) for fans, (n,) for the
    chassis.
    """

    mirror_drive_v: FloatArray
    mirror_error_urad: FloatArray
    camera_snr_db: FloatArray
    monitor_power_dbm: FloatArray
    inlet_c: FloatArray
    temperature_c: FloatArray
    supply_v: FloatArray
    supply_a: FloatArray
    fan_rpm: FloatArray

    def field(self, name: str) -> FloatArray:
        """One of OCS_FIELDS."""
        found: FloatArray = getattr(self, name)
        return found

    def each(self, name: str) -> FloatArray:
        """One of OCS_FIELDS, of shape (n, number in an OCS): mirrors of the North side first."""
        values = self.field(name)
        return values.reshape(len(values), -1)

    def worst(self, name: str) -> FloatArray:
        """The worst of those that were read, of shape (n,)."""
        return _folded(self.each(name), OCS_FIELDS[name].worst)


def _folded(values: FloatArray, worst: str) -> FloatArray:
    fold = np.fmin if worst == "low" else np.fmax
    found: FloatArray = fold.reduce(values, axis=1)
    return found


@dataclass(frozen=True, slots=True)
class OcsCalibration:
    """Manufactured properties of OCSes, read-only.

    - `drive`, `error`, (OCSes, 2, ports): a mirror's extra voltage over the design, and its extra measured
      error, as shares.
    - `snr_db`, `beam_db`, (OCSes, 2): cameras and monitor beams over the design.
    - `volts`, (OCSes, 2): supplies. `rpm`, (OCSes, 4): fans.
    - `rack_k`, (OCSes,): extra temperature of the rack. `inlet_k`, `core_k`: errors of both thermometers.
    - `share`, (OCSes,): load of the first supply beyond one half.
    """

    drive: FloatArray
    error: FloatArray
    snr_db: FloatArray
    beam_db: FloatArray
    volts: FloatArray
    rpm: FloatArray
    rack_k: FloatArray
    inlet_k: FloatArray
    core_k: FloatArray
    share: FloatArray


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def ocs_calibration(seed: int, fabric: str, ocs_count: int, ports: int) -> OcsCalibration:
    """Of the first `ocs_count` OCSes of a fabric, with this many ports on each side; cached."""
    ocs = np.arange(ocs_count)
    mirrors = draw_bits_array(seed, fabric, "mirror calibration", _mirror_keys(ocs, ports))
    parts = draw_bits_array(seed, fabric, "ocs calibration", _part_keys(ocs, FANS))
    pairs = parts[:, :ARRAYS]
    whole = draw_bits_array(seed, fabric, "ocs warmth", ocs.astype(np.uint64))
    made = OcsCalibration(
        1.0 + assumed("drive_mirror_sigma") * normals(mirrors, 0),
        1.0 + assumed("error_mirror_sigma") * normals(mirrors, 1),
        assumed("camera_snr_sigma_db") * normals(pairs, 0),
        assumed("monitor_power_sigma_db") * normals(pairs, 1),
        assumed("supply_v") + assumed("supply_sigma_v") * normals(pairs, 2),
        assumed("fan_rpm") + assumed("fan_sigma_rpm") * normals(parts, 3),
        assumed_of_modules("rack_temperature_sigma_k") * normals(whole, 0),
        assumed("thermometer_sigma_k") * normals(whole, 1),
        assumed("thermometer_sigma_k") * normals(whole, 2),
        assumed("supply_share_sigma") * normals(whole, 3),
    )
    for field in fields(made):
        getattr(made, field.name).flags.writeable = False
    return made


def read_ocses(
    seed: int, fabric: str, made: OcsCalibration, chassis: ChassisState, at_us: int
) -> OcsReadings:
    """Readings of all OCSes of a fabric at a time."""
    count, _, ports = chassis.deflection.shape
    ocs = np.arange(count)
    mirrors = draw_bits_array(seed, fabric, f"mirrors read {at_us}", _mirror_keys(ocs, ports))
    parts = draw_bits_array(seed, fabric, f"ocs read {at_us}", _part_keys(ocs, 2 * FANS))
    silent = np.where(chassis.answers, 0.0, np.nan)
    found = {
        **_mirrors(made, chassis, mirrors),
        **_cameras(made, chassis, parts[:, :ARRAYS]),
        **_warmth(made, chassis, parts[:, 0], hall_c(seed, fabric, at_us)),
        **_supplies(made, chassis, parts),
    }
    return _in_steps({name: values + _wide(silent, values) for name, values in found.items()})


def mirror_error_urad(
    seed: int,
    fabric: str,
    made: OcsCalibration,
    mirror: tuple[int, int, int],
    loss_db: float,
    loop: AlignmentLoop,
    at_us: int,
) -> float:
    """The camera's reading of one mirror (OCS, side, port) with a mispointing loss, as in `read_ocses`."""
    ocs, side, port = mirror
    key = np.array([(ocs * ARRAYS + side) << PORT_BITS | port], dtype=np.uint64)
    bits = draw_bits_array(seed, fabric, f"mirrors read {at_us}", key)
    found = _seen_urad(np.array([loss_db]), loop, made.error[ocs, side, port : port + 1], bits)
    return float(registers.stepped(found, OCS_FIELDS["mirror_error_urad"].step)[0])


def usual_error_urad(loss_db: float, loop: AlignmentLoop) -> float:
    """Mean camera reading of mirrors with this mispointing loss."""
    tilt2 = loop.camera_noise_urad**2 + loop.jitter_urad**2
    return float(np.sqrt(pointing_error_urad(np.array(loss_db)) ** 2 + TILTS * tilt2))


def error_scatter() -> float:
    """Relative standard deviation of the reading of a mirror: of its scale and of a single reading."""
    return float(np.hypot(assumed("error_mirror_sigma"), _reading_scatter()))


def _reading_scatter() -> float:
    return float(1.0 / np.sqrt(2.0 * TILTS * assumed("error_images")))


def _seen_urad(
    loss_db: FloatArray, loop: AlignmentLoop, scale: FloatArray, bits: npt.NDArray[np.uint64]
) -> FloatArray:
    """The error of mirrors with image noise, loop jitter and reading uncertainty."""
    tilt2 = loop.camera_noise_urad**2 + loop.jitter_urad**2
    seen_urad: FloatArray = np.sqrt(pointing_error_urad(loss_db) ** 2 + TILTS * tilt2)
    return seen_urad * scale * (1.0 + _reading_scatter() * normals(bits, 1))


def _mirrors(
    made: OcsCalibration, chassis: ChassisState, bits: npt.NDArray[np.uint64]
) -> dict[str, FloatArray]:
    """Electrostatic drives deflect a mirror by the square of their voltage.

    Images of a mirror include their noise and the jitter of the loop.
    """
    unread = np.full(chassis.deflection.shape, np.nan)
    if chassis.loop is None:
        return {"mirror_drive_v": unread, "mirror_error_urad": unread}
    driven = np.where(chassis.run[:, None, None], 0.0, np.nan)
    drive_v = assumed("drive_full_v") * made.drive * np.sqrt(chassis.deflection)
    drive_v += assumed("drive_noise_v") * normals(bits, 0) + driven
    seen_urad = _seen_urad(chassis.loss_db, chassis.loop, made.error, bits)
    lit = chassis.cameras & chassis.beams
    seen_urad += np.where(lit, 0.0, np.nan)[:, :, None] + driven + 0.0 * chassis.deflection
    return {"mirror_drive_v": np.maximum(drive_v, 0.0), "mirror_error_urad": seen_urad}


def _cameras(
    made: OcsCalibration, chassis: ChassisState, bits: npt.NDArray[np.uint64]
) -> dict[str, FloatArray]:
    """The noise of an image grows as its spots get weaker; without their light there is no reading."""
    power_dbm = assumed("monitor_power_dbm") + made.beam_db
    power_dbm += assumed("monitor_power_noise_db") * normals(bits, 1)
    if chassis.loop is None:
        unread = np.full(power_dbm.shape, np.nan)
        return {"camera_snr_db": unread, "monitor_power_dbm": unread}
    driven = np.where(chassis.run, 0.0, np.nan)[:, None]
    # Noise of 0, which may be configured, counts as a hundredth of the usual noise.
    worse = max(chassis.loop.camera_noise_urad / assumed("camera_noise_urad"), 0.01)
    snr_db = assumed("camera_snr_db") - 20.0 * np.log10(worse) + made.snr_db
    snr_db += assumed("camera_snr_noise_db") * normals(bits, 0)
    return {
        "camera_snr_db": np.where(chassis.cameras & chassis.beams, snr_db, np.nan) + driven,
        "monitor_power_dbm": np.where(chassis.beams, power_dbm, -np.inf),
    }


def _warmth(
    made: OcsCalibration, chassis: ChassisState, bits: npt.NDArray[np.uint64], hall: float
) -> dict[str, FloatArray]:
    """Air removes the power of the parts: with more air they warm up less."""
    inlet_c = hall + made.rack_k
    air = np.maximum(chassis.fans.sum(axis=1), 1) / FANS
    core_c = inlet_c + assumed("core_rise_k") * chassis.watts / _watts_without_supplies() / air
    noise_k = assumed("thermometer_noise_k")
    return {
        "inlet_c": inlet_c + made.inlet_k + noise_k * normals(bits, 2),
        "temperature_c": core_c + made.core_k + noise_k * normals(bits, 3),
    }


def _supplies(
    made: OcsCalibration, chassis: ChassisState, bits: npt.NDArray[np.uint64]
) -> dict[str, FloatArray]:
    """Two supplies share the load; one alone carries all of it. A broken supply gives nothing, and a broken
    fan stands still."""
    pair = bits[:, :SUPPLIES]
    volts = np.where(chassis.supplies, made.volts + assumed("supply_noise_v") * normals(pair, 4), 0.0)
    sharing = chassis.supplies.all(axis=1)
    more = np.where(sharing, made.share, 0.0)[:, None] * np.array([1.0, -1.0])
    share = (0.5 + more) / np.where(sharing, 1.0, 0.5)[:, None]
    amperes = share * (chassis.watts / assumed("supply_v"))[:, None]
    amperes += assumed("supply_noise_a") * normals(bits[:, SUPPLIES : 2 * SUPPLIES], 2)
    rpm = made.rpm + assumed("fan_noise_rpm") * normals(bits[:, FANS:], 0)
    return {
        "supply_v": volts,
        "supply_a": np.where(chassis.supplies, np.maximum(amperes, 0.0), 0.0),
        "fan_rpm": np.where(chassis.fans, rpm, 0.0),
    }


def _watts_without_supplies() -> float:
    return power_w() - SUPPLIES * PART["supply"].watts


def _in_steps(found: dict[str, FloatArray]) -> OcsReadings:
    """In register steps."""
    steps = {
        name: registers.stepped(values, OCS_FIELDS[name].step)
        for name, values in found.items()
        if name != "monitor_power_dbm"
    }
    return OcsReadings(monitor_power_dbm=registers.power_dbm(found["monitor_power_dbm"]), **steps)


def ocs_flags(readings: OcsReadings) -> tuple[FlagArray, FlagArray]:
    """(warnings, alarms) of each OCS, of shape (n,): a bit for every field with a value beyond its threshold.

    As for modules; NaN is beyond no threshold.
    """
    warnings, alarms = (np.zeros(len(readings.inlet_c), dtype=np.uint16) for _ in range(2))
    for name, field in OCS_FIELDS.items():
        values = readings.each(name)
        lowest, highest = _folded(values, "low"), _folded(values, "high")
        for raised, (low, high) in ((warnings, field.warnings), (alarms, field.alarms)):
            if low is not None:
                raised[lowest < low] |= OCS_FIELD_BIT[name]
            if high is not None:
                raised[highest > high] |= OCS_FIELD_BIT[name]
    return warnings, alarms


def ocs_unread(readings: OcsReadings, chassis: ChassisState) -> FlagArray:
    """Missing readings of an OCS, of shape (n,).

    A bit for every field that has no reading from a mirror of its circuits, its cameras, supplies or fans, or
    the chassis. Without camera alignment there are no mirror readings to miss.
    """
    found = np.zeros(len(readings.inlet_c), dtype=np.uint16)
    at_circuits = ~np.isnan(chassis.deflection).reshape(len(found), -1)
    for name, field in OCS_FIELDS.items():
        if chassis.loop is None and field.of in ("mirror", "array"):
            continue
        missing = np.isnan(readings.each(name))
        if field.of == "mirror":
            missing &= at_circuits
        found[missing.any(axis=1)] |= OCS_FIELD_BIT[name]
    return found


def _mirror_keys(ocs: IntArray, ports: int) -> npt.NDArray[np.uint64]:
    """A number for every mirror, of shape (OCSes, 2, ports)."""
    side = (ocs[:, None] * ARRAYS + np.arange(ARRAYS)) << PORT_BITS
    found: npt.NDArray[np.uint64] = (side[:, :, None] | np.arange(ports)).astype(np.uint64)
    return found


def _part_keys(ocs: IntArray, count: int) -> npt.NDArray[np.uint64]:
    """`count` numbers for every OCS, of shape (OCSes, count)."""
    found: npt.NDArray[np.uint64] = ((ocs[:, None] << PORT_BITS) | np.arange(count)).astype(np.uint64)
    return found


def _wide(values: FloatArray, like: FloatArray) -> FloatArray:
    return values.reshape(-1, *[1] * (like.ndim - 1))
