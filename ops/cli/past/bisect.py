"""`lightwave bisect`: finds the message after which a condition is true."""

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.event_table import EVENT_HEADERS, event_row
from ops.cli.common.options import Fabric, Output
from ops.cli.common.output import show
from ops.cli.common.progress import ProgressLine
from ops.cli.explain.events import MESSAGE, chain_text
from ops.client.http_client import Client, TwinBusy, escape_path
from ops.report.tables import text_table
from shared.basics.time_format import format_time, format_time_ms

FIELDS = ("from_us", "to_us", "reached_us", "held_at_start", "transitions", "messages", "cursor")
EXIT_NEVER_HELD = 1
"""The exit code where a condition was never held."""
BUSY_WAIT_S_MAX = 120.0
"""How long others who ask the same are waited for."""

BisectPart = Mapping[str, Any]

app = command_app()


@app.command(
    epilog=examples(
        "bisect 'slices.pod-0/slice-42.state == degraded'",
        "bisect 'count(cubes, health == unhealthy) > 3' --from -12h --all",
    )
)
def bisect(
    condition: Annotated[
        str,
        typer.Argument(
            metavar="CONDITION",
            help="a condition, such as 'slices.pod-0/slice-42.state == degraded' or 'count(cubes, "
            "health == unhealthy) > 3'",
        ),
    ],
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="start, as for `get --at` [default: the start of the twin]"
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="end, as for `get --at` [default: now]")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="list every change of the condition, not only the first")
    ] = False,
    fabric: Fabric = None,
    output: Output = "table",
) -> None:
    """Find the first message after which a condition is true.

    Conditions are about the fields of `get -o json`: KIND.NAME.FIELD with == != < <= > >= or in [A, B],
    KIND.NAME exists or absent, count(KIND, FIELD == VALUE) > 3; combine them with and, or, not. With --all,
    list every change of the condition. The exit code is 1 if the condition was never true.
    """
    client = Client()
    query = {"condition": condition, "fabric": fabric, "all": "true" if every else None}
    found: list[BisectPart] = []
    with ProgressLine(lambda us, _: f"{format_time(round(us))} of {format_time(last_us)}", 1.0) as progress:
        last_us = 0
        for part in _parts(client, query | {"from": since, "to": until}):
            found.append(part)
            last_us = part["to_us"]
            progress.report_progress(part["reached_us"])
    transitions = [turn for part in found for turn in part["transitions"]]
    whole = {name: value for name, value in found[0].items() if name not in ("cursor", "reached_us")}
    whole |= {"transitions": transitions, "messages": sum(part["messages"] for part in found)}
    with client.reading():
        show(whole, output, lambda: _result_text(client, whole, every=every))
    if not whole["held_at_start"] and not transitions:
        raise typer.Exit(EXIT_NEVER_HELD)


def _parts(client: Client, query: Mapping[str, object]) -> Iterator[BisectPart]:
    """What the twin finds, part by part; while others ask it the same, they are waited for."""
    until_s = time.monotonic() + BUSY_WAIT_S_MAX
    while True:
        try:
            part = client.resource("/v1/bisect", *FIELDS, **query)
        except TwinBusy as error:
            if time.monotonic() > until_s:
                raise
            time.sleep(error.retry_after_s)
            continue
        yield part
        if part["cursor"] is None or (part["transitions"] and not query["all"]):
            return
        query = {**query, "from": None, "to": None, "cursor": part["cursor"]}
        until_s = time.monotonic() + BUSY_WAIT_S_MAX


def _result_text(client: Client, found: BisectPart, *, every: bool) -> str:
    where = f"{format_time(found['from_us'])} to {format_time(found['to_us'])}"
    if every and found["transitions"]:
        rows = [
            ["yes" if turn["holds"] else "no", *event_row(turn["message"])] for turn in found["transitions"]
        ]
        began = [] if not found["held_at_start"] else [f"held already at {format_time(found['from_us'])}", ""]
        return "\n".join([*began, text_table(("HOLDS", *EVENT_HEADERS), rows)])
    if found["held_at_start"]:
        ended = (
            ", and up to its end" if every else "; ask from an earlier moment, or with --all when it ended"
        )
        return f"held already at {format_time(found['from_us'])}, where this begins{ended}"
    if not found["transitions"]:
        return f"never held from {where} ({found['messages']:,} messages)"
    message = found["transitions"][0]["message"]
    chain = client.rows(f"/v1/why/{escape_path(message['id'])}", *MESSAGE)
    return f"holds since {format_time_ms(message['at_us'])}\n{chain_text(chain)}"
