"""Sensor readings of modules and OCSes in the HTTP API, from the newest telemetry frame.

`docs/reference/telemetry.md` lists fields and units. A field is null if there is nothing to measure.
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
    """One connected link end. Each field is that of its worst lane. `at_us` is when its module was read,
    `late_us` how much older that is than the newest readings of the fabric. `warnings` and `alarms` are the
    fields for which the module raises a flag. `unread` are missing fields; for a silent module, all of
    them."""

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
    """One field of a link end, by lane, or in `module` for the module as a whole; with the thresholds at
    which the module raises a flag, null if there are none. `flag` is `unread` if the module is silent, null
    if there is nothing to measure. `late_us` is how much older the reading is than the newest ones of the
    fabric."""

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
    """One OCS. Each field is that of its worst mirror, camera, supply or fan; `mirror` has the largest error,
    such as N24. `warnings` and `alarms` are the fields for which the OCS raises a flag. `unread` are fields
    with a missing reading of at least one part."""

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
    """One field of an OCS over the `count` mirrors, cameras, supplies or fans that have it. `at` is the worst
    of them (N24, S, 1; null for the chassis). The thresholds are those at which the OCS raises a flag, null
    if there are none. `flag` is `unread` if one of them has no reading, null if there are none of them."""

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
    """A reading of one field of a link end or an OCS at one time."""

    at_us: int
    value: float | None
