"""`lightwave ocs`: one optical circuit switch, as the factory made it and as the twin has it."""

from typing import Annotated, Literal

import click
import typer

from ops.cli.groups import application
from ops.cli.names import Name
from ops.cli.options import Comment, Out, Output, RequestKey, seed_option
from ops.cli.output import rendered, say, write
from ops.cli.types import OneOf

MatrixForm = Literal["table", "json", "yaml", "csv", "parquet"]
TECHNOLOGIES = ("palomar", "mems", "robotic", "piezo", "guided-wave", "wavelength")
"""As `ocs.technology` has them, whose module takes long to import."""

app = application("ocs")


@app.callback()
def ocs() -> None:
    """Look at one optical circuit switch: as the factory made it, and what the twin's tells."""


@app.command()
def matrix(
    name: Annotated[str, typer.Argument(click_type=Name("ocs"), metavar="OCS", help="such as pod-0/ocs-17")],
    seed: Annotated[int, seed_option("the OCSes as manufactured")] = 0,
    cubes: Annotated[int, typer.Option(min=4, max=144, help="of its pod")] = 64,
    technology: Annotated[
        str,
        typer.Option(
            click_type=OneOf("technology", TECHNOLOGIES), metavar="NAME", help=", ".join(TECHNOLOGIES)
        ),
    ] = "palomar",
    output: Annotated[
        MatrixForm, typer.Option("-o", "--output", help="form; csv and parquet: a row for each pair of ports")
    ] = "table",
    out: Out = None,
) -> None:
    """Give what the factory measured: losses of all pairs of ports, reflections, mirrors.

    Lightwave Fabrics, 3.2.2, 4.1.1, Figure 10.
    """
    from ops.models.optics.matrix import as_csv, table, write_parquet
    from ops.models.optics.matrix import matrix as found
    from schemas.config import PodConfig, PodOcsConfig, SuperpodConfig

    ocs_config = PodOcsConfig.model_validate({"technology": technology})
    content = found(name, seed, SuperpodConfig(pod=PodConfig(cubes=cubes), ocs=ocs_config))
    if output == "parquet":
        if out is None:
            raise click.UsageError("-o parquet: is no text; name a file with --out")
        write_parquet(content, out)
        say(f"written to {out}", aside=True)
    else:
        write(as_csv(content) if output == "csv" else rendered(content, output, lambda: table(content)), out)


@app.command("test")
def loop_back(
    end: Annotated[
        str, typer.Argument(click_type=Name("links"), metavar="END", help="a dark one, pod-0/cube-12/+y/7")
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Send a dark link end its own light back, and say what its module makes of it.

    An end in use is refused with the slice's name. Lightwave Fabrics, 3.1.
    """
    from ops.cli.names import whole
    from ops.cli.request import Said, ask
    from ops.common.client import Client, escape

    client = Client()
    ask(client, "test", f"/v1/links/{escape(whole(client, end))}/test", Said(key, comment), output)
