"""Commands that read the log: `events`, `history` and `why`."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.event_table import EVENT_HEADERS, EVENT_WIDE, event_row, event_rows
from ops.cli.common.name_completion import MessageOrNameParam, PartNameParam
from ops.cli.common.options import TIME_FORMS, At, Fabric, OutputOption
from ops.cli.common.output import Form, echo, json_line, reader_is_gone, render, show
from ops.cli.common.param_types import MessageTypeParam, MomentParam
from ops.cli.common.table_options import check_columns
from ops.client.answers import EVENTS, ApiPath
from ops.client.event_stream import RECONNECT_S_MAX, follow_events
from ops.client.http_client import Client, default_fabric, escape_path, rows_path
from ops.report.row_stream import RowStream
from ops.report.table_style import current_style
from ops.report.tables import text_table
from ops.requests.object_names import expand_name
from schemas.name_parts import fabric_part
from schemas.resource_kinds import FABRICS
from shared.basics.time_format import format_time, format_time_ms

if TYPE_CHECKING:
    from schemas.api.rows import LogMessage

MESSAGE = ("id", "type", "at_us", "cause", "text")
LIMIT_MAX = 1_000_000
FILTERED_LIMIT = 100_000
"""Maximum number of messages without --limit."""
DEFAULT_LIMIT = 100
"""Maximum number of messages of `events` without --since and --cause."""
FOLLOW_WIDTHS = (16, 28, 20, 28, 0)
"""Widths of the columns of `--follow`, whose rows are not known beforehand."""

Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", click_type=MessageTypeParam(), metavar="TYPE", help="filter by type; may be repeated"
    ),
]
Since = Annotated[
    str | None,
    typer.Option(click_type=MomentParam(), metavar="TIME", help=f"start: {TIME_FORMS}"),
]
Until = Annotated[
    str | None,
    typer.Option(click_type=MomentParam(), metavar="TIME", help=f"end: {TIME_FORMS}"),
]
Limit = Annotated[int | None, typer.Option(min=1, max=LIMIT_MAX, help="maximum number of rows")]

app = command_app()


@app.command(epilog=examples("events --since -2h --type SliceDegraded", "events --follow --for pod-0/ocs-17"))
def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="follow new messages, until Ctrl-C")] = False,
    types: Types = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--for",
            click_type=PartNameParam(),
            metavar="NAME",
            help="filter by the object that the message is about",
        ),
    ] = None,
    cause: Annotated[
        str | None, typer.Option(metavar="ID", help="filter by a direct or indirect cause")
    ] = None,
    since: Since = None,
    until: Until = None,
    ticks: Annotated[bool, typer.Option("--ticks/--no-ticks", help="include Tick messages")] = True,
    limit: Limit = None,
    list_types: Annotated[
        bool, typer.Option("--list-types", help="list the types of messages, with what they mean")
    ] = False,
    fabric: Fabric = None,
    output: OutputOption = "table",
) -> None:
    """List messages of the log, oldest first.

    Without --since, --cause or --limit, the last hundred.
    """
    if list_types:
        _list_types(output)
        return
    client = Client()
    name = expand_name(client, name, fabric) if name is not None else None
    ask: dict[str, object] = {"type": types, "for": name, "cause": cause, "since": since}
    ask["ticks"] = None if ticks else "false"
    if not follow:
        found = ask | {"fabric": fabric, "until": until}
        _show(client, found, output, limit, FILTERED_LIMIT if since or cause else DEFAULT_LIMIT)
        return
    if limit or until:
        raise click.UsageError("--follow never ends; it cannot be combined with --limit or --until")
    if fabric is None and name is not None:
        fabric = fabric_part(name)
    if fabric is None and cause is not None:
        fabric = client.rows(why_path(cause), "fabric")[0].fabric
    _follow(client, _fabric_or_default(client, fabric), ask, output)


def _list_types(output: Form) -> None:
    """Every type of message: its writer, and the first sentence of its meaning."""
    from schemas.registry import TYPES

    rows = [
        {"type": name, "writer": model.writer, "meaning": _first_sentence(model.__doc__ or "")}
        for name, model in sorted(TYPES.items())
    ]
    table = [(row["type"], row["writer"], row["meaning"]) for row in rows]
    show(rows, output, lambda: text_table(("TYPE", "WRITER", "MEANING"), table, below="MEANING"))


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(".:")


@app.command(epilog=examples("history pod-0/ocs-17", "history pod-0/cube-12/+y/7 --limit 20"))
def history(
    name: Annotated[
        str, typer.Argument(click_type=PartNameParam(), metavar="NAME", help="such as pod-0/cube-12/+y/7")
    ],
    types: Types = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
    at: At = None,
    output: OutputOption = "table",
) -> None:
    """List everything that happened to an object.

    The users of a cube, the partners of a link end, the circuits of an OCS, the faults of a slice.
    """
    client = Client(at=at)
    ask = {"for": expand_name(client, name), "type": types, "since": since, "until": until, "ticks": "false"}
    _show(client, ask, output, limit, FILTERED_LIMIT)


def _show(client: Client, ask: Mapping[str, object], output: Form, limit: int | None, default: int) -> None:
    """Show up to `limit` messages. Without a limit, a note says if there are more, and how to see them."""
    found, more = client.pages(EVENTS, *MESSAGE, most=limit or default, **ask)
    with client.reading():
        show(found, output, lambda: event_rows(found) if found else _none_text(client, ask))
    if more and limit is None:
        onwards = ask["since"] or ask.get("cause")
        which, options = ("oldest", "--since") if onwards else ("newest", "--since, --until")
        echo(
            f"lightwave: only the {which} {default:,} are shown; use {options} or --limit to see others",
            to_stderr=True,
        )


def _none_text(client: Client, ask: Mapping[str, object]) -> str:
    """Return the sentence that there are no messages, with the fabric if there are several, and when it
    retired."""
    if ask.get("cause"):
        return event_rows([])
    name = ask.get("for") or ask.get("fabric")
    fabric = _fabric_or_default(client, fabric_part(str(name)) if name else None)
    ended = {str(row.name): row.retired_us for row in client.rows(rows_path(FABRICS), "name", "retired_us")}
    about = name if ask.get("for") else fabric
    if (ended_us := ended.get(fabric)) is not None:
        return f"{event_rows([])} of {about}; {fabric} retired at {format_time(ended_us)}"
    others = [other for other, us in ended.items() if other != fabric and us is None]
    if ask.get("for") or not others:
        return event_rows([]) if ask.get("for") else f"{event_rows([])} of {fabric}"
    return f"{event_rows([])} of {fabric}; --fabric {others[0]} shows its messages"


def _fabric_or_default(client: Client, fabric: str | None) -> str:
    """Return the fabric of a query that names none, by the rule of the twin."""
    return fabric if fabric is not None else default_fabric(client)


def _follow(client: Client, fabric: str, asked: dict[str, object], output: Form) -> None:
    """Print messages as they arrive, until the reader is gone. Raises FabricEnded when the fabric has
    retired."""
    table = RowStream(EVENT_HEADERS, FOLLOW_WIDTHS, EVENT_WIDE)
    check_columns(current_style())
    if output == "table" and (heads := table.headings()):
        echo(heads)
    for _, message in follow_events(client, fabric, asked, None, reconnect_s=RECONNECT_S_MAX):
        with client.reading():
            _print(message, output, table)
        if reader_is_gone():
            return


def _print(message: "LogMessage", output: Form, table: RowStream) -> None:
    """Print one message as a row, a line of JSON, or a YAML document."""
    if output == "table":
        echo(table.row(event_row(message)))
    elif output == "json":
        echo(json_line(message))
    else:
        echo("---\n" + render(message, output, str))


@app.command(epilog=examples("why scheduler@pod-0/42", "why pod-0/slice-7"))
def why(
    message_id: Annotated[
        str,
        typer.Argument(
            click_type=MessageOrNameParam(),
            metavar="ID|NAME",
            help="a message, such as scheduler@pod-0/42, or an object, such as pod-0/slice-7",
        ),
    ],
    at: At = None,
    output: OutputOption = "table",
) -> None:
    """Show the chain of causes of a message, back to its root.

    For the name of an object, start from the last change of its state.
    """
    client = Client(at=at)
    chain = client.rows(why_path(expand_name(client, message_id)), *MESSAGE)
    with client.reading():
        show(chain, output, lambda: chain_text(chain))


def why_path(name: str) -> "ApiPath[LogMessage]":
    """The path of the causes of a message, or of the last change of an object."""
    return ApiPath(f"/v1/why/{escape_path(name)}")


def chain_text(chain: "Sequence[LogMessage]") -> str:
    """A message and its causes, the root last."""
    lines = []
    for depth, message in enumerate(chain):
        arrow = "" if depth == 0 else "  " * (depth - 1) + "└ because of "
        sentence = f"{message.type} {message.text}".rstrip()
        lines.append(f"{arrow}{sentence}  [{message.id}, {format_time_ms(message.at_us)}]")
    return "\n".join(lines)
