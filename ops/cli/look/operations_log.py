"""`lightwave operations`: operations on the whole twin, with their time and user."""

from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.operate.outcome_text import VERBS
from ops.client.answers import EVENTS, ApiPath
from ops.client.http_client import Client, rows_path
from ops.client.waiting import clock_setting_text
from ops.report.tables import text_table
from ops.report.wall_time import format_wall_time
from schemas.resource_kinds import FABRICS
from shared.basics.field_text import fields_text
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from schemas.api.rows import LogMessage
    from schemas.files.operations_log import NumberedOperation

OPERATIONS: "ApiPath[NumberedOperation]" = ApiPath("/v1/operations")
FIELDS = ("number", "wall_us", "who", "type", "body")

MESSAGE = ("id", "type", "at_us", "text")
METADATA = ("key=", "asked_by=")
"""Words of a request's text that do not say what it is about."""
ANONYMOUS = "anonymous"

app = command_app()


@app.command(epilog=examples("operations", "operations --requests --fabric pod-0"))
def operations(
    start: Annotated[
        int | None,
        typer.Option(
            "--from", min=0, metavar="NUMBER", help="number of the first entry [default: the last entries]"
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="maximum number of rows")] = 100,
    requests: Annotated[
        bool,
        typer.Option("--requests", help="list requests to fabrics instead, such as drains and faults"),
    ] = False,
    fabric: Annotated[
        str | None,
        typer.Option(click_type=NameParam("fabrics"), help="with --requests, only those to this fabric"),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """List clock changes, rebuilds, skips and who made them.

    Requests to fabrics, such as drains, are on their logs; --requests lists these, with their simulated time.
    WHO is `anonymous` for clients without a token.
    """
    client = Client()
    if requests:
        if start is not None:
            raise click.UsageError("--from cannot be combined with --requests, which have no number")
        found = _requests(client, fabric, limit)
        with client.reading():
            show(found, output, lambda: _request_table(found))
        return
    if fabric is not None:
        raise click.UsageError("--fabric requires --requests; other operations are about the whole twin")
    rows = client.rows(OPERATIONS, *FIELDS, start=start, limit=limit)
    with client.reading():
        show(rows, output, lambda: _table(rows))


def _requests(client: Client, fabric: str | None, limit: int) -> "list[LogMessage]":
    """The last requests of operators to a fabric, or to all, in order of time."""
    names = [row.name for row in client.rows(rows_path(FABRICS), "name")] if fabric is None else [fabric]
    found: list[LogMessage] = []
    for name in names:
        found += client.pages(EVENTS, *MESSAGE, "body", most=limit, fabric=name, type=[*VERBS])[0]
    return sorted(found, key=lambda message: message.at_us)[-limit:]


def _request_table(found: "list[LogMessage]") -> str:
    headers = ("TIME", "WHO", "WHAT", "DETAILS", "ID")
    rows = []
    for message in found:
        body: Any = message.body
        details = " ".join(word for word in message.text.split() if not word.startswith(METADATA))
        who = body.get("asked_by") or ANONYMOUS
        rows.append([format_time(message.at_us), who, message.type, details, message.id])
    return text_table(headers, rows)


def _table(rows: "list[NumberedOperation]") -> str:
    headers = ("NUMBER", "WHEN", "WHO", "WHAT", "DETAILS")
    return text_table(
        headers, [[r.number, format_wall_time(r.wall_us), r.who, r.type, _body_text(r)] for r in rows]
    )


def _body_text(row: "NumberedOperation") -> str:
    """Summarise an operation: a plan by its sites, a clock change by its new setting."""
    body = dict(row.body)
    if row.type == "ClockChanged":
        return clock_setting_text(body)
    if row.type == "TwinPlanned":
        body["sites"] = ",".join(site.site for site in body["sites"])
    return fields_text(body)
