"""`lightwave set`: lists and changes the runtime parameters of a fabric."""

from typing import Annotated

import click
import typer

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.common.name_completion import NameParam, RuntimeSettingParam
from ops.cli.common.options import Comment, KindOfFabric, OutputOption, RequestKey
from ops.cli.common.output import show
from ops.cli.operate.actions import RequestNote, send_request
from ops.client.answers import ApiPath
from ops.client.http_client import Client, escape_path, row_path
from ops.report.safe_text import one_line, quoted
from ops.report.tables import setting_text, text_table
from ops.requests.object_names import expand_name
from schemas.resource_kinds import FABRICS
from shared.basics.json_types import JsonObject, JsonValue

app = command_app()


@app.command(
    "set", cls=RequestCommand, epilog=examples("set --list", "set pod-0 failures.host_per_day=0.002")
)
def set_parameters(
    fabric: Annotated[
        str | None,
        typer.Argument(click_type=NameParam("fabrics"), metavar="[FABRIC]", help="such as pod-0"),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            click_type=RuntimeSettingParam(),
            metavar="[KEY=VALUE]...",
            help="parameters, such as failures.host_per_day=0.002; all are set, or none [default: list them]",
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option("--list", help="list the parameters that can change; with FABRIC also their values"),
    ] = False,
    kind: KindOfFabric = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Change parameters of a running fabric.

    Changes apply from now on; another `set` reverts them.
    """
    if fabric is not None and "=" in fabric:
        raise click.UsageError(
            f"FABRIC: {quoted(fabric)} is not a fabric; must be its name, in front of KEY=VALUE: "
            f"`lightwave set pod-0 {one_line(fabric)}`"
        )
    if fabric is None and not listed:
        raise click.UsageError("Missing argument 'FABRIC'; --list shows what can be set")
    if kind is not None and fabric is not None:
        raise click.UsageError("--kind cannot be combined with a FABRIC, which has its own kind")
    if pairs and listed:
        raise click.UsageError("--list changes nothing; leave out either --list or KEY=VALUE")
    if fabric is None:
        _list(kind, {}, output)
        return
    client = Client()
    fabric = expand_name(client, fabric)
    found = str(client.resource(row_path(FABRICS, fabric), "kind").kind)
    if not pairs:
        with client.reading():
            path: ApiPath[JsonObject] = ApiPath(f"/v1/config/{escape_path(fabric)}")
            _list(found, client.resource(path), output)
        return
    from ops.sites.configuration import parse_pairs

    parameters = f"{row_path(FABRICS, fabric)}/parameters"
    send_request(
        client,
        "set",
        parameters,
        RequestNote(key, comment),
        output,
        {"parameters": parse_pairs(found, pairs)},
    )


def _list(kind: str | None, config: JsonObject, output: OutputOption) -> None:
    """List the parameters of a kind of fabric, each with its value in a fabric's configuration, if there is
    one."""
    from dataclasses import asdict

    from ops.sites.configuration import DEFAULT_KIND
    from schemas.config.runtime_parameters import runtime_parameters

    rows: list[dict[str, object]] = [
        asdict(one) | {"services": ", ".join(one.services)}
        for one in runtime_parameters(kind or DEFAULT_KIND)
    ]
    if config:
        rows = [{"name": row["name"], "now": _now(config, str(row["name"])), **row} for row in rows]
    fields = ("name", *(("now",) if config else ()), "allowed", "unit", "services", "meaning")
    table = [[setting_text(row[field]) for field in fields] for row in rows]
    show(rows, output, lambda: text_table([field.upper() for field in fields], table, below="MEANING"))


def _now(config: JsonObject, name: str) -> JsonValue:
    """The value of a parameter in a configuration; raises LookupError if it has none."""
    section, _, field = name.partition(".")
    values = config[section]
    if not isinstance(values, dict):
        raise LookupError(section)
    return values[field]
