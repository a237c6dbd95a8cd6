"""Tables of the readings of modules and OCSes."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from ops.cli.common.param_types import field_of_heading
from ops.client.answers import CLOCK, ApiPath
from ops.client.http_client import Client
from ops.report.table_style import current_style
from ops.report.tables import text_table
from schemas.name_parts import fabric_part
from shared.basics.field_tests import EQUAL, UNEQUAL, FieldTest, split_test
from shared.basics.json_types import JsonObject
from shared.basics.time_format import format_duration, format_time
from shared.models.telemetry.module_fields import MODULE_FIELDS

if TYPE_CHECKING:
    from schemas.api.rows import LinkRow
    from schemas.api.sensor_readings import OcsReadingRow, ReadingRow

READINGS: "ApiPath[ReadingRow]" = ApiPath("/v1/readings")

WIDE_HEADERS = ("NAME", "STATE", "RX-DBM", "TX-DBM", "BIAS-MA", "TEMP-C", "SNR-DB", "BER", "MPI-DB", "FLAGS")
OF_MODULES = ("GEN", "AGE", "READ-AT")
"""Columns before FLAGS: replacements and age of the module, and when it was read. STATE is the current one,
and the readings may be older."""
READING_WIDE = (
    "MODULE",
    *(f"LANE-{lane}" for lane in range(8)),
    "MEDIAN",
    "COUNT",
    "LOW-WARNING",
    "HIGH-WARNING",
)
"""Columns of the readings of one link end or OCS that a narrow terminal leaves out."""
FLAG_NAMES = {
    "rx_power_dbm": "rx",
    "tx_power_dbm": "tx",
    "bias_ma": "bias",
    "temperature_c": "temperature",
    "supply_v": "supply",
    "snr_db": "snr",
    "ber": "ber",
    "raw_ber": "raw ber",
    "mpi_db": "mpi",
    "mirror_drive_v": "mirror drive",
    "mirror_error_urad": "mirror error",
    "camera_snr_db": "camera",
    "monitor_power_dbm": "monitor beam",
    "inlet_c": "inlet",
    "supply_a": "current",
    "fan_rpm": "fan",
}
"""Field → its name in flags."""


FIELD_BY_HEADING = {
    "rx_dbm": "rx_power_dbm",
    "tx_dbm": "tx_power_dbm",
    "temp_c": "temperature_c",
    "read_at": "at_us",
    **{
        name: name
        for name in ("rx_power_dbm", "tx_power_dbm", "bias_ma", "temperature_c", "snr_db", "mpi_db")
    },
}
"""Heading of the wide table, or field → the field that a module reads. Links themselves have a BER."""


FLAGS = "flags"
"""The last column, which combines several fields of a reading."""


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """Selection and order of the rows of the wide table by module readings: sort keys (field, ascending), the
    most significant first, and the number of rows. Without sort keys, rows are in the twin's order."""

    by: tuple[tuple[str, bool], ...] = ()
    top: int | None = None
    tests: tuple[FieldTest, ...] = ()


NO_ORDER = ReadingOrder()


def split_link_order(query: dict[str, Any], *, is_wide: bool) -> ReadingOrder:
    """Remove the parts of a query of links that only readings can answer.

    The newest frame has the module readings and the list of links does not, so the wide table is sorted and
    filtered by them here.
    """
    tests = [split_test(text) for text in query.get("where") or ()]
    of_readings = tuple(test for test in tests if _reading_field(test.field) is not None)
    words = query["sort"].split(",") if query["sort"] else []
    order = [(word.removeprefix("-"), not word.startswith("-")) for word in words]
    by_readings = [(field, up) for name, up in order if (field := _reading_field(name)) is not None]
    if not (by_readings or of_readings):
        return ReadingOrder()
    if not is_wide:
        option = f"--sort {query['sort']}" if by_readings else f"--where {of_readings[0].text!r}"
        raise click.UsageError(f"{option}: is a module reading; use it with -o wide")
    if by_readings and (unfit := [name for name, _ in order if _reading_field(name) is None]):
        raise click.UsageError(
            f"--sort {unfit[0]}: cannot be combined with module readings; must be "
            f"one of {', '.join((*FIELD_BY_HEADING, FLAGS))}"
        )
    for test in of_readings:
        if _reading_field(test.field) == FLAGS and test.sign not in (*EQUAL, UNEQUAL, "in"):
            raise click.UsageError(f"--where {test.text!r}: is not a number; must be FLAGS=rx or FLAGS!=null")
    found_top = query["limit"]
    query["where"] = [test.text for test in tests if test not in of_readings]
    query["limit"] = None
    if by_readings:
        query["sort"] = None
    return ReadingOrder(tuple(by_readings), found_top, of_readings)


