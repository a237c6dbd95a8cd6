"""`lightwave ocs`: inspects, tests and operates one optical circuit switch."""

from typing import TYPE_CHECKING, Annotated, Literal

import click
import typer

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import Comment, Out, OutputOption, RequestKey, seed_option
from ops.cli.common.output import Form, echo, render, write_or_print
from ops.cli.common.output import show as shown_as
from ops.cli.common.param_types import ChoiceParam, CrossConnectParam
from ops.client.answers import ApiPath

if TYPE_CHECKING:
    from schemas.api.ocs_management import OcsManagement

MatrixForm = Literal["table", "json", "yaml", "csv", "parquet"]
TECHNOLOGIES = ("palomar", "mems", "robotic", "piezo", "guided-wave", "wavelength")
"""The technologies of `ocs.technology`, repeated here because its module takes long to import."""

OcsArgument = Annotated[
    str, typer.Argument(click_type=NameParam("ocs"), metavar="OCS", help="such as pod-0/ocs-17")
]
app = command_app("ocs")


@app.callback()
def ocs() -> None:
    """Inspect, test and operate one optical circuit switch."""


@app.command(
    epilog=examples("ocs matrix pod-0/ocs-17 --seed 7", "ocs matrix pod-0/ocs-17 -o csv --out matrix.csv")
)
def matrix(
    name: OcsArgument,
    seed: Annotated[int, seed_option("seed of the manufactured OCSes")] = 0,
    cubes: Annotated[int, typer.Option(min=4, max=144, help="cubes of the OCS's pod")] = 64,
    technology: Annotated[
        str,
        typer.Option(
            click_type=ChoiceParam("technology", TECHNOLOGIES), metavar="NAME", help=", ".join(TECHNOLOGIES)
        ),
    ] = "palomar",
    output: Annotated[
        MatrixForm,
        typer.Option(
            "-o", "--output", help="output format; csv and parquet have one row for each pair of ports"
        ),
    ] = "table",
    out: Out = None,
) -> None:
    """Print an OCS's factory measurements of all port pairs.

    Insertion losses, return losses and mirrors. Lightwave Fabrics, 3.2.2, 4.1.1, Figure 10.
    """
    from dataclasses import asdict

    from ops.models.optics.ocs_matrix import as_csv, matrix_table, ocs_matrix, write_parquet
    from schemas.config.pods import PodConfig, PodOcsConfig, SuperpodConfig

    ocs_config = PodOcsConfig.model_validate({"technology": technology})
    found = ocs_matrix(name, seed, SuperpodConfig(pod=PodConfig(cubes=cubes), ocs=ocs_config))
    if output == "parquet":
        if out is None:
            raise click.UsageError("-o parquet: is binary; name a file with --out")
        write_parquet(found, out)
        echo(f"written to {out}", to_stderr=True)
    else:
        write_or_print(
            as_csv(found) if output == "csv" else render(asdict(found), output, lambda: matrix_table(found)),
            out,
        )


