"""The command that shows the worst, again and again: link ends by what their modules read, and OCSes by what
they and the link ends on them read."""

import sys
from collections import defaultdict
from typing import Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.names import Name
from ops.cli.output import say, watched
from ops.cli.readings import WIDE, cells, flags, measured
from ops.cli.types import OneOf
from ops.common.client import Client
from ops.common.tables import columns
from shared.basics.times import moment

OF_ENDS = ("LINK-ENDS", "DOWN", "DEGRADED", "ALARMS", "WARNINGS", "RX-DBM", "BER", "WORST")
OF_ITSELF = ("ERROR-URAD", "MIRROR", "CAMERA-DB", "TEMP-C", "SUPPLY-V", "SUPPLY-A", "FLAGS")
OF_OCS = ("NAME", *OF_ITSELF, *OF_ENDS)
ROWS_MAX = 1_000
NONE_YET = "no readings: nothing is connected, or no telemetry frame came yet"

app = application()


@app.command()
def top(
    kind: Annotated[
        str, typer.Argument(click_type=OneOf("kind", ("links", "ocs")), metavar="links|ocs", help="of which")
    ],
    fabric: Annotated[
        str | None, typer.Option(click_type=Name("fabrics"), help="only of this fabric")
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=ROWS_MAX, help="so many")] = 10,
    once: Annotated[bool, typer.Option("--once", help="and end; so it is where no terminal listens")] = False,
) -> None:
    """Show the worst link ends or OCSes by what modules and OCSes read, every second anew until Ctrl-C.

    Those with alarms (!!), or of which nothing is read (?), come first, then those with warnings (!), then by
    bit error rate. OCSes go by how many link ends on them are down, then by their own flags (? is what they
    should read and do not), then by those of the link ends.
    """
    client = Client()

    def look() -> str:
        rows = client.rows("/v1/readings", "name", fabric=fabric)
        own = client.rows("/v1/ocs-readings", "name", fabric=fabric) if kind == "ocs" else []
        with client.reading():
            if not rows and not own:
                return NONE_YET
            return _links(rows, count) if kind == "links" else _ocses(client, rows, own, count)

    if once or not sys.stdout.isatty():
        say(look())
    else:
        watched(look, watch=True)


def worst_first(reading: dict[str, Any]) -> tuple[Any, ...]:
    """What readings are sorted by."""
    return *_flagged(reading), -(reading["ber"] or 0.0), reading["name"]


def _links(rows: list[dict[str, Any]], count: int) -> str:
    worst = sorted(rows, key=worst_first)[:count]
    return f"{_head(rows)}\n\n" + columns(WIDE, [cells(row["name"], row["state"], row) for row in worst])


def _ocses(client: Client, rows: list[dict[str, Any]], own: list[dict[str, Any]], count: int) -> str:
    """By OCS, what it reads of itself, and the sums and the worst of the link ends on it."""
    fabrics = dict.fromkeys(row["name"].partition("/")[0] for row in rows)
    ocs_of = {
        link["name"]: link["ocs"]
        for fabric in fabrics
        for link in client.rows("/v1/links", "name", "ocs", fabric=fabric, fields="name,ocs")
    }
    by_ocs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if (ocs := ocs_of.get(row["name"])) is not None:
            by_ocs[ocs].append(row)
    itself = {row["name"]: row for row in own}
    names = dict.fromkeys([*itself, *by_ocs])
    if not names:
        return "no OCSes: fibres lead straight from end to end"
    ranked = sorted(names, key=lambda name: _ocs_first(itself.get(name), by_ocs.get(name, [])))
    lines = [_ocs(name, itself.get(name), by_ocs.get(name, [])) for name in ranked[:count]]
    return f"{_head_of_ocses(own, rows)}\n\n" + columns(OF_OCS, lines)


def _ocs_first(itself: dict[str, Any] | None, ends: list[dict[str, Any]]) -> tuple[Any, ...]:
    """What OCSes are sorted by: link ends that are down, their own flags, those of the link ends, and what
    these read."""
    own = (0, 0) if itself is None else _flagged(itself)
    worst = worst_first(min(ends, key=worst_first)) if ends else (0, 0, 0.0, "")
    error_urad = 0.0 if itself is None else itself["mirror_error_urad"] or 0.0
    down = sum(end["state"] == "down" for end in ends)
    return -down, own, _sums(ends), worst, -error_urad


def _flagged(reading: dict[str, Any]) -> tuple[int, int]:
    """What it cannot see weighs as much as what is far from usual."""
    return -len({*reading["alarms"], *reading["unread"]}), -len(reading["warnings"])


def _head_of_ocses(own: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """Of when the readings are, and how many raise a flag."""
    if not own:
        return _head(rows)
    told = _head(own, "OCSes")
    return "\n".join([told, _head(rows)]) if rows else told


def _head(rows: list[dict[str, Any]], whose: str = "link ends") -> str:
    """Of when the readings are, and how many raise a flag."""
    alarms, warnings, unread = (
        sum(bool(row[level]) for row in rows) for level in ("alarms", "warnings", "unread")
    )
    newest_us = max(row["at_us"] for row in rows)
    told = f"{moment(newest_us)}  {len(rows)} {whose} read, {alarms} with alarms, {warnings} with warnings"
    return f"{told}, {unread} not read in full" if unread else told


def _sums(ends: list[dict[str, Any]]) -> tuple[int, int]:
    return -sum(bool(end["alarms"]) for end in ends), -sum(bool(end["warnings"]) for end in ends)


def _ocs(name: str, itself: dict[str, Any] | None, ends: list[dict[str, Any]]) -> list[object]:
    shown = ("mirror_error_urad", "camera_snr_db", "temperature_c", "supply_v", "supply_a")
    own: list[object] = [None] * len(OF_ITSELF)
    if itself is not None:
        error, *others = (measured(field, itself[field]) for field in shown)
        own = [error, itself["mirror"], *others, flags(itself)]
    return [name, *own, *_of_ends(ends)]


def _of_ends(ends: list[dict[str, Any]]) -> list[object]:
    if not ends:
        return [0, *[None] * (len(OF_ENDS) - 1)]
    worst = min(ends, key=worst_first)
    states = [end["state"] for end in ends]
    alarms, warnings = _sums(ends)
    powers = [end["rx_power_dbm"] for end in ends if end["rx_power_dbm"] is not None]
    rates = [end["ber"] for end in ends if end["ber"] is not None]
    return [
        len(ends),
        states.count("down"),
        states.count("degraded"),
        -alarms,
        -warnings,
        measured("rx_power_dbm", min(powers, default=None)),
        measured("ber", max(rates, default=None)),
        f"{worst['name']} {flags(worst) or ''}".rstrip(),
    ]
