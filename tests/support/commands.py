"""Lists the commands and groups of the command line."""

import click

from ops.cli.common.command_groups import CommandGroup


def leaves(group: click.Group, *path: str) -> list[list[str]]:
    """Return the path of every command that is not a group."""
    context = click.Context(group)
    paths = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            assert isinstance(command, CommandGroup)  # a CommandGroup suggests the nearest word
            paths += leaves(command, *path, name)
        else:
            paths.append([*path, name])
    return paths


def leaf(group: click.Group, path: list[str]) -> click.Command:
    """Return the command at this path."""
    command: click.Command | None = group
    for word in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command


def groups(group: click.Group, *path: str) -> list[list[str]]:
    """Return the path of every group, the root first."""
    context = click.Context(group)
    paths = [[*path]]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            paths += groups(command, *path, name)
    return paths
