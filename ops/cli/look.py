"""Commands that only look: get, describe, trace, events, why, and the clock's face."""

import time
from typing import Any

import click

from ops.cli.client import Client, escape
from ops.cli.output import columns, output_option, show, watch_option, watched
from ops.cli.tables import brief, table_of
from ops.cli.words import Duration, Kind, moment
from shared.errors import TwinUnreachable

RETURN_S_MAX = 10.0
"""How long `events --follow` waits for a twin that went away."""


@click.command()
@click.argument("kind", type=Kind(), metavar="KIND")
@click.argument("name", required=False)
@click.option("--fabric", help="only of this fabric")
@output_option
@watch_option
def get(kind: str, name: str | None, fabric: str | None, output: str, watch: bool) -> None:
    """List things of a KIND, or show one by NAME.

    KIND: fabrics, ocs, cubes, hosts, links, slices, faults, repairs.
    """
    client = Client()

    def look() -> None:
        if name is None:
            content = client.get(f"/v1/{kind}", fabric=fabric)
        else:
            content = client.get(f"/v1/{kind}/{escape(name)}")
        rows = content if name is None else [content]
        show(content, output, lambda: _table(client, kind, rows))

    watched(look, watch)


def _table(client: Client, kind: str, rows: list[dict[str, Any]]) -> str:
    if not rows:
        return f"no {kind}"
    return columns(*table_of(kind, rows, client.get("/v1/clock")["now_us"]))


@click.command()
@click.argument("kind", type=Kind(), metavar="KIND")
@click.argument("name", metavar="NAME")
@output_option
@watch_option
def describe(kind: str, name: str, output: str, watch: bool) -> None:
    """Show one thing, what stands around it, and its last events."""
    client = Client()

    def look() -> None:
        content = client.get(f"/v1/describe/{kind}/{escape(name)}")
        show(content, output, lambda: _described(content))

    watched(look, watch)


def _described(content: dict[str, Any]) -> str:
    lines = [f"{_title(field)}: {_value(field, value)}" for field, value in content["object"].items()]
    for section, rows in content["related"].items():
        lines.append(f"\n{_title(section)}:")
        if not rows:
            lines.append("  none")
        elif isinstance(rows[0], dict):
            fields = [field for field, value in rows[0].items() if not isinstance(value, list | dict)]
            table = columns(
                [f.upper().replace("_", "-") for f in fields], [[r[f] for f in fields] for r in rows]
            )
            lines.extend(f"  {line}" for line in table.splitlines())
        else:
            lines.extend(f"  {row}" for row in rows)
    lines.append("\nLast events:")
    lines.extend(f"  {line}" for line in _events(content["events"]).splitlines())
    return "\n".join(lines)


def _title(field: str) -> str:
    words = field.removesuffix("_us").replace("_", " ")
    return words[:1].upper() + words[1:]


def _value(field: str, value: Any) -> str:
    if value is None or value == []:
        return "-"
    if field.endswith("_us"):
        return moment(value)
    if isinstance(value, list) and isinstance(value[0], dict):
        return f"{len(value)}"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return str(value)


@click.command()
@click.argument("end", metavar="END")
@output_option
def trace(end: str, output: str) -> None:
    """Show the whole light path from a link END, such as pod-0/cube-12/+y/7."""
    content = Client().get(f"/v1/trace/{escape(end)}")
    show(content, output, lambda: _path(content))


def _path(content: dict[str, Any]) -> str:
    chip, far = content["chip"], content["far_chip"]
    loss = "" if content["loss_db"] is None else f", {content['loss_db']:.2f} dB"
    lines = [
        f"link     {content['end']}  {content['state']} (module {content['condition']}{loss})",
        f"slice    {content['slice'] or '-'}",
        f"chip     ({chip['x']}, {chip['y']}, {chip['z']}) of {chip['cube']}",
        f"fibre    face {content['end'].split('/')[2]}, index {content['end'].split('/')[3]}",
    ]
    for strand in content["strands"]:
        where = f"strand {strand['strand']} {strand['ocs']}"
        if strand["north"] is None:
            lines.append(f"{where}  no circuit")
        else:
            lines.append(f"{where}  N{strand['north']} → S{strand['south']}")
    lines.append(f"far end  {content['far_end'] or '-'}")
    if far:
        lines.append(f"chip     ({far['x']}, {far['y']}, {far['z']}) of {far['cube']}")
    return "\n".join(lines)


@click.command()
@click.option("--follow", "-f", is_flag=True, help="go on as they come, until Ctrl-C")
@click.option("--type", "kind", metavar="TYPE", help="only this message type")
@click.option("--cause", metavar="ID", help="only what followed from this message")
@click.option("--since", type=Duration(), metavar="2h", help="simulated time back from now")
@click.option("--limit", type=click.IntRange(1, 10_000), help="at most so many")
@click.option("--fabric", default="pod-0", show_default=True)
@output_option
def events(
    follow: bool,
    kind: str | None,
    cause: str | None,
    since: int | None,
    limit: int | None,
    fabric: str,
    output: str,
) -> None:
    """Show messages of the log, oldest first; without --since the last hundred."""
    client = Client()
    back = f"{since}s" if since else None
    if follow:
        if cause or limit:
            raise click.UsageError("--follow goes with --type and --since only")
        _follow(client, fabric, kind, back, output)
        return
    found = client.get("/v1/events", fabric=fabric, type=kind, cause=cause, since=back, limit=limit)
    show(found, output, lambda: _events(found))


def _events(found: list[dict[str, Any]]) -> str:
    if not found:
        return "no events"
    return columns(("TIME", "ID", "TYPE", "CAUSE", "WHAT"), [_event_row(message) for message in found])


def _event_row(message: dict[str, Any]) -> list[object]:
    return [
        moment(message["at_us"]),
        message["id"],
        message["type"],
        message["cause"],
        brief(message["body"]),
    ]


def _follow(client: Client, fabric: str, kind: str | None, since: str | None, output: str) -> None:
    """Print as they come; take up the stream where it broke off."""
    last: str | None = None
    gone_s: float | None = None
    try:
        while True:
            try:
                place = since if last is None else None
                for event_id, message in client.stream(
                    "/v1/events/stream", last, fabric=fabric, type=kind, since=place
                ):
                    last, gone_s = event_id, None
                    _print_event(message, output)
            except TwinUnreachable:
                gone_s = gone_s or time.monotonic()
                if last is None or time.monotonic() - gone_s > RETURN_S_MAX:
                    raise
            time.sleep(0.3)
    except KeyboardInterrupt:
        return


def _print_event(message: dict[str, Any], output: str) -> None:
    if output == "table":
        click.echo("  ".join(str(cell or "-") for cell in _event_row(message)))
    else:
        show(message, output, str)


@click.command()
@click.argument("message_id", metavar="ID")
@output_option
def why(message_id: str, output: str) -> None:
    """Show the chain of causes from a message back to its root."""
    chain = Client().get(f"/v1/why/{escape(message_id)}")
    show(chain, output, lambda: _chain(chain))


def _chain(chain: list[dict[str, Any]]) -> str:
    lines = []
    for depth, message in enumerate(chain):
        arrow = "" if depth == 0 else "  " * (depth - 1) + "└ because of "
        time_of = moment(message["at_us"])
        lines.append(f"{arrow}{message['type']} {brief(message['body'])}  [{message['id']}, {time_of}]")
    return "\n".join(lines)
