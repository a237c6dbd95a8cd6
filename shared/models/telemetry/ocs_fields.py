"""Fields of OCS readings, one row each: unit, step, parts, usual range, and warning and alarm thresholds.

No paper gives the readings of a Palomar's controller. Fields are those that its parts must have ([LF] 3.2.2:
drivers of the mirrors' high voltage, two cameras with their monitor beams, supplies, fans). Steps and
thresholds are assumed, each with its reason.
"""

from dataclasses import dataclass
from typing import Literal

OcsPartGroup = Literal["mirror", "array", "supply", "fan", "chassis"]


@dataclass(frozen=True, slots=True)
class OcsField:
    """One field of the readings.

    - `of`: every mirror of a circuit, the camera of either array (North, South), every supply or fan, or the
      chassis.
    - `worst`: whether the lowest or the highest of them represents all.
    - `usual`: range of sound parts.
    - Thresholds: beyond one the OCS raises its flag; None if it has none.
    """

    name: str
    unit: str
    step: float
    of: OcsPartGroup
    worst: Literal["low", "high"]
    usual: tuple[float, float]
    low_alarm: float | None
    low_warning: float | None
    high_warning: float | None
    high_alarm: float | None
    reason: str

    @property
    def each_column(self) -> str | None:
        """The column of a frame with all of them; None for a field of the chassis."""
        return None if self.of == "chassis" else f"each_{self.name}"

    @property
    def warnings(self) -> tuple[float | None, float | None]:
        return self.low_warning, self.high_warning

    @property
    def alarms(self) -> tuple[float | None, float | None]:
        return self.low_alarm, self.high_alarm


OCS_FIELDS: dict[str, OcsField] = {
    field.name: field
    for field in (
        OcsField(
            *("mirror_drive_v", "V", 0.01, "mirror", "high", (0.0, 108.0)),
            *(None, None, 110.0, 118.0),
            "no circuit needs more, and amplifiers end at some 120 V",
        ),
        OcsField(
            *("mirror_error_urad", "µrad", 0.1, "mirror", "high", (12.0, 24.0)),
            *(None, None, 60.0, 200.0),
            "half as much again as the loop tolerates; 0.4 dB, by which a link stands out",
        ),
        OcsField(
            *("camera_snr_db", "dB", 1 / 256, "array", "low", (24.0, 28.0)),
            *(14.0, 16.5, None, None),
            "where images err by 30 µrad alignment takes half as long again, by 40 one circuit in 100 fails",
        ),
        OcsField(
            *("monitor_power_dbm", "dBm", 0.1, "array", "low", (-2.0, 2.0)),
            *(-6.0, -3.0, None, None),
            "half of its light is a source's end of life",
        ),
        OcsField(
            *("inlet_c", "°C", 1 / 16, "chassis", "high", (15.0, 37.0)),
            *(0.0, 5.0, 40.0, 45.0),
            "equipment of data halls is specified from 5 to 40 °C, some to 45 °C",
        ),
        OcsField(
            *("temperature_c", "°C", 1 / 16, "chassis", "high", (30.0, 52.0)),
            *(5.0, 10.0, 60.0, 70.0),
            "the optical core is glued: adhesives creep from some 60 °C on",
        ),
        OcsField(
            *("supply_v", "V", 0.01, "supply", "low", (11.7, 12.3)),
            *(10.8, 11.4, 12.6, 13.2),
            "5 % and 10 % of 12 V; one that is out gives none",
        ),
        OcsField(
            *("supply_a", "A", 0.01, "supply", "high", (3.6, 4.3)),
            *(None, None, 6.0, 10.0),
            "half as much again as its share: the other one is out; 10 A are what one can give",
        ),
        OcsField(
            *("fan_rpm", "1/min", 30.0, "fan", "low", (5_700.0, 6_300.0)),
            *(1_500.0, 4_800.0, None, None),
            "a bearing that wears slows its fan; one that stands still gives none",
        ),
    )
}
"""By name, in display order. The step of `monitor_power_dbm` is in µW."""
OCS_FIELD_BIT = {name: 1 << place for place, name in enumerate(OCS_FIELDS)}
"""Bit of each field in a flags value."""


def ocs_fields_of(flags: int) -> list[str]:
    """The fields whose bit is set in a flags value."""
    return [name for name, bit in OCS_FIELD_BIT.items() if flags & bit]
