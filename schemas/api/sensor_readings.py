"""What modules and OCSes read of themselves, as the HTTP API gives it: the newest frame of telemetry.

Fields and their units are those of `docs/reference/telemetry.md`. A field is null where the module measures
nothing.
"""

from typing import Literal

from schemas.body import Model
from schemas.documents.pods import LinkState

LinkFieldName = Literal[
    "rx_power_dbm",
    "tx_power_dbm",
    "bias_ma",
    "temperature_c",
    "supply_v",
    "snr_db",
    "ber",
    "raw_ber",
    "mpi_db",
]


OcsFieldName = Literal[
    "mirror_drive_v",
    "mirror_error_urad",
    "camera_snr_db",
    "monitor_power_dbm",
    "inlet_c",
    "temperature_c",
    "supply_v",
    "supply_a",
    "fan_rpm",
]
AnyFieldName = Literal[LinkFieldName, OcsFieldName]


class ReadingRow(Model):
    """One connected link end: when its module was read, by how much that is older than the newest readings
    of its fabric (`late_us`), each field of its worst lane, the fields for which the module raises a warning
    or an alarm, and those that are `unread`: all of a module that says nothing."""

    name: str
    state: LinkState
    at_us: int
    late_us: int
    rx_power_dbm: float | None
    tx_power_dbm: float | None
    bias_ma: float | None
    temperature_c: float | None
    supply_v: float | None
    snr_db: float | None
    ber: float | None
    raw_ber: float | None
    mpi_db: float | None
    warnings: tuple[LinkFieldName, ...]
    alarms: tuple[LinkFieldName, ...]
    unread: tuple[LinkFieldName, ...]


class FieldReading(Model):
    """One field of a link end, lane by lane, or in `module` where it is of the module as a whole; and beyond
    which thresholds the module raises a flag, null where it has none. `flag` is `unread` where the module
    says nothing, null where there is nothing to measure. `late_us` is by how much older it is than the newest
    readings of its fabric."""

    field: LinkFieldName
    unit: str
    module: float | None
    lane_0: float | None
    lane_1: float | None
    lane_2: float | None
    lane_3: float | None
    lane_4: float | None
    lane_5: float | None
    lane_6: float | None
    lane_7: float | None
    low_alarm: float | None
    low_warning: float | None
    high_warning: float | None
    high_alarm: float | None
    flag: Literal["ok", "warning", "unread", "alarm"] | None
    at_us: int
    late_us: int


class OcsReadingRow(Model):
    """One OCS: when it was read, each field of its worst mirror, camera, supply or fan, `mirror` the one with
    the largest error, such as N24, the fields for which it raises a warning or an alarm, and those that are
    `unread`, though it should read them: of a mirror, camera, supply or fan, or of all."""

    name: str
    state: Literal["up", "held", "down"]
    at_us: int
    mirror_drive_v: float | None
    mirror_error_urad: float | None
    camera_snr_db: float | None
    monitor_power_dbm: float | None
    inlet_c: float | None
    temperature_c: float | None
    supply_v: float | None
    supply_a: float | None
    fan_rpm: float | None
    mirror: str | None
    warnings: tuple[OcsFieldName, ...]
    alarms: tuple[OcsFieldName, ...]
    unread: tuple[OcsFieldName, ...]


class OcsFieldReading(Model):
    """One field of an OCS over the `count` mirrors, cameras, supplies or fans that it was read of: which one
    is the worst (`at`: N24, S, 1; null of the chassis); and beyond which thresholds the OCS raises a flag,
    null where it has none. `flag` is `unread` where one of them gives no reading, null where there is none of
    them."""

    field: OcsFieldName
    unit: str
    count: int
    lowest: float | None
    median: float | None
    highest: float | None
    at: str | None
    low_alarm: float | None
    low_warning: float | None
    high_warning: float | None
    high_alarm: float | None
    flag: Literal["ok", "warning", "unread", "alarm"] | None
    at_us: int


class ReadingSample(Model):
    """A field of a link end or an OCS at a moment."""

    at_us: int
    value: float | None