def _reading_field(name: str) -> str | None:
    """The field that a module reads, by its name or its heading; None for another field."""
    field = field_of_heading(name)
    return FLAGS if field == FLAGS else FIELD_BY_HEADING.get(field)


def reading_value(field: str, value: float | None) -> str | None:
    """A value as tables show that field: rates by their order of magnitude, a supply to the millivolt, most
    others to the hundredth."""
    if value is None:
        return None
    if field.endswith("ber"):
        return f"{value:.1e}" if value else "0"
    digits = {"supply_v": 3, "mirror_error_urad": 1, "fan_rpm": 0}.get(field, 2)
    return f"{value:.{digits}f}"


def flags_text(reading: "ReadingRow | OcsReadingRow", field_count: int, late_us: int = 0) -> str | None:
    """Format flags: `!` and the fields with a warning, `!!` and those with an alarm, `?` and missing fields;
    and the age of the reading if others are newer. `field_count` is the number of all fields."""
    alarms = [FLAG_NAMES[field] for field in reading.alarms]
    warnings = [FLAG_NAMES[field] for field in reading.warnings if field not in reading.alarms]
    unread = [FLAG_NAMES[field] for field in reading.unread]
    if len(unread) == field_count:
        unread = ["nothing is read"]
    marked = (("!!", alarms), ("?", unread), ("!", warnings))
    flags = [f"{mark} {', '.join(names)}" for mark, names in marked if names]
    return "; ".join([*flags, *([f"{format_duration(late_us)} old"] if late_us else [])]) or None


def link_flags_text(reading: "ReadingRow") -> str | None:
    return flags_text(reading, len(MODULE_FIELDS), reading.late_us)


def readings_by_link(client: Client, fabrics: Sequence[str]) -> "dict[str, ReadingRow]":
    """Return the readings of all connected link ends by name."""
    rows = [row for fabric in fabrics for row in client.rows(READINGS, "name", fabric=fabric)]
    return {row.name: row for row in rows}


def wide_table(client: Client, links: "Sequence[LinkRow]", order: ReadingOrder = NO_ORDER) -> str:
    """Format the table of link ends by their module readings. Ends without a reading come last."""
    if not links:
        return "no links"
    fabrics = dict.fromkeys(fabric_part(row.name) for row in links)
    found = readings_by_link(client, list(fabrics))
    now_us = client.resource(CLOCK, "now_us").now_us
    links = _sorted(_filtered(client, links, found, order.tests), found, order)
    if not links:
        return "no links"
    with client.reading():
        rows = [_with_module(row, found.get(row.name), now_us) for row in links]
        return text_table((*WIDE_HEADERS[:-1], *OF_MODULES, WIDE_HEADERS[-1]), rows)


def _filtered(
    client: Client,
    links: "Sequence[LinkRow]",
    readings: "dict[str, ReadingRow]",
    tests: Sequence[FieldTest],
) -> "Sequence[LinkRow]":
    """Return the links whose module readings pass the tests."""
    if not tests:
        return links
    fabrics = dict.fromkeys(fabric_part(row.name) for row in links)
    where = [
        test.text.replace(test.field, str(_reading_field(test.field)), 1)
        for test in tests
        if _reading_field(test.field) != FLAGS
    ]
    read = [row for fabric in fabrics for row in client.rows(READINGS, "name", fabric=fabric, where=where)]
    names = {row.name for row in read}
    for test in [test for test in tests if _reading_field(test.field) == FLAGS]:
        names = {name for name in names if _has_flag(readings.get(name), test)}
    return [row for row in links if row.name in names]


