"""`lightwave telemetry`: exports telemetry frames as files."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import TIME_FORMS, Fabric
from ops.cli.common.output import echo
from ops.cli.common.param_types import OUT_FILE, ChoiceParam, MomentParam
from ops.client.http_client import Client

app = command_app("telemetry")

Begin = Annotated[
    str | None,
    typer.Option(
        "--from",
        click_type=MomentParam(),
        metavar="TIME",
        help=f"start: {TIME_FORMS} [default: the oldest stored frame]",
    ),
]
End = Annotated[
    str | None,
    typer.Option(
        "--to",
        click_type=MomentParam(),
        metavar="TIME",
        help=f"end: {TIME_FORMS} [default: now]",
    ),
]


@app.callback()
def telemetry() -> None:
    """Export telemetry frames."""


@app.command(
    epilog=examples(
        "telemetry export --parquet frames.parquet", "telemetry export --parquet last.parquet --from -6h"
    )
)
def export(
    parquet: Annotated[
        Path, typer.Option(click_type=OUT_FILE, metavar="FILE", help="write the output to this file")
    ],
    fabric: Fabric = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            click_type=ChoiceParam("of", ("links", "trunks", "ocs")),
            metavar="links|trunks|ocs",
            help="source of the frames: OCSes, a pod's link ends or a network's trunks [default: link "
            "ends or trunks]",
        ),
    ] = None,
    begin: Begin = None,
    end: End = None,
) -> None:
    """Export the twin's telemetry frames to a Parquet file.

    Each row holds one frame of a link end, OCS or trunk: its name, the simulated time, and the columns of
    docs/explanation/diagnosis.md. The twin keeps the newest 96 frames of each fabric.
    """
    from ops.client.telemetry_frames import export_frames

    echo(export_frames(Client(), fabric, of, begin, end, parquet), to_stderr=True)
