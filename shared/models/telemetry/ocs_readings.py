"""From what physically is in OCSes to what they say: mirrors and their drives, cameras and monitor beams,
temperatures, supplies, fans; by calibration as made, noise at the moment of the reading, and steps.

A pure function of (seed, fabric, OCS, port, moment) and of how the OCS is. Noise is drawn at the reading, and
by no other: what one OCS says depends on no sibling.
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.basics.keyed_random import draw_bits_array
from shared.models.assumptions import assumed as assumed_of_modules
from shared.models.ocs.alignment import TILTS, AlignmentLoop, pointing_error_urad
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
"""Fabrics whose calibration is kept at hand: 0.2 megabytes each for 48 OCSes."""
PORT_BITS = 10
"""More than an OCS has ports on a side."""


OFF_BEYOND_URAD = OCS_FIELDS["mirror_error_urad"].high_warning or 0.0
OFF_TIMES, STEADY_SHARE = 2.0, 0.7
"""A mirror is off that reads beyond its warning threshold, and twice what others of its array do; it is so
until it reads less than 70 % of that, as with link ends that stand out."""


@dataclass(frozen=True, slots=True)
class ChassisState:
    """How n OCSes are. Of shape (n, 2, ports), by side and by the port where the mirror is: `deflection`, by
    how much of the largest angle it is turned (not a number where it is at no circuit that is made), and
    `loss_db`, what it loses for it points elsewhere. Of shape (n, 2): whether the `cameras` and the monitor
    `beams` of either array work; (n, 2) and (n, 4): whether `supplies` and `fans` do; (n,): `watts` that all
    parts draw without their supplies, whether the OCS `answers` at all, and whether its mirrors and cameras
    are `run`, which their FPGA does. `loop` is None of an OCS that has no mirrors that a camera aligns."""

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
    """What n OCSes say, field by field as in OCS_FIELDS. Of shape (n, 2, ports) of mirrors, (n, 2) of cameras
    and supplies, (n, 4) of fans, (n,) of the chassis. Not a number: it reads nothing."""

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
        """One of OCS_FIELDS, of shape (n, how many there are of it in an OCS): mirrors of the North side
        first."""
        values = self.field(name)
        return values.reshape(len(values), -1)

    def worst(self, name: str) -> FloatArray:
        """Of those that were read, of shape (n,)."""
        return _folded(self.each(name), OCS_FIELDS[name].worst)


def _folded(values: FloatArray, worst: str) -> FloatArray:
    fold = np.fmin if worst == "low" else np.fmax
    found: FloatArray = fold.reduce(values, axis=1)
    return found


@dataclass(frozen=True, slots=True)
class OcsCalibration:
    """How OCSes were made, read-only. Of shape (OCSes, 2, ports), as shares: how much more voltage a mirror
    needs than the design's, and how much more error is read of it than there is. (OCSes, 2): cameras and
    monitor beams over the design's, in dB; supplies in V. (OCSes, 4): fans, in 1/min. (OCSes,): warmth of the
    rack and what both thermometers are off by, in K, and by how much more than its half the first supply
    takes."""

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
    """Of the first so many OCSes of a fabric, with so many ports a side; kept at hand."""
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
    """What all OCSes of a fabric say at a moment."""
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
    """What the camera says of one mirror, as in `read`: that of (OCS, side, port), which loses so much for it
    points elsewhere."""
    ocs, side, port = mirror
    key = np.array([(ocs * ARRAYS + side) << PORT_BITS | port], dtype=np.uint64)
    bits = draw_bits_array(seed, fabric, f"mirrors read {at_us}", key)
    found = _seen_urad(np.array([loss_db]), loop, made.error[ocs, side, port : port + 1], bits)
    return float(registers.stepped(found, OCS_FIELDS["mirror_error_urad"].step)[0])


def usual_error_urad(loss_db: float, loop: AlignmentLoop) -> float:
    """What cameras say of mirrors in the mean that lose so much."""
    tilt2 = loop.camera_noise_urad**2 + loop.jitter_urad**2
    return float(np.sqrt(pointing_error_urad(np.array(loss_db)) ** 2 + TILTS * tilt2))


def error_scatter() -> float:
    """Standard deviation of what is read of a mirror, as a share of it: of its scale, and of a reading."""
    return float(np.hypot(assumed("error_mirror_sigma"), _reading_scatter()))


def _reading_scatter() -> float:
    return float(1.0 / np.sqrt(2.0 * TILTS * assumed("error_images")))


def _seen_urad(
    loss_db: FloatArray, loop: AlignmentLoop, scale: FloatArray, bits: npt.NDArray[np.uint64]
) -> FloatArray:
    """The error of mirrors with the noise of images, the jitter of the loop, and what is unsure of the
    reading."""
    tilt2 = loop.camera_noise_urad**2 + loop.jitter_urad**2
    seen_urad: FloatArray = np.sqrt(pointing_error_urad(loss_db) ** 2 + TILTS * tilt2)
    return seen_urad * scale * (1.0 + _reading_scatter() * normals(bits, 1))


def _mirrors(
    made: OcsCalibration, chassis: ChassisState, bits: npt.NDArray[np.uint64]
) -> dict[str, FloatArray]:
    """Electrostatic drives turn a mirror by the square of their voltage. What images tell of a mirror has
    their noise in it, and the jitter of the loop."""
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
    """The noise of an image grows as its spots stand out less; without their light nothing does."""
    power_dbm = assumed("monitor_power_dbm") + made.beam_db
    power_dbm += assumed("monitor_power_noise_db") * normals(bits, 1)
    if chassis.loop is None:
        unread = np.full(power_dbm.shape, np.nan)
        return {"camera_snr_db": unread, "monitor_power_dbm": unread}
    driven = np.where(chassis.run, 0.0, np.nan)[:, None]
    # Noise of 0, which may be configured, is as little as a hundredth of the usual.
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
    """Air takes away what the parts draw: the more of it, the less they warm up."""
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
    """Two share the load; one alone carries all of it. What is out gives nothing, nor does a fan turn."""
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
    """As registers have them."""
    steps: dict[str, Any] = {
        name: registers.stepped(values, OCS_FIELDS[name].step)
        for name, values in found.items()
        if name != "monitor_power_dbm"
    }
    return OcsReadings(monitor_power_dbm=registers.power_dbm(found["monitor_power_dbm"]), **steps)


def ocs_flags(readings: OcsReadings) -> tuple[FlagArray, FlagArray]:
    """(warnings, alarms) of each OCS, of shape (n,): a bit for every field of which a value is beyond its
    threshold, as modules raise them; what is not a number is beyond none."""
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
    """What an OCS should read and does not, of shape (n,): a bit for every field that one of the mirrors of
    its circuits, of its cameras, supplies or fans, or the chassis itself, gives no reading of. Where no
    camera aligns mirrors there is nothing of them to be read."""
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
    """So many numbers for every OCS, of shape (OCSes, count)."""
    found: npt.NDArray[np.uint64] = ((ocs[:, None] << PORT_BITS) | np.arange(count)).astype(np.uint64)
    return found


def _wide(values: FloatArray, like: FloatArray) -> FloatArray:
    return values.reshape(-1, *[1] * (like.ndim - 1))