@app.command(
    "test",
    cls=RequestCommand,
    epilog=examples("ocs test pod-0/cube-12/+y/7", "ocs test pod-0/cube-12/+y/7 -o json"),
)
def loopback_test(
    end: Annotated[
        str,
        typer.Argument(
            click_type=NameParam("links"), metavar="END", help="a dark link end, such as pod-0/cube-12/+y/7"
        ),
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Run a loopback test on a dark link end.

    The OCS returns the end's own light, and its module measures it. A link end in use is refused with the
    name of its slice. Lightwave Fabrics, 3.1.
    """
    from ops.cli.operate.actions import RequestNote, send_request
    from ops.client.http_client import Client, escape_path
    from ops.requests.object_names import expand_name

    client = Client()
    send_request(
        client,
        "test",
        f"/v1/links/{escape_path(expand_name(client, end))}/test",
        RequestNote(key, comment),
        output,
    )


@app.command(
    cls=RequestCommand,
    epilog=examples("ocs restart pod-0/ocs-17", "ocs restart pod-0/ocs-17 --comment 'new release'"),
)
def restart(
    name: OcsArgument,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Restart the software of an OCS.

    The OCS executes no commands for some tens of seconds.
    """
    from ops.cli.operate.actions import RequestNote, send_request
    from ops.client.http_client import Client, escape_path
    from ops.requests.object_names import expand_name

    client = Client()
    send_request(
        client,
        "restart",
        f"/v1/ocs/{escape_path(expand_name(client, name))}/restart",
        RequestNote(key, comment),
        output,
    )


CrossConnectKeys = Annotated[
    list[str],
    typer.Argument(
        click_type=CrossConnectParam(),
        metavar="A:B...",
        help="two ports, one on each side, such as 1A:5B, or a key, such as 1A-5B",
    ),
]
ContinueOption = Annotated[bool, typer.Option("--go-on", help="continue with the next one if one is refused")]


@app.command(
    cls=RequestCommand,
    epilog=examples(
        "ocs connect pod-0/ocs-17 121A:122B", "ocs connect pod-0/ocs-17 121A:122B 123A:124B --go-on"
    ),
)
def connect(
    name: OcsArgument,
    keys: CrossConnectKeys,
    go_on: ContinueOption = False,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Make manual cross-connects, in order.

    Stops at the first one that is refused. Only free ports can be connected. A manual cross-connect is
    removed when a slice needs its ports, or when the chassis loses power.
    """
    _change_cross_connects("connect", name, keys, go_on, (key, comment), output)


@app.command(
    cls=RequestCommand,
    epilog=examples(
        "ocs disconnect pod-0/ocs-17 121A-122B", "ocs disconnect pod-0/ocs-17 121A-122B 123A-124B"
    ),
)
def disconnect(
    name: OcsArgument,
    keys: CrossConnectKeys,
    go_on: ContinueOption = False,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Remove manual cross-connects, in order.

    Stops at the first one that is refused.
    """
    _change_cross_connects("disconnect", name, keys, go_on, (key, comment), output)


def _change_cross_connects(
    verb: str, name: str, keys: list[str], go_on: bool, note: tuple[str | None, str | None], output: Form
) -> None:
    """Send the request. If part of it was refused, the command fails after printing the rest."""
    from ops.cli.operate.actions import RequestNote, send_request
    from ops.cli.operate.outcome_text import partly_refused
    from ops.client.http_client import Client, escape_path
    from ops.requests.object_names import expand_name

    client = Client()
    path = f"/v1/ocs/{escape_path(expand_name(client, name))}/cross-connects"
    mode = "ignore-error" if go_on else "stop-on-error"
    body = {"cross_connects": keys, "error_mode": mode}
    path = path if verb == "connect" else f"{path}/remove"
    answer = send_request(client, verb, path, RequestNote(*note), output, body)
    if partly_refused(answer):
        raise typer.Exit(1)


@app.command(epilog=examples("ocs show pod-0/ocs-17", "ocs show pod-0/ocs-17 -o json"))
def show(
    name: OcsArgument,
    output: OutputOption = "table",
) -> None:
    """Show an OCS as a device, with ports as SAI numbers them.

    Ports start at 1A and 1B; cross-connects are listed by key.
    """
    from ops.client.http_client import Client, escape_path
    from ops.requests.object_names import expand_name

    client = Client()
    path: ApiPath[OcsManagement] = ApiPath(f"/v1/ocs/{escape_path(expand_name(client, name))}/management")
    content = client.resource(path, "name", "oper_status", "ports", "ports_a_side", "cross_connects")
    with client.reading():
        shown_as(content, output, lambda: _device_text(content))


CROSS_CONNECTS = ("KEY", "STATUS", "FACTORY-LOSS-DB", "ACCURACY-DB", "HELD-BY", "REASON")


def _device_text(content: "OcsManagement") -> str:
    """Format a line for the OCS, a line for its ports that are not up, and a table of its cross-connects."""
    from ops.report.tables import display_value, text_table

    rows = content.cross_connects
    tuned = sum(row.oper_status == "tuned" for row in rows)
    head = f"{content.name} is {content.oper_status}: {content.ports_a_side} ports per side"
    lines = [f"{head}, {tuned} of {len(rows)} cross-connects tuned"]
    other = [f"{port.key} {port.oper_status}" for port in content.ports if port.oper_status != "up"]
    if other and content.oper_status != "down":
        lines.append(f"ports: {', '.join(other)}")
    if rows:
        cells = [
            [
                row.key,
                row.oper_status,
                display_value("loss_db", row.factory_insertion_loss_db),
                display_value("accuracy_db", row.accuracy_db),
                row.slice or row.made_by,
                row.reason,
            ]
            for row in rows
        ]
        lines.append(text_table(CROSS_CONNECTS, cells))
    return "\n".join(lines)
