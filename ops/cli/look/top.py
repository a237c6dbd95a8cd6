"""`lightwave top`: watches the link ends and OCSes with the worst readings."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import OutputOption
from ops.cli.common.output import render, watch_loop
from ops.cli.common.param_types import ChoiceParam
from ops.cli.common.waiting import check_not_retired
from ops.cli.look.reading_tables import (
    READINGS,
    WIDE_HEADERS,
    flags_text,
    link_flags_text,
    reading_age,
    reading_value,
    wide_cells,
)
from ops.client.answers import CLOCK, ApiPath
from ops.client.http_client import Client, rows_path
from ops.report.table_style import current_style
from ops.report.tables import text_table
from schemas.name_parts import fabric_part
from schemas.resource_kinds import LINKS
from shared.models.telemetry.ocs_fields import OCS_FIELDS

if TYPE_CHECKING:
    from schemas.api.sensor_readings import OcsReadingRow, ReadingRow

LINK_END_HEADERS = ("LINK-ENDS", "DOWN", "DEGRADED", "ALARMS", "WARNINGS", "RX-DBM", "BER", "WORST")
OWN_HEADERS = ("ERROR-URAD", "MIRROR", "CAMERA-DB", "TEMP-C", "SUPPLY-V", "SUPPLY-A", "FLAGS")
OCS_HEADERS = ("NAME", *OWN_HEADERS, *LINK_END_HEADERS)
LINK_WIDE = ("TX-DBM", "BIAS-MA", "MPI-DB")
OCS_WIDE = ("MIRROR", "CAMERA-DB", "SUPPLY-V", "SUPPLY-A", "DEGRADED", "WARNINGS", "RX-DBM", "BER", "WORST")
"""Columns that a narrow terminal leaves out."""
ROWS_MAX = 1_000
OCS_READINGS: "ApiPath[OcsReadingRow]" = ApiPath("/v1/ocs-readings")
NONE_YET = "no readings: nothing is connected, or there is no telemetry frame yet"

app = command_app()


@app.command(epilog=examples("top links", "top ocs -n 20 --once"))
def top(
    kind: Annotated[
        str,
        typer.Argument(
            click_type=ChoiceParam("kind", ("links", "ocs")), metavar="links|ocs", help="kind of objects"
        ),
    ],
    fabric: Annotated[
        str | None, typer.Option(click_type=NameParam("fabrics"), help="show only objects of this fabric")
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=ROWS_MAX, help="number of rows")] = 10,
    once: Annotated[
        bool, typer.Option("--once", help="print once and exit (the default if stdout is not a terminal)")
    ] = False,
    output: OutputOption = "table",
) -> None:
    """Watch the link ends or OCSes with the worst readings.

    Rows with alarms (!!) or missing readings (?) come first, then rows with warnings (!), then by bit error
    rate. OCSes are ordered by the number of their link ends that are down, then by their own flags, then by
    those of the link ends. For an OCS, ? marks a reading that is missing. The table refreshes every second
    until Ctrl-C.
    """
    client = Client()

    def look() -> str:
        rows = client.rows(READINGS, "name", fabric=fabric)
        own = client.rows(OCS_READINGS, "name", fabric=fabric) if kind == "ocs" else []
        now_us = client.resource(CLOCK, "now_us").now_us
        with client.reading():
            if not rows and not own:
                return render([], output, lambda: NONE_YET)
            if kind == "links":
                worst = sorted(rows, key=badness_key)[:count]
                return render(worst, output, lambda: _links(rows, worst, now_us))
            ends = _ends_by_ocs(client, rows)
            ranked = _ranked(ends, own)[:count]
            shown = [row for name in ranked for row in own if row.name == name]
            return render(shown, output, lambda: _ocses(rows, own, ends, ranked, now_us))

    is_watch = not once and output == "table" and current_style().on_terminal
    watch_loop(look, is_watch, lambda: check_not_retired(client, fabric))


def badness_key(reading: "ReadingRow") -> tuple[int, int, float, str]:
    """Return the sort key of a reading."""
    return *_flag_counts(reading), -(reading.ber or 0.0), reading.name


def _links(rows: "list[ReadingRow]", worst: "list[ReadingRow]", now_us: int) -> str:
    cells = [wide_cells(row.name, row.state, row) for row in worst]
    return f"{_head(rows, now_us)}\n\n" + text_table(WIDE_HEADERS, cells, LINK_WIDE, keep=("BER",))


def _ends_by_ocs(client: Client, rows: "list[ReadingRow]") -> "dict[str, list[ReadingRow]]":
    """OCS → the readings of the link ends on it."""
    fabrics = dict.fromkeys(fabric_part(row.name) for row in rows)
    ocs_of = {
        link.name: link.ocs
        for fabric in fabrics
        for link in client.rows(rows_path(LINKS), "name", "ocs", fabric=fabric, fields="name,ocs")
    }
    by_ocs: dict[str, list[ReadingRow]] = defaultdict(list)
    for row in rows:
        if (ocs := ocs_of.get(row.name)) is not None:
            by_ocs[ocs].append(row)
    return by_ocs


def _ranked(ends: "dict[str, list[ReadingRow]]", own: "list[OcsReadingRow]") -> list[str]:
    """The names of the OCSes, the worst first."""
    own_reading = {row.name: row for row in own}
    names = dict.fromkeys([*own_reading, *ends])
    return sorted(names, key=lambda name: _ocs_badness_key(own_reading.get(name), ends.get(name, [])))


def _ocses(
    rows: "list[ReadingRow]",
    own: "list[OcsReadingRow]",
    ends: "dict[str, list[ReadingRow]]",
    ranked: list[str],
    now_us: int,
) -> str:
    """Return, for each OCS, its own readings, and the sums and the worst values of its link ends."""
    if not ranked:
        return "no OCSes: fibres lead straight from end to end"
    own_reading = {row.name: row for row in own}
    lines = [_ocs(name, own_reading.get(name), ends.get(name, [])) for name in ranked]
    return f"{_head_of_ocses(own, rows, now_us)}\n\n" + text_table(
        OCS_HEADERS, lines, OCS_WIDE, keep=("DOWN",)
    )


def _ocs_badness_key(own_reading: "OcsReadingRow | None", ends: "list[ReadingRow]") -> tuple[object, ...]:
    """Return the sort key of an OCS: link ends that are down, its own flags, those of the link ends, and
    their readings."""
    own = (0, 0) if own_reading is None else _flag_counts(own_reading)
    worst = badness_key(min(ends, key=badness_key)) if ends else (0, 0, 0.0, "")
    error_urad = 0.0 if own_reading is None else own_reading.mirror_error_urad or 0.0
    down = sum(end.state == "down" for end in ends)
    return -down, own, _flagged_ends(ends), worst, -error_urad


def _flag_counts(reading: "ReadingRow | OcsReadingRow") -> tuple[int, int]:
    """Return the weight of flags. A missing reading counts as much as an outlier."""
    return -len({*reading.alarms, *reading.unread}), -len(reading.warnings)


def _head_of_ocses(own: "list[OcsReadingRow]", rows: "list[ReadingRow]", now_us: int) -> str:
    """Describe when the readings were taken, and how many have flags."""
    if not own:
        return _head(rows, now_us)
    head = _head(own, now_us, "OCSes")
    return "\n".join([head, _head(rows, now_us)]) if rows else head


def _head(rows: "Sequence[ReadingRow | OcsReadingRow]", now_us: int, whose: str = "link ends") -> str:
    """Describe when the readings were taken, and how many have flags."""
    alarms = sum(bool(row.alarms) for row in rows)
    warnings = sum(bool(row.warnings) for row in rows)
    unread = sum(bool(row.unread) for row in rows)
    age = reading_age(rows, now_us)
    head = f"{age}: {len(rows)} {whose} read, {alarms} with alarms, {warnings} with warnings"
    return f"{head}, {unread} not read in full" if unread else head


def _flagged_ends(ends: "list[ReadingRow]") -> tuple[int, int]:
    return -sum(bool(end.alarms) for end in ends), -sum(bool(end.warnings) for end in ends)


def _ocs(name: str, own_reading: "OcsReadingRow | None", ends: "list[ReadingRow]") -> list[object]:
    own: list[object] = [None] * len(OWN_HEADERS)
    if own_reading is not None:
        own = [
            reading_value("mirror_error_urad", own_reading.mirror_error_urad),
            own_reading.mirror,
            reading_value("camera_snr_db", own_reading.camera_snr_db),
            reading_value("temperature_c", own_reading.temperature_c),
            reading_value("supply_v", own_reading.supply_v),
            reading_value("supply_a", own_reading.supply_a),
            flags_text(own_reading, len(OCS_FIELDS)),
        ]
    return [name, *own, *_link_end_cells(ends)]


def _link_end_cells(ends: "list[ReadingRow]") -> list[object]:
    if not ends:
        return [0, *[None] * (len(LINK_END_HEADERS) - 1)]
    worst = min(ends, key=badness_key)
    states = [end.state for end in ends]
    alarms, warnings = _flagged_ends(ends)
    powers = [end.rx_power_dbm for end in ends if end.rx_power_dbm is not None]
    rates = [end.ber for end in ends if end.ber is not None]
    return [
        len(ends),
        states.count("down"),
        states.count("degraded"),
        -alarms,
        -warnings,
        reading_value("rx_power_dbm", min(powers, default=None)),
        reading_value("ber", max(rates, default=None)),
        f"{worst.name} {link_flags_text(worst) or ''}".rstrip(),
    ]
