"""`lightwave explain` and `lightwave plan`: questions to the scheduler, which change nothing."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.names import Name, whole
from ops.cli.options import At, Output
from ops.cli.output import show
from ops.common.client import Client, escape
from ops.common.tables import columns
from shared.basics.times import chip_hours, moment

EXPLANATION = ("name", "at_us", "state", "shape", "reason", "start", "in_the_way", "history")
LISTED_MAX = 20
"""Rows of a table that says how many more there are."""

UNSLOWED = "speed=100%"
SPARE = "traffic goes around them: its shorter sides have links to spare"
"""Why a slice with links down may run at full speed: in a torus of unlike sides the longest one limits."""

app = application("explain")


@app.callback()
def explain() -> None:
    """Say why a slice waits, was refused, moved, was pre-empted or recovers."""


@app.command("slice")
def explain_slice(
    name: Annotated[
        str, typer.Argument(click_type=Name("slices"), metavar="SLICE", help="such as pod-0/slice-3")
    ],
    at: At = None,
    output: Output = "table",
) -> None:
    """Say what is in the way of a slice, and when it starts."""
    client = Client(at=at)
    _explain(client, f"/v1/explain/slices/{escape(whole(client, name))}", output)


@app.command("request")
def explain_request(
    name: Annotated[
        str,
        typer.Argument(metavar="REQUEST", help="its key, the id of its message, or the slice's name"),
    ],
    at: At = None,
    output: Output = "table",
) -> None:
    """Say the same of the slice that a request asked for."""
    client = Client(at=at)
    name = whole(client, name) if name.startswith("slice-") else name
    _explain(client, f"/v1/explain/requests/{escape(name)}", output)


def _explain(client: Client, path: str, output: Output) -> None:
    found = client.thing(path, *EXPLANATION)
    with client.reading():
        show(found, output, lambda: _explained(found))


def _explained(found: Mapping[str, Any]) -> str:
    """What it is and why in sentences; then what is in its way, what each choice costs, and its history."""
    who = f"{found['tier']} of {found['owner']}, priority {found['priority']}"
    twist = " twisted" if found["twisted"] else ""
    since = moment(found["since_us"])
    lines = [f"{found['name']} ({found['shape']}{twist}, {who}): {found['state']} since {since}"]
    if found["reason"] is not None:
        lines.append(f"why: {found['reason']}")
    if found["queue_position"] is not None:
        lines.append(f"queue: {found['queue_position']} of {found['queue_length']}")
    lines += started(found["start"])
    if found["state"] in ("queued", "waiting-for-pods", "refused"):
        lines.append(f"largest shape that would fit now: {found['largest_now'] or 'none'}")
    lines += _recovery(found["recovery"])
    lines += listed(
        ("KIND", "IN-THE-WAY", "WHY"), [[row["kind"], row["name"], row["why"]] for row in found["in_the_way"]]
    )
    past = found["history"]
    history = [[moment(row["at_us"]), row["type"], _past(row)] for row in past[-LISTED_MAX:]]
    if history:
        lines += ["", columns(("AT", "HISTORY", "WHAT"), history)]
    if len(past) > LISTED_MAX:
        lines.append(f"... and {len(past) - LISTED_MAX} before (-o json has all)")
    return "\n".join(lines)


def _past(row: Mapping[str, Any]) -> str:
    """What a message says; of a choice what it was chosen from, of a slice that came back what it lost."""
    if row["costs_chip_us"] is not None:
        costs = {choice: cost for choice, cost in row["costs_chip_us"].items() if cost is not None}
        said = ", ".join(f"{choice} {chip_hours(cost)}" for choice, cost in costs.items())
        return f"{row['choice']}, of {said} chip-hours"
    if row["type"] == "SliceDegraded" and UNSLOWED in row["text"] and "links_down=0" not in row["text"]:
        return f"{row['text']} ({SPARE})"
    lost = f"lost {chip_hours(row['lost_chip_us'])} chip-hours; " if row["lost_chip_us"] is not None else ""
    return f"{lost}{row['text']}"


def started(start: Mapping[str, Any] | None) -> list[str]:
    """When something is expected to start, and how sure that is."""
    if start is None:
        return []
    when = "nobody knows when" if start["at_us"] is None else f"{moment(start['at_us'])} ({start['basis']})"
    lately = start.get("estimates_lately")
    return [
        f"expected to start: {when}",
        f"how sure: {start['because']}",
        *([f"estimates: {lately}"] if lately else []),
    ]


def _recovery(recovery: Mapping[str, Any] | None) -> list[str]:
    if recovery is None:
        return []
    lost, again = chip_hours(recovery["lost_chip_us"]), moment(recovery["decides_us"])
    lines = [
        f"recovers since {moment(recovery['since_us'])}: {recovery['part']} cost it {lost} chip-hours",
        f"choice: {recovery['choice'] or 'none yet'}; cheapest now: {recovery['cheapest_now']}; due {again}",
    ]
    costs = [
        [choice, chip_hours(cost)] for choice, cost in recovery["costs_chip_us"].items() if cost is not None
    ]
    return [*lines, "", columns(("CHOICE", "CHIP-HOURS"), costs)]


def listed(headers: tuple[str, ...], rows: list[list[Any]]) -> list[str]:
    """A table after an empty line, cut where nobody would read on; nothing without rows."""
    if not rows:
        return []
    more = [f"... and {len(rows) - LISTED_MAX} more (-o json has all)"] if len(rows) > LISTED_MAX else []
    return ["", columns(headers, rows[:LISTED_MAX]), *more]
