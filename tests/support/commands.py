"""The commands of the command line, found in it."""

import click

from ops.cli.common.command_groups import CommandGroup


def leaves(group: click.Group, *path: str) -> list[list[str]]:
    """The words of every command that is not a group."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            assert isinstance(command, CommandGroup)  # which knows the nearest word
            found += leaves(command, *path, name)
        else:
            found.append([*path, name])
    return found


def leaf(group: click.Group, path: list[str]) -> click.Command:
    """The command of these words."""
    command: click.Command | None = group
    for word in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command


def groups(group: click.Group, *path: str) -> list[list[str]]:
    """The words of every group, the root first."""
    context = click.Context(group)
    found = [[*path]]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += groups(command, *path, name)
    return found
