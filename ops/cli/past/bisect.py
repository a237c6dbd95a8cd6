"""`lightwave bisect`: finds the message after which a condition is true."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.event_table import EVENT_HEADERS, event_row
from ops.cli.common.options import Fabric, OutputOption
from ops.cli.common.output import show
from ops.cli.common.progress import ProgressLine
from ops.cli.explain.events import MESSAGE, chain_text, why_path
from ops.client.bisection import bisection_parts, whole_bisection
from ops.client.http_client import Client
from ops.report.tables import text_table
from shared.basics.time_format import format_time, format_time_ms

if TYPE_CHECKING:
    from schemas.api.bisect import Bisection

EXIT_NEVER_TRUE = 1
"""The exit code if the condition was never true."""

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
    output: OutputOption = "table",
) -> None:
    """Find the first message after which a condition is true.

    Conditions are about the fields of `get -o json`: KIND.NAME.FIELD with == != < <= > >= or in [A, B],
    KIND.NAME exists or absent, count(KIND, FIELD == VALUE) > 3; combine them with and, or, not. With --all,
    list every change of the condition. The exit code is 1 if the condition was never true.
    """
    client = Client()
    query = {"condition": condition, "fabric": fabric, "all": "true" if every else None}
    found: list[Bisection] = []
    with ProgressLine(lambda us, _: f"{format_time(round(us))} of {format_time(last_us)}", 1.0) as progress:
        last_us = 0
        for part in bisection_parts(client, query | {"from": since, "to": until}):
            found.append(part)
            last_us = part.to_us
            progress.report_progress(part.reached_us)
    with client.reading():
        whole = whole_bisection(found)
        content = {name: value for name, value in dict(whole).items() if name not in ("cursor", "reached_us")}
        show(content, output, lambda: _result_text(client, whole, every=every))
    if not whole.held_at_start and not whole.transitions:
        raise typer.Exit(EXIT_NEVER_TRUE)


def _result_text(client: Client, found: "Bisection", *, every: bool) -> str:
    """The transitions, with `every`, or the first one."""
    transitions = found.transitions
    where = f"{format_time(found.from_us)} to {format_time(found.to_us)}"
    if every and transitions:
        rows = [["yes" if turn.holds else "no", *event_row(turn.message)] for turn in transitions]
        began = [] if not found.held_at_start else [f"true already at {format_time(found.from_us)}", ""]
        return "\n".join([*began, text_table(("TRUE", *EVENT_HEADERS), rows)])
    if found.held_at_start:
        ended = ", and until the end" if every else "; use an earlier --from, or --all to list every change"
        return f"true already at {format_time(found.from_us)}, the start of the search{ended}"
    if not transitions:
        return f"never true from {where} ({found.messages:,} messages)"
    message = transitions[0].message
    chain = client.rows(why_path(message.id), *MESSAGE)
    return f"true since {format_time_ms(message.at_us)}\n{chain_text(chain)}"
