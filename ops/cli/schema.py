"""`lightwave schema`: what crosses a border, as JSON Schema."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.groups import application
from ops.cli.output import say
from ops.cli.types import FILE

app = application("schema")


@app.callback()
def schema() -> None:
    """The messages, documents and configuration as JSON Schema."""


@app.command("export")
def schema_export(
    directory: Annotated[
        Path, typer.Argument(click_type=FILE, metavar="DIR", help="made where there is none")
    ],
) -> None:
    """Write one JSON Schema file for everything that crosses a border, and index.json."""
    from ops.common.schema import export

    count = export(directory)
    say(f"{count} schemas in {directory}")
