"""The root of the command line: which word leads to which command, and how every failure ends in one
sentence."""

import importlib
import os
import sys

import click

from ops.cli.words import unknown
from shared.errors import LightwaveError

COMMANDS = {
    "up": "run:up",
    "clock": "act:clock",
    "get": "look:get",
    "describe": "look:describe",
    "trace": "look:trace",
    "events": "look:events",
    "why": "look:why",
    "inject": "act:inject",
    "clear": "act:clear",
    "request": "act:request",
    "release": "act:release",
    "drain": "act:drain",
    "undrain": "act:undrain",
    "lab": "run:lab",
    "audit": "run:audit",
    "schema": "run:schema",
    "bench": "run:bench",
    "completion": "run:completion",
}
"""Command → `module:name` below ops.cli; imported only when it is called."""

INTERRUPTED = 130
BROKEN_PIPE = 141


class LazyGroup(click.Group):
    """Imports a command's module only when somebody names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"ops.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(unknown("command", args[0], list(COMMANDS)))
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from ops.version import VERSION

        click.echo(f"lightwave {VERSION}")
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version)
def root() -> None:
    """A living digital twin of optically reconfigured ML datacenters.

    LIGHTWAVE_URL says which twin (default http://127.0.0.1:8080), LIGHTWAVE_TOKEN is its bearer token.
    """


def main() -> None:
    """Run one command; the exit code: 0 done, 1 refused or failed, 2 wrong usage, 3 not found, 4 no twin."""
    try:
        code = root.main(prog_name="lightwave", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        _fail(_usage(error), 2)
    except click.UsageError as error:
        _fail(_usage(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), 1)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except LightwaveError as error:
        _fail(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader has gone; what Python would flush at its end must not raise once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "lightwave"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        sentence = f"{path} needs a command"
    else:
        sentence = " ".join(error.format_message().split()).rstrip(".")
    return f"{sentence}; see `{path} --help`"


def _fail(sentence: str, code: int) -> None:
    click.echo(f"lightwave: {sentence}", err=True)
    sys.exit(code)
