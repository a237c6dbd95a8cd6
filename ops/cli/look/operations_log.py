"""`lightwave operations`: operations on the whole twin, with their time and user."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.client.answers import ApiPath
from ops.client.http_client import Client
from ops.client.waiting import clock_setting_text
from ops.report.tables import text_table
from ops.report.wall_time import format_wall_time
from shared.basics.field_text import fields_text

if TYPE_CHECKING:
    from schemas.files.operations_log import NumberedOperation

OPERATIONS: "ApiPath[NumberedOperation]" = ApiPath("/v1/operations")
FIELDS = ("number", "wall_us", "who", "type", "body")

app = command_app()


@app.command(epilog=examples("operations", "operations --limit 20 -o json"))
def operations(
    start: Annotated[
        int | None,
        typer.Option(
            "--from", min=0, metavar="NUMBER", help="number of the first entry [default: the last entries]"
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="maximum number of rows")] = 100,
    output: OutputOption = "table",
) -> None:
    """List clock changes, rebuilds, skips and who made them."""
    client = Client()
    rows = client.rows(OPERATIONS, *FIELDS, start=start, limit=limit)
    with client.reading():
        show(rows, output, lambda: _table(rows))


def _table(rows: "list[NumberedOperation]") -> str:
    headers = ("NUMBER", "WHEN", "WHO", "WHAT", "DETAILS")
    return text_table(
        headers, [[r.number, format_wall_time(r.wall_us), r.who, r.type, _body_text(r)] for r in rows]
    )


def _body_text(row: "NumberedOperation") -> str:
    """What it says in short; a plan by its sites, and a clock by what it does now."""
    body = dict(row.body)
    if row.type == "ClockChanged":
        return clock_setting_text(body)
    if row.type == "TwinPlanned":
        body["sites"] = ",".join(site.site for site in body["sites"])
    return fields_text(body)
