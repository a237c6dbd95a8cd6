"""`lightwave bisect`: since when a condition holds."""

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from ops.cli.events import MESSAGE, chain_text
from ops.cli.groups import application
from ops.cli.messages import EVENT_HEADERS, event_row
from ops.cli.options import Fabric, Output
from ops.cli.output import show
from ops.cli.progress import Progress
from ops.common.client import Busy, Client, escape
from ops.common.tables import columns
from shared.basics.times import moment, moment_ms

FIELDS = ("from_us", "to_us", "reached_us", "held", "turns", "messages", "cursor")
NEVER = 1
"""The exit code where a condition was never held."""
WAIT_S_MAX = 120.0
"""How long others who ask the same are waited for."""

Part = Mapping[str, Any]

app = application()


@app.command()
def bisect(
    condition: Annotated[
        str,
        typer.Argument(
            metavar="CONDITION",
            help="such as 'slices.pod-0/slice-42.state == degraded' or "
            "'count(cubes, health == unhealthy) > 3'",
        ),
    ],
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="a moment, as --at of `get` [default: its beginning]"),
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="another [default: now]")] = None,
    every: Annotated[bool, typer.Option("--all", help="every change of it, and not only the first")] = False,
    fabric: Fabric = None,
    output: Output = "table",
) -> None:
    """Find the first message after which a condition held, and why; or all that made and ended it.

    Conditions are about what `get -o json` shows: KIND.NAME.FIELD with == != < <= > >= or in [A, B],
    KIND.NAME exists or absent, count(KIND, FIELD == VALUE) > 3; with and, or, not. Exit code 1 where it was
    never held.
    """
    client = Client()
    asked = {"condition": condition, "fabric": fabric, "all": "true" if every else None}
    found: list[Part] = []
    with Progress(lambda us, _: f"{moment(round(us))} of {moment(last_us)}", 1.0) as progress:
        last_us = 0
        for part in _parts(client, asked | {"from": since, "to": until}):
            found.append(part)
            last_us = part["to_us"]
            progress.tell(part["reached_us"])
    turns = [turn for part in found for turn in part["turns"]]
    whole = {name: value for name, value in found[0].items() if name not in ("cursor", "reached_us")}
    whole |= {"turns": turns, "messages": sum(part["messages"] for part in found)}
    with client.reading():
        show(whole, output, lambda: _told(client, whole, every=every))
    if not whole["held"] and not turns:
        raise typer.Exit(NEVER)


def _parts(client: Client, asked: Mapping[str, object]) -> Iterator[Part]:
    """What the twin finds, part by part; while others ask it the same, they are waited for."""
    until_s = time.monotonic() + WAIT_S_MAX
    while True:
        try:
            part = client.thing("/v1/bisect", *FIELDS, **asked)
        except Busy as error:
            if time.monotonic() > until_s:
                raise
            time.sleep(error.retry_after_s)
            continue
        yield part
        if part["cursor"] is None or (part["turns"] and not asked["all"]):
            return
        asked = {**asked, "from": None, "to": None, "cursor": part["cursor"]}
        until_s = time.monotonic() + WAIT_S_MAX


def _told(client: Client, found: Part, *, every: bool) -> str:
    where = f"{moment(found['from_us'])} to {moment(found['to_us'])}"
    if every and found["turns"]:
        rows = [["yes" if turn["holds"] else "no", *event_row(turn["message"])] for turn in found["turns"]]
        began = [] if not found["held"] else [f"held already at {moment(found['from_us'])}", ""]
        return "\n".join([*began, columns(("HOLDS", *EVENT_HEADERS), rows)])
    if found["held"]:
        ended = (
            ", and up to its end" if every else "; ask from an earlier moment, or with --all when it ended"
        )
        return f"held already at {moment(found['from_us'])}, where this begins{ended}"
    if not found["turns"]:
        return f"never held from {where} ({found['messages']:,} messages)"
    message = found["turns"][0]["message"]
    chain = client.rows(f"/v1/why/{escape(message['id'])}", *MESSAGE)
    return f"holds since {moment_ms(message['at_us'])}\n{chain_text(chain)}"
