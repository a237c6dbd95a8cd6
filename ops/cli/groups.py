"""Groups of commands that know the nearest word to a mistyped one."""

import click

from ops.cli.words import unknown


class Group(click.Group):
    """A group that names its commands where a word is none of them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise click.UsageError(unknown("command", args[0], names), ctx)
        return super().resolve_command(ctx, args)
