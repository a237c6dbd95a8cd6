"""`lightwave set`: parameters of a fabric that change while it lives, and which those are."""

from typing import Annotated, Any

import click
import typer

from ops.cli.groups import application
from ops.cli.names import LivingSetting, Name
from ops.cli.options import Comment, KindOfFabric, Output, RequestKey
from ops.cli.output import show
from ops.cli.request import Said, ask
from ops.common.client import Client, escape
from ops.common.tables import columns, typed

app = application()


@app.command("set")
def set_parameters(
    fabric: Annotated[
        str | None,
        typer.Argument(click_type=Name("fabrics"), metavar="[FABRIC]", help="such as pod-0"),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            click_type=LivingSetting(),
            metavar="[KEY=VALUE]...",
            help="such as failures.host_per_day=0.002; all of them, or none [default: lists them]",
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="which may change; of a FABRIC also what they are now")
    ] = False,
    kind: KindOfFabric = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Change parameters of a fabric that lives, from now on; another `set` undoes it."""
    if fabric is None and not listed:
        raise click.UsageError("Missing argument 'FABRIC'; --list tells what may be set")
    if kind is not None and fabric is not None:
        raise click.UsageError("--kind goes with --list alone: a FABRIC has its own")
    if pairs and listed:
        raise click.UsageError("--list changes nothing: leave it out, or KEY=VALUE")
    if fabric is None:
        _list(kind, {}, output)
        return
    client = Client()
    found = str(client.thing(f"/v1/fabrics/{escape(fabric)}", "kind")["kind"])
    if not pairs:
        with client.reading():
            _list(found, client.thing(f"/v1/config/{escape(fabric)}"), output)
        return
    from ops.common.configuration import values_of

    path = f"/v1/fabrics/{escape(fabric)}/parameters"
    ask(client, "set", path, Said(key, comment), output, {"parameters": values_of(found, pairs)})


def _list(kind: str | None, config: dict[str, Any], output: Output) -> None:
    """Those of a kind of fabric, each with what it is in the configuration of one."""
    from dataclasses import asdict

    from ops.common.configuration import DEFAULT_KIND
    from schemas.living import living_parameters

    rows: list[dict[str, Any]] = [
        asdict(one) | {"services": ", ".join(one.services)} for one in living_parameters(kind or DEFAULT_KIND)
    ]
    if config:
        rows = [{"name": row["name"], "now": _now(config, row["name"]), **row} for row in rows]
    fields = ("name", *(("now",) if config else ()), "allowed", "unit", "services", "meaning")
    table = [[typed(row[field]) for field in fields] for row in rows]
    show(rows, output, lambda: columns([field.upper() for field in fields], table))


def _now(config: dict[str, Any], name: str) -> object:
    section, _, field = name.partition(".")
    found: object = config[section][field]
    return found
