"""The command that shows the worst, again and again: link ends by what their modules read, and OCSes by what
the link ends on them do."""

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

OF_OCS = ("NAME", "LINK-ENDS", "DOWN", "DEGRADED", "ALARMS", "WARNINGS", "RX-DBM", "BER", "WORST")
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
    """Show the worst link ends or OCSes by what modules read, every second anew until Ctrl-C.

    Those with alarms come first, then those with warnings, then by bit error rate.
    """
    client = Client()

    def look() -> str:
        rows = client.rows("/v1/readings", "name", fabric=fabric)
        with client.reading():
            if not rows:
                return NONE_YET
            return _links(rows, count) if kind == "links" else _ocses(client, rows, count)

    if once or not sys.stdout.isatty():
        say(look())
    else:
        watched(look, watch=True)


def worst_first(reading: dict[str, Any]) -> tuple[Any, ...]:
    """What readings are sorted by."""
    return -len(reading["alarms"]), -len(reading["warnings"]), -(reading["ber"] or 0.0), reading["name"]


def _links(rows: list[dict[str, Any]], count: int) -> str:
    worst = sorted(rows, key=worst_first)[:count]
    return f"{_head(rows)}\n\n" + columns(WIDE, [cells(row["name"], row["state"], row) for row in worst])


def _ocses(client: Client, rows: list[dict[str, Any]], count: int) -> str:
    """By OCS, the sums and the worst of the link ends on it."""
    fabrics = dict.fromkeys(row["name"].partition("/")[0] for row in rows)
    ocs_of = {
        link["name"]: link["ocs"]
        for fabric in fabrics
        for link in client.rows("/v1/links", "name", "ocs", fabric=fabric, fields="name,ocs")
    }
    by_ocs = defaultdict(list)
    for row in rows:
        if (ocs := ocs_of.get(row["name"])) is not None:
            by_ocs[ocs].append(row)
    if not by_ocs:
        return "no OCSes: fibres lead straight from end to end"
    ranked = sorted(
        by_ocs.items(), key=lambda item: (_sums(item[1]), worst_first(min(item[1], key=worst_first)))
    )
    return f"{_head(rows)}\n\n" + columns(OF_OCS, [_ocs(name, ends) for name, ends in ranked[:count]])


def _sums(ends: list[dict[str, Any]]) -> tuple[int, int]:
    return -sum(bool(end["alarms"]) for end in ends), -sum(bool(end["warnings"]) for end in ends)


def _ocs(name: str, ends: list[dict[str, Any]]) -> list[object]:
    worst = min(ends, key=worst_first)
    states = [end["state"] for end in ends]
    alarms, warnings = _sums(ends)
    powers = [end["rx_power_dbm"] for end in ends if end["rx_power_dbm"] is not None]
    rates = [end["ber"] for end in ends if end["ber"] is not None]
    told = f"{worst['name']} {flags(worst) or ''}".rstrip()
    return [
        name,
        len(ends),
        states.count("down"),
        states.count("degraded"),
        -alarms,
        -warnings,
        measured("rx_power_dbm", min(powers, default=None)),
        measured("ber", max(rates, default=None)),
        told,
    ]


def _head(rows: list[dict[str, Any]]) -> str:
    """Of when the readings are, and how many raise a flag."""
    alarms, warnings = (sum(bool(row[level]) for row in rows) for level in ("alarms", "warnings"))
    newest_us = max(row["at_us"] for row in rows)
    return f"{moment(newest_us)}  {len(rows)} link ends read, {alarms} with alarms, {warnings} with warnings"
