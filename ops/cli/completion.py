"""`lightwave completion`: the script by which a shell completes commands and names."""

import os
from typing import Annotated

import click
import typer

from ops.cli.groups import application
from ops.cli.output import write
from ops.cli.types import OneOf

SHELLS = ("bash", "zsh", "fish")

app = application()


@app.command()
def completion(
    shell: Annotated[
        str, typer.Argument(click_type=OneOf("shell", SHELLS), metavar="SHELL", help="bash, zsh or fish")
    ],
) -> None:
    """Print the completion script for bash, zsh or fish.

    bash: source <(lightwave completion bash)
    """
    from click.shell_completion import get_completion_class

    from ops.cli.main import COMPLETE, root

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    os.environ.pop(COMPLETE, None)
    write(found(root, {}, "lightwave", COMPLETE).source(), None)
