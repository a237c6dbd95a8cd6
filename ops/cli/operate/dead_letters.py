"""`lightwave dead-letters`: log records that could not be read, or that were skipped."""

from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.client.answers import ApiPath, refusal_of
from ops.client.http_client import Client, RequestFailed, escape_path, receipt_path
from ops.report.tables import text_table

if TYPE_CHECKING:
    from schemas.api.dead_letters import DeadLetterReport, DroppedDeadLetters

LETTERS = "/v1/dead-letters"
FIELDS = ("origin", "error", "line", "line_bytes", "service", "state", "replays_as")
LINE_SHOWN = 60
"""Maximum characters of a line in a table."""

app = command_app("dead-letters")

Origin = Annotated[str, typer.Argument(metavar="ORIGIN", help="position on the log, such as pod-0:41")]


@app.callback()
def dead_letters() -> None:
    """List, replay or drop log records that could not be read."""


@app.command("list", epilog=examples("dead-letters list", "dead-letters list --all"))
def list_letters(
    every: Annotated[
        bool, typer.Option("--all", help="include letters that were replayed or dropped")
    ] = False,
    output: OutputOption = "table",
) -> None:
    """List the pending dead letters, oldest first."""
    client = Client()
    path: ApiPath[DeadLetterReport] = ApiPath(LETTERS)
    rows = client.rows(path, *FIELDS, every="true" if every else None)
    with client.reading():
        show(rows, output, lambda: _table(rows, every=every))


@app.command("show", epilog=examples("dead-letters show pod-0:41", "dead-letters show pod-0:41 -o json"))
def show_one(origin: Origin, output: OutputOption = "table") -> None:
    """Show one dead letter and its original line."""
    client = Client()
    path: ApiPath[DeadLetterReport] = ApiPath(f"{LETTERS}/{escape_path(origin)}")
    row = client.resource(path, *FIELDS)
    with client.reading():
        show(row, output, lambda: _letter(row))


@app.command(
    cls=RequestCommand,
    epilog=examples("dead-letters replay pod-0:41", "dead-letters replay pod-0:41 --comment 'schema fixed'"),
)
def replay(
    origin: Origin,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="reason, recorded on the log")] = None,
    output: OutputOption = "table",
) -> None:
    """Send the request of a dead letter again, once.

    The replay is a new request with its own position on the log.
    """
    client = Client()
    path = receipt_path(f"{LETTERS}/{escape_path(origin)}/replay", comment)
    row = client.post(path, "id", "status", "repeated")
    with client.reading():
        if (refusal := refusal_of(row)) is not None:
            raise RequestFailed(refusal)
        sentence = f"{origin}: {row.status} as {row.id}"
        show(row, output, lambda: f"{sentence}, as before" if row.repeated else sentence)


@app.command(cls=RequestCommand, epilog=examples("dead-letters drop pod-0:41", "dead-letters drop --all"))
def drop(
    origin: Annotated[str | None, typer.Argument(metavar="[ORIGIN]", help="position on the log")] = None,
    every: Annotated[bool, typer.Option("--all", help="drop all pending letters")] = False,
    output: OutputOption = "table",
) -> None:
    """Drop one dead letter, or all that are pending.

    Dropped letters are not listed any more. The log keeps them.
    """
    if (origin is None) != every:
        raise click.UsageError("give either ORIGIN or --all")
    client = Client()
    path = LETTERS if origin is None else f"{LETTERS}/{escape_path(origin)}"
    dropped: ApiPath[DroppedDeadLetters] = ApiPath(path)
    row = client.delete(dropped, "dropped")
    with client.reading():
        show(row, output, lambda: f"dropped: {', '.join(row.dropped) or 'no pending letters'}")


def _table(rows: "list[DeadLetterReport]", *, every: bool) -> str:
    if not rows:
        return "no dead letters" if every else "no pending dead letters"
    headers = ["ORIGIN", "STATE", "SERVICE", "REPLAYS AS", "ERROR", "LINE"]
    shown = [
        [
            *(row.origin, row.state, row.service or "-", row.replays_as or "-"),
            *(_shorten(row.error), _shorten(row.line)),
        ]
        for row in rows
    ]
    return text_table(headers, shown)


def _letter(row: "DeadLetterReport") -> str:
    size = f" (the beginning of {row.line_bytes} bytes)" if row.line_bytes is not None else ""
    asks = f", replays as {row.replays_as}" if row.replays_as else ", cannot be replayed"
    return f"{row.origin}: {row.state}{asks}\n{row.error}\n{row.line}{size}"


def _shorten(text: str) -> str:
    return text if len(text) <= LINE_SHOWN else f"{text[: LINE_SHOWN - 1]}…"
