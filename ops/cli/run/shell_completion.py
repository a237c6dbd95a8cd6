"""`lightwave completion`: prints the completion script of a shell."""

import os
from typing import Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.output import write_or_print
from ops.cli.common.param_types import ChoiceParam

SHELLS = ("bash", "zsh", "fish")

app = command_app()


@app.command(
    epilog=examples("completion bash", "completion fish > ~/.config/fish/completions/lightwave.fish")
)
def completion(
    shell: Annotated[
        str,
        typer.Argument(click_type=ChoiceParam("shell", SHELLS), metavar="SHELL", help="bash, zsh or fish"),
    ],
) -> None:
    """Print the completion script for bash, zsh or fish.

    For bash: source <(lightwave completion bash)
    """
    from click.shell_completion import get_completion_class

    from ops.cli.common import bash_completion
    from ops.cli.main import COMPLETION_VARIABLE, root

    bash_completion.install()
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    os.environ.pop(COMPLETION_VARIABLE, None)
    write_or_print(found(root, {}, "lightwave", COMPLETION_VARIABLE).source(), None)