def _has_flag(reading: "ReadingRow | None", test: FieldTest) -> bool:
    """Whether a module has one of the flags of a test, such as `FLAGS=rx`; `null` is none."""
    flags = {"null"} if reading is None else _flagged(reading) or {"null"}
    return bool(flags & set(test.values)) == (test.sign != UNEQUAL)


def _flagged(reading: "ReadingRow") -> set[str]:
    fields = {*reading.alarms, *reading.warnings, *reading.unread}
    return fields | {FLAG_NAMES[field] for field in fields}


def _sort_value(reading: "ReadingRow | None", field: str) -> Any:
    """Return the sort key of a row: flags sort by the number of alarms, of warnings and of missing fields."""
    if reading is None or field != FLAGS:
        return getattr(reading, field, None)
    return (len(reading.alarms), len(reading.warnings), len(reading.unread))


def _sorted(
    links: "Sequence[LinkRow]", readings: "dict[str, ReadingRow]", order: ReadingOrder
) -> "Sequence[LinkRow]":
    rows = list(links)
    for field, up in reversed(order.by):
        read = [(_sort_value(readings.get(row.name), field), row) for row in rows]
        there = sorted((one for one in read if one[0] is not None), key=itemgetter(0), reverse=not up)
        rows = [row for _, row in there] + [row for value, row in read if value is None]
    return rows[: order.top]


def _with_module(link: "LinkRow", reading: "ReadingRow | None", now_us: int) -> list[object]:
    *measures, raised = wide_cells(link.name, link.state, reading)
    read_at = None if reading is None else format_time(reading.at_us)
    return [*measures, link.generation, format_duration(now_us - link.installed_us), read_at, raised]


def wide_cells(name: str, state: str, reading: "ReadingRow | None") -> list[object]:
    """Format a row of the wide table. A link end without a reading, because it is dark or there is no frame
    yet, has only the first columns."""
    if reading is None:
        return [name, state, *[None] * (len(WIDE_HEADERS) - 2)]
    return [
        name,
        state,
        reading_value("rx_power_dbm", reading.rx_power_dbm),
        reading_value("tx_power_dbm", reading.tx_power_dbm),
        reading_value("bias_ma", reading.bias_ma),
        reading_value("temperature_c", reading.temperature_c),
        reading_value("snr_db", reading.snr_db),
        reading_value("ber", reading.ber),
        reading_value("mpi_db", reading.mpi_db),
        link_flags_text(reading),
    ]


def reading_age(readings: Sequence[Any], now_us: int) -> str:
    """Return when the newest reading was taken, and how long ago."""
    newest_us = max(row.at_us for row in readings)
    return f"{format_time(newest_us)}, {format_duration(max(0, now_us - newest_us))} ago"


def lane_rows(readings: Sequence[JsonObject]) -> list[JsonObject]:
    """Format all fields of a link end or OCS. The title has their time, and rows that are older have their
    age. A narrow terminal shows the range of the lanes."""
    plain = ("field", "unit", "flag", "count", "at", "late_us")
    is_narrow = current_style().width is not None
    return [
        {
            name: reading_value(str(row["field"]), value)
            if isinstance(value, int | float) and name not in plain
            else value
            for name, value in (_with_range(row) if is_narrow else row).items()
            if name != "at_us" and (name != "late_us" or value)
        }
        for row in readings
    ]


def _with_range(row: JsonObject) -> JsonObject:
    """The reading of a link end with its lowest and highest lane, before the lanes."""
    if "lane_0" not in row:
        return row
    values = [row[name] for name in row if name.startswith("lane_") or name == "module"]
    known = [value for value in values if isinstance(value, int | float)]
    extremes: JsonObject = {"lowest": min(known, default=None), "highest": max(known, default=None)}
    head = {name: row[name] for name in ("field", "unit")}
    return head | extremes | {name: value for name, value in row.items() if name not in head}
