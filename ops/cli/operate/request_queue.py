"""`lightwave requests`: lists pending requests, shows outcomes and cancels requests."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.operate.outcome_text import report_text
from ops.client.answers import ApiPath
from ops.client.http_client import Client, escape_path
from ops.report.tables import text_table
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from schemas.api.requests import RequestReport

REQUESTS: "ApiPath[RequestReport]" = ApiPath("/v1/requests")
FIELDS = (
    *("id", "key", "fabric", "type", "status", "asked_by", "comment"),
    *("ahead", "at_us", "reason", "complete", "outcome"),
)

app = command_app("requests")

Request = Annotated[
    str, typer.Argument(metavar="REQUEST", help="the idempotency key, or the id of the request's message")
]


@app.callback()
def requests() -> None:
    """List, show and cancel operators' requests."""


@app.command("list", epilog=examples("requests list", "requests list -o json"))
def list_waiting(output: OutputOption = "table") -> None:
    """List the pending requests, oldest first."""
    client = Client()
    rows = client.rows(REQUESTS, *FIELDS)
    with client.reading():
        show(rows, output, lambda: _table(rows))


@app.command("show", epilog=examples("requests show spring-7", "requests show operator@pod-0/3 -o json"))
def show_one(request: Request, output: OutputOption = "table") -> None:
    """Show the outcome of a request."""
    client = Client()
    row = client.resource(request_path(request), *FIELDS)
    with client.reading():
        show(row, output, lambda: _sentence(row))


@app.command(
    cls=RequestCommand, epilog=examples("requests cancel spring-7", "requests cancel operator@pod-0/3")
)
def cancel(request: Request, output: OutputOption = "table") -> None:
    """Cancel a request that is still pending.

    Its idempotency key stays reserved for a day.
    """
    client = Client()
    row = client.delete(request_path(request), *FIELDS)
    with client.reading():
        show(row, output, lambda: _sentence(row))


def request_path(request: str) -> "ApiPath[RequestReport]":
    """The path of a request, by its idempotency key or the id of its message."""
    return ApiPath(f"/v1/requests/{escape_path(request)}")


def _table(rows: "list[RequestReport]") -> str:
    if not rows:
        return "no pending requests"
    shown = [
        [str(row.ahead), row.type, row.fabric, row.asked_by, row.key, row.id, row.comment] for row in rows
    ]
    return text_table(["AHEAD", "TYPE", "FABRIC", "REQUESTED-BY", "KEY", "MESSAGE", "COMMENT"], shown)


def _sentence(row: "RequestReport") -> str:
    """The request, its author and its outcome on one line."""
    author = f" by {row.asked_by}" if row.asked_by else ""
    when = f" at {format_time(row.at_us)}" if row.at_us is not None else ""
    ahead = f", {row.ahead} before it" if row.ahead is not None else ""
    outcome = row.reason or report_text(row)
    why = f": {outcome}" if outcome else ""
    comment = f' "{row.comment}"' if row.comment else ""
    return f"{row.type} of {row.fabric}{author}{comment} {row.status}{when}{ahead}{why} ({row.id})"
