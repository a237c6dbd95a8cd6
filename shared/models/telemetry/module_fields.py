"""Fields of module readings, one row each: unit, step, usual range, and warning and alarm thresholds.

Fields and steps are those of OIF CMIS 5: lane monitors of page 11h, module monitors of the lower page, and
the observables 5 (eSNR) and 15 (pre-FEC BER) of its versatile diagnostics (VDM). An MPI estimate is a
vendor's own observable there. Thresholds are vendor-specific as well: all of them are assumed, each with its
reason.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ModuleField:
    """One field of the readings.

    - `by_lane`: read for every lane, otherwise for the module.
    - `worst`: whether the lowest or the highest lane represents all.
    - `usual`: range of sound modules of a pod.
    - Thresholds: beyond one the module raises its flag; None if it has none.
    """

    name: str
    unit: str
    step: str
    by_lane: bool
    worst: Literal["low", "high"]
    usual: tuple[float, float]
    low_alarm: float | None
    low_warning: float | None
    high_warning: float | None
    high_alarm: float | None
    reason: str

    @property
    def lanes_column(self) -> str | None:
        """The column of a frame with all lanes; None for a field of the module."""
        if not self.by_lane:
            return None
        return f"lane_{self.name}s" if self.is_rate else f"lane_{self.name}"

    @property
    def is_rate(self) -> bool:
        """An error rate, which is shown in orders of magnitude."""
        return self.name.endswith("ber")

    @property
    def warnings(self) -> tuple[float | None, float | None]:
        return self.low_warning, self.high_warning

    @property
    def alarms(self) -> tuple[float | None, float | None]:
        return self.low_alarm, self.high_alarm


MODULE_FIELDS: dict[str, ModuleField] = {
    field.name: field
    for field in (
        ModuleField(
            *("rx_power_dbm", "dBm", "0.1 µW", True, "low", (-10.0, -2.0)),
            *(-12.5, -11.0, 0.0, 2.0),
            "no lane of a sound pod is there; 1 dB below the first flag a receiver errs without end",
        ),
        ModuleField(
            *("tx_power_dbm", "dBm", "0.1 µW", True, "low", (-2.5, 3.5)),
            *(-4.0, -3.0, 4.0, 5.0),
            "what is shipped, by the monitor's calibration; an alarm where a laser has lost some 4 dB",
        ),
        ModuleField(
            *("bias_ma", "mA", "2 µA", True, "high", (48.0, 75.0)),
            *(30.0, 40.0, 80.0, 90.0),
            "half as much again as new is a laser's end of life",
        ),
        ModuleField(
            *("temperature_c", "°C", "1/256 °C", False, "high", (36.0, 68.0)),
            *(-5.0, 0.0, 70.0, 75.0),
            "the case of a commercial module is specified from 0 to 70 °C",
        ),
        ModuleField(
            *("supply_v", "V", "100 µV", False, "low", (3.23, 3.37)),
            *(3.135, 3.168, 3.432, 3.465),
            "the supply of a module is specified to 5 %; it warns at 4 %",
        ),
        ModuleField(
            *("snr_db", "dB", "1/256 dB", True, "low", (17.0, 25.0)),
            *(15.5, 16.5, None, None),
            "where errors come near what the codes mend",
        ),
        ModuleField(
            *("ber", "", "F16", True, "high", (5e-7, 6e-6)),
            *(None, None, 2e-5, 2e-4),
            "where the twin calls a link degraded, and where the outer code gives up ([LF] 4.1.2)",
        ),
        ModuleField(
            *("raw_ber", "", "F16", True, "high", (5e-7, 1e-3)),
            *(None, None, 1.6e-3, 3.3e-3),
            "what the inner code still mends to the thresholds of `ber`",
        ),
        ModuleField(
            *("mpi_db", "dB", "1/256 dB", True, "high", (-50.0, -31.5)),
            *(None, None, -31.0, -28.0),
            "beyond the -32 dB at which [LF] Figures 11 and 12 measure receivers",
        ),
    )
}
"""By name, in display order."""
MODULE_FIELD_BIT = {name: 1 << place for place, name in enumerate(MODULE_FIELDS)}
"""Bit of each field in a flags value."""


def module_fields_of(flags: int) -> list[str]:
    """The fields whose bit is set in a flags value."""
    return [name for name, bit in MODULE_FIELD_BIT.items() if flags & bit]
