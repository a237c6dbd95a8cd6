"""`lightwave schema`: exports external formats as JSON Schema."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.output import echo
from ops.cli.common.param_types import FILE

app = command_app("schema")


@app.callback()
def schema() -> None:
    """Export messages, documents and settings as JSON Schema."""


@app.command("export", epilog=examples("schema export schemas.json", "schema export /tmp/schemas"))
def schema_export(
    directory: Annotated[
        Path, typer.Argument(click_type=FILE, metavar="DIR", help="the folder, created if it does not exist")
    ],
) -> None:
    """Write a JSON Schema for every external format.

    Writes one file for each format, and index.json.
    """
    from ops.cli.run.schema_export import export

    count = export(directory)
    echo(f"{count} schemas in {directory}")
