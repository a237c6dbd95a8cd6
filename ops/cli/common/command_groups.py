"""How the commands of a module become one app, and how its groups know the nearest word to a mistyped one."""

from typing import Any

import click
import typer
from typer.core import TyperGroup

from ops.cli.common.param_types import unknown_word_text


class CommandGroup(TyperGroup):
    """A group that lists its commands by name, and names them all where a word is none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise click.UsageError(unknown_word_text("command", args[0], names), ctx)
        return super().resolve_command(ctx, args)


def command_app(
    name: str | None = None,
    cls: type[CommandGroup] = CommandGroup,
    context_settings: dict[str, Any] | None = None,
) -> typer.Typer:
    """An app without Typer's panels, which would import rich and draw boxes around what is one sentence here.

    With a name, and a callback that explains it, it is a group; without them its commands stand at the root.
    """
    return typer.Typer(
        name=name,
        cls=cls,
        context_settings=context_settings,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        suggest_commands=False,
    )


def find_command(app: typer.Typer, word: str) -> click.Command:
    """What a word of the command line leads to in its module's app: its group, or one of its commands."""
    command = typer.main.get_command(app)
    if app.registered_callback is None and isinstance(command, click.Group):
        return command.commands[word]
    return command
