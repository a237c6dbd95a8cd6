"""`lightwave explain`: queries the scheduler why a slice waits, moved or recovers."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import CommandGroup, command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import At, OutputOption
from ops.cli.common.output import show
from ops.client.answers import ApiPath
from ops.client.http_client import Client, escape_path
from ops.report.tables import text_table
from ops.requests.object_names import expand_name
from schemas.resource_kinds import SLICES, kind_by_name_form
from shared.basics.time_format import format_chip_hours, format_time

if TYPE_CHECKING:
    from schemas.api.explain import ExpectedStart, RecoveryStatus, SliceEvent, SliceExplanation

EXPLANATION = ("name", "at_us", "state", "shape", "reason", "start", "obstacles", "history")
TABLE_ROWS_MAX = 20
"""Maximum rows of a table. The table states how many more there are."""

_LOST = re.compile(r" ?\blost=[0-9.,]+ chip-h")
"""The lost work in the text of an event. It has a separate sentence here."""
FULL_SPEED_OPTION = "speed=100%"
SPARE_LINKS_TEXT = "traffic goes around them: its shorter sides have links to spare"
"""Why a slice with links down may run at full speed: in a torus with unequal sides, the longest one is the
bottleneck."""


class ExplainGroup(CommandGroup):
    """A group that takes the name of a slice in place of a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and kind_by_name_form(args[0]) is SLICES:
            args = ["slice", *args]
        return super().parse_args(ctx, args)


app = command_app("explain", cls=ExplainGroup)


@app.callback()
def explain() -> None:
    """Explain why a slice waits, moved or recovers.

    The name of a slice alone is understood, too.
    """


@app.command("slice", epilog=examples("explain slice pod-0/slice-3", "explain slice pod-0/slice-3 -o json"))
def explain_slice(
    name: Annotated[
        str, typer.Argument(click_type=NameParam("slices"), metavar="SLICE", help="such as pod-0/slice-3")
    ],
    at: At = None,
    output: OutputOption = "table",
) -> None:
    """Explain what blocks a slice, and when it should start."""
    client = Client(at=at)
    _explain(client, ApiPath(f"/v1/explain/slices/{escape_path(expand_name(client, name))}"), output)


@app.command("request", epilog=examples("explain request spring-7", "explain request operator@pod-0/3"))
def explain_request(
    name: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST", help="an idempotency key, the id of the request's message, or the slice's name"
        ),
    ],
    at: At = None,
    output: OutputOption = "table",
) -> None:
    """Explain the slice that a request created."""
    client = Client(at=at)
    name = expand_name(client, name) if name.startswith(("slice-", "slice/", "slices/")) else name
    _explain(client, ApiPath(f"/v1/explain/requests/{escape_path(name)}"), output)


def _explain(client: Client, path: "ApiPath[SliceExplanation]", output: OutputOption) -> None:
    found = client.resource(path, *EXPLANATION)
    with client.reading():
        show(found, output, lambda: _explanation_text(found))


def _explanation_text(found: "SliceExplanation") -> str:
    """The slice's state and reason in sentences; then obstacles, the costs of choices, and history."""
    who = f"{found.tier} of {found.owner}, priority {found.priority}"
    twist = " twisted" if found.twisted else ""
    since = format_time(found.since_us)
    lines = [f"{found.name} ({found.shape}{twist}, {who}): {found.state} since {since}"]
    if found.reason is not None:
        lines.append(f"why: {found.reason}")
    if found.queue_position is not None:
        lines.append(f"queue: {found.queue_position} of {found.queue_length}")
    lines += start_lines(found.start)
    if found.state in ("queued", "waiting-for-pods", "refused"):
        lines.append(f"largest shape that would fit now: {found.largest_now or 'none'}")
    lines += _recovery_lines(found.recovery)
    lines += table_lines(
        ("KIND", "IN-THE-WAY", "WHY"), [[row.kind, row.name, row.why] for row in found.obstacles]
    )
    past = found.history
    history = [[format_time(row.at_us), row.type, _history_text(row)] for row in past[-TABLE_ROWS_MAX:]]
    if history:
        lines += ["", text_table(("AT", "HISTORY", "WHAT"), history)]
    if len(past) > TABLE_ROWS_MAX:
        lines.append(f"... and {len(past) - TABLE_ROWS_MAX} before (-o json has all)")
    return "\n".join(lines)


def _history_text(row: "SliceEvent") -> str:
    """An event as text: for a choice, with the costs of all choices; for a recovery, with the lost work."""
    if row.costs_chip_us is not None:
        costs = {choice: cost for choice, cost in dict(row.costs_chip_us).items() if cost is not None}
        costs_text = ", ".join(f"{choice} {format_chip_hours(cost)}" for choice, cost in costs.items())
        return f"{row.choice} (costs in chip-hours: {costs_text})"
    if row.type == "SliceDegraded" and FULL_SPEED_OPTION in row.text and "links_down=0" not in row.text:
        return f"{row.text} ({SPARE_LINKS_TEXT})"
    if row.lost_chip_us is None:
        return str(row.text)
    text = _LOST.sub("", row.text)
    return f"lost {format_chip_hours(row.lost_chip_us)} chip-hours; {text}" if row.lost_chip_us else text


def start_lines(start: "ExpectedStart | None") -> list[str]:
    """Describe when something is expected to start, and how certain that is."""
    if start is None:
        return []
    when = "unknown" if start.at_us is None else f"{format_time(start.at_us)} ({start.basis})"
    return [
        f"expected to start: {when}",
        f"confidence: {start.reason}",
        *([f"estimates: {start.recent_estimates}"] if start.recent_estimates else []),
    ]


def _recovery_lines(recovery: "RecoveryStatus | None") -> list[str]:
    if recovery is None:
        return []
    lost, again = format_chip_hours(recovery.lost_chip_us), format_time(recovery.decides_us)
    lines = [
        f"recovers since {format_time(recovery.since_us)}: {recovery.part} cost it {lost} chip-hours",
        f"choice: {recovery.choice or 'none yet'}; cheapest now: {recovery.cheapest_now}; due {again}",
    ]
    costs = [
        [choice, format_chip_hours(cost)]
        for choice, cost in dict(recovery.costs_chip_us).items()
        if cost is not None
    ]
    return [*lines, "", text_table(("CHOICE", "CHIP-HOURS"), costs)]


def table_lines(
    headers: tuple[str, ...], rows: Sequence[Sequence[object]], wide_only: tuple[str, ...] = ()
) -> list[str]:
    """A table after an empty line, with at most TABLE_ROWS_MAX rows; nothing if there are no rows. A narrow
    terminal leaves out the columns `wide_only`."""
    if not rows:
        return []
    more = (
        [f"... and {len(rows) - TABLE_ROWS_MAX} more (-o json has all)"] if len(rows) > TABLE_ROWS_MAX else []
    )
    return ["", text_table(headers, rows[:TABLE_ROWS_MAX], wide_only), *more]
