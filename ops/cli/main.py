"""The root of the command line: which word leads to which command, and how every failure ends in one
sentence."""

import contextlib
import importlib
import os
import sys
from collections.abc import MutableMapping
from typing import Annotated, Any, NoReturn, TextIO

import click
import typer

from ops.cli.common.command_groups import CommandGroup, command_app, find_command
from ops.cli.common.output import echo
from ops.report.safe_text import one_line
from shared.basics.errors import Interrupted, LightwaveError

COMMANDS = {
    "up": "run.up",
    "clock": "run.clock",
    "get": "look.get",
    "describe": "look.get",
    "diff": "past.diff",
    "bisect": "past.bisect",
    "trace": "look.trace",
    "top": "look.top",
    "plot": "look.plot",
    "telemetry": "look.telemetry",
    "impact": "what_if.impact",
    "explain": "explain.slice_state",
    "plan": "what_if.slice_request",
    "fork": "past.fork",
    "forecast": "what_if.forecast",
    "inevitable": "what_if.inevitable",
    "goodput": "look.goodput",
    "operations": "look.operations_log",
    "events": "explain.events",
    "history": "explain.events",
    "why": "explain.events",
    "commission": "operate.actions",
    "retire": "operate.actions",
    "set": "operate.set_parameters",
    "inject": "operate.actions",
    "clear": "operate.actions",
    "request": "operate.actions",
    "requests": "operate.request_queue",
    "dead-letters": "operate.dead_letters",
    "release": "operate.actions",
    "drain": "operate.actions",
    "undrain": "operate.actions",
    "wait": "operate.wait",
    "topology": "models.topology",
    "fabric-availability": "models.availability",
    "goodput-model": "models.availability",
    "placement-model": "models.availability",
    "rare-model": "models.availability",
    "link": "models.link",
    "pod": "models.pod",
    "ocs": "operate.ocs",
    "dcn": "models.dcn",
    "reproduce": "experiments.reproduce",
    "lab": "experiments.lab",
    "experiment": "experiments.experiment",
    "live": "run.live",
    "audit": "run.audit",
    "backup": "run.backup",
    "restore": "run.backup",
    "upgrade": "run.upgrade",
    "archive": "run.archive",
    "schema": "run.schema",
    "completion": "run.shell_completion",
}
"""Command → the module below ops.cli whose `app` has it; imported only when it is called."""

COMPLETION_VARIABLE = "_LIGHTWAVE_COMPLETE"
"""The variable by which a shell's completion script asks for completions."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""Vectors here are short: more threads of the linear algebra would only wait for each other."""
LIVE_MODULES = frozenset({"aiokafka", "faust", "kafka", "mode", "uvloop"})
"""What only the extra `live` installs."""


class LazyCommandGroup(CommandGroup):
    """Imports a command's module only when somebody names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ops.cli.{COMMANDS[cmd_name]}")
        return find_command(module.app, cmd_name)

    def main(self, *args: Any, **options: Any) -> Any:
        """As click runs a command: Typer's own way differs where Ctrl-C ends it."""
        return click.Command.main(self, *args, **options)

    def _main_shell_completion(
        self, ctx_args: MutableMapping[str, Any], prog_name: str, complete_var: str | None = None
    ) -> None:
        """As click's scripts ask, which `lightwave completion` prints: Typer's ask otherwise."""
        if complete_var is not None and (instruction := os.environ.get(complete_var)):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, ctx_args, prog_name, complete_var, instruction))


def _print_version(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from ops.local.software_version import VERSION

        echo(f"lightwave {VERSION}")
        raise typer.Exit


app = command_app(cls=LazyCommandGroup, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="and exit")
    ] = False,
) -> None:
    """A living digital twin of optically reconfigured ML datacenters.

    LIGHTWAVE_URL says which twin (default http://127.0.0.1:8080), LIGHTWAVE_TOKEN is its bearer token.
    """


root = typer.main.get_group(app)


def main(command: click.Command = root, prog_name: str = "lightwave") -> NoReturn:
    """Run one command; the exit code: 0 done, 1 refused or failed, 2 wrong usage, 3 not found, 4 no twin,
    5 the twin deviated."""
    os.environ.setdefault(*ONE_THREAD)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # missing only in tests
    try:
        code = click.Command.main(
            command, prog_name=prog_name, complete_var=COMPLETION_VARIABLE, standalone_mode=False
        )
        if sys.stdout is not None:  # closed by the caller: `>&-`
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), to_stderr=True)
        _fail(_usage(error), 2)
    except click.UsageError as error:
        _fail(_usage(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), 1)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(Interrupted.exit_code)
    except LightwaveError as error:
        _fail(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        if error.name not in LIVE_MODULES:
            raise
        _fail(f"`lightwave live` needs {error.name}: pip install 'lightwave-twin[live]'", 1)
    except RecursionError:
        _fail("what was given is nested too deeply", 1)
    except BrokenPipeError:
        _close(sys.stdout)
        sys.exit(1)
    except OSError as error:
        _close(sys.stdout)
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _close(stream: TextIO) -> None:
    """Give up a stream that takes no more: what Python would flush at its end must not raise once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "lightwave"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        sentence = f"{path} needs a command"
    else:
        sentence = " ".join(error.format_message().split()).rstrip(".")
    return f"{sentence}; see `{path} --help`"


def _fail(sentence: str, code: int) -> NoReturn:
    """Say on stderr what is wrong, in one line, and end."""
    try:
        echo(f"lightwave: {one_line(' '.join(sentence.split()))}", to_stderr=True)
    except OSError:
        _close(sys.stderr)
    sys.exit(code)
