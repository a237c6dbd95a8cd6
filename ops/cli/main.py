"""The root of the command line: finds commands, lists them by group, and reports each failure in a
sentence."""

import contextlib
import importlib
import os
import re
import sys
from collections.abc import MutableMapping
from typing import Annotated, Any, NoReturn, TextIO

import click
import typer

from ops.cli.common.command_groups import (
    CommandGroup,
    command_app,
    examples,
    find_command,
    summary_of,
    write_commands,
)
from ops.cli.common.output import drop_output, echo
from ops.report.safe_text import one_line
from shared.basics.errors import LightwaveError
from shared.basics.value_words import has_zero_in_front
from shared.runtimes.stop_signals import exit_code_of

COMMAND_GROUPS = {
    "Run": {
        "up": "run.up",
        "live": "run.live",
        "clock": "run.clock",
        "audit": "run.audit",
        "backup": "run.backup",
        "restore": "run.backup",
        "upgrade": "run.upgrade",
        "archive": "run.archive",
        "schema": "run.schema",
        "completion": "run.shell_completion",
    },
    "Look": {
        "status": "look.status",
        "get": "look.get",
        "describe": "look.get",
        "top": "look.top",
        "trace": "look.trace",
        "plot": "look.plot",
        "goodput": "look.goodput",
        "telemetry": "look.telemetry",
        "operations": "look.operations_log",
    },
    "Explain": {
        "explain": "explain.slice_state",
        "why": "explain.events",
        "events": "explain.events",
        "history": "explain.events",
    },
    "What if": {
        "impact": "what_if.impact",
        "what-if": "what_if.predict",
        "forecast": "what_if.forecast",
        "inevitable": "what_if.inevitable",
    },
    "Operate": {
        "request": "operate.actions",
        "release": "operate.actions",
        "requests": "operate.request_queue",
        "inject": "operate.actions",
        "clear": "operate.actions",
        "drain": "operate.actions",
        "undrain": "operate.actions",
        "wait": "operate.wait",
        "set": "operate.set_parameters",
        "ocs": "operate.ocs",
        "commission": "operate.actions",
        "retire": "operate.actions",
        "dead-letters": "operate.dead_letters",
    },
    "Drills": {"drill": "drills.drill"},
    "Past and forks": {
        "diff": "past.diff",
        "bisect": "past.bisect",
        "fork": "past.fork",
    },
    "Lab and experiments": {
        "lab": "experiments.lab",
        "experiment": "experiments.experiment",
        "reproduce": "experiments.reproduce",
    },
    "Models": {
        "model": "models.availability",
        "topology": "models.topology",
        "link": "models.link",
        "pod": "models.pod",
        "dcn": "models.dcn",
    },
}
"""Group of the help → command → the module below ops.cli whose `app` has it. Modules load on first use."""

COMMANDS = {name: module for commands in COMMAND_GROUPS.values() for name, module in commands.items()}

ALIASES = {
    "logs": "events",
    "log": "events",
    "delete": "release",
    "list": "get",
    "ls": "get",
    "show": "describe",
    "cordon": "drain",
    "uncordon": "undrain",
}
"""Words of other tools → the command that their users mean."""

ROOT_EXAMPLES = (
    "up --speed 600 --seed 7            # start a superpod at 600x speed",
    "status                             # show each fabric in one line",
    "inject ocs pod-0/ocs-17 --for 30m  # break an optical switch",
    "explain slice pod-0/slice-0        # explain what a slice waits for",
    "lab run --days 30 --seed 7         # simulate a month in seconds",
)

COMPLETION_VARIABLE = "_LIGHTWAVE_COMPLETE"
"""The environment variable that a shell's completion script sets to request completions."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""One thread for linear algebra: the vectors are short, and more threads would only wait for each other."""
LIVE_MODULES = frozenset({"aiokafka", "faust", "kafka", "mode", "uvloop"})
"""Modules that only the extra `live` installs."""


class LazyCommandGroup(CommandGroup):
    """Imports a command's module when the command is used or listed, and lists commands by group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`lightwave` alone shows the help."""
        return super().parse_args(ctx, args or ([] if ctx.resilient_parsing else ["--help"]))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, names in COMMAND_GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, summary_of(command)) for name, command in commands if command is not None]
            write_commands(formatter, title, rows, width)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ops.cli.{COMMANDS[cmd_name]}")
        return find_command(module.app, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name or an alias."""
        words = [ALIASES.get(args[0], args[0]), *args[1:]] if args else args
        return super().resolve_command(ctx, words)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run as click does: Typer handles Ctrl-C differently."""
        return click.Command.main(self, *args, **options)

    def _main_shell_completion(
        self, ctx_args: MutableMapping[str, Any], prog_name: str, complete_var: str | None = None
    ) -> None:
        """Answer click's completion scripts, which `lightwave completion` prints; Typer's differ."""
        if complete_var is not None and (instruction := os.environ.get(complete_var)):
            from click.shell_completion import shell_complete

            from ops.cli.common import bash_completion

            bash_completion.install()
            sys.exit(shell_complete(self, ctx_args, prog_name, complete_var, instruction))


def _print_version(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from ops.local.software_version import VERSION

        echo(f"lightwave {VERSION}")
        raise typer.Exit


app = command_app(cls=LazyCommandGroup, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback(epilog=examples(*ROOT_EXAMPLES))
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit."),
    ] = False,
) -> None:
    """A living digital twin of optically reconfigured ML datacenters.

    Commands talk to the twin at LIGHTWAVE_URL (default http://127.0.0.1:8080) with the bearer token
    LIGHTWAVE_TOKEN. `lightwave COMMAND --help` shows a command's options and examples.
    """


root = typer.main.get_group(app)


def main(command: click.Command = root, prog_name: str = "lightwave") -> NoReturn:
    """Run one command and exit.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 not found, 4 no twin, 5 the twin deviated.
    """
    os.environ.setdefault(*ONE_THREAD)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # missing only in tests
    try:
        code = click.Command.main(
            command, prog_name=prog_name, complete_var=COMPLETION_VARIABLE, standalone_mode=False
        )
        if sys.stdout is not None:  # closed by the caller: `>&-`
            _flush(sys.stdout)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), to_stderr=True)
        _fail(_usage(error), 2)
    except click.UsageError as error:
        _fail(_usage(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), 1)
    except click.Abort as error:  # click's name of a KeyboardInterrupt
        sys.exit(exit_code_of(error.__cause__))
    except KeyboardInterrupt as error:
        sys.exit(exit_code_of(error))
    except LightwaveError as error:
        _fail(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        if error.name not in LIVE_MODULES:
            raise
        _fail(f"`lightwave live` needs {error.name}: pip install 'lightwave-twin[live]'", 1)
    except RecursionError:
        _fail("the input is nested too deeply", 1)
    except BrokenPipeError:
        drop_output(sys.stdout)
        sys.exit(1)
    except OSError as error:
        drop_output(sys.stdout)
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _flush(stream: TextIO) -> None:
    """Flush the output. A reader that is gone is not a failure."""
    try:
        stream.flush()
    except BrokenPipeError:
        drop_output(stream)


_QUOTED = re.compile(r"(\S+) is not (?:a valid integer|in the range)")
"""click's sentences about whole numbers, which start with the value."""


_MINUS_NUMBER = re.compile(r"-[0-9.]")
"""The begin of a negative number, which click takes for an option."""


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "lightwave"
    if isinstance(error, click.NoSuchOption) and _MINUS_NUMBER.match(error.option_name):
        word = next((word for word in sys.argv[1:] if word.startswith(error.option_name)), error.option_name)
        sentence = f"{word} is not allowed; must be an option, or a value without a minus in front"
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        sentence = f"{path.removeprefix('lightwave ')} needs a command"
    else:
        sentence = " ".join((_number_problem(error) or error.format_message()).split()).rstrip(".")
    return f"{sentence}{'' if sentence.endswith('?') else ';'} see `{path} --help`"


def _number_problem(error: click.UsageError) -> str | None:
    """The sentence about a value of an option for numbers; None for other errors. click's own names its
    types."""
    if not isinstance(error, click.BadParameter) or error.param is None:
        return None
    kind, value = error.param.type, _QUOTED.match(error.message)
    if value is None:
        return None
    if isinstance(kind, click.types.IntParamType):
        bounds = "a whole number"
    elif isinstance(kind, click.types.FloatParamType):
        bounds = "a number"
    else:
        return None
    if isinstance(kind, click.IntRange | click.FloatRange):
        if kind.min is not None and kind.max is not None:
            bounds += f" from {kind.min:,} to {kind.max:,}"
        elif kind.min is not None:
            bounds += f" of at least {kind.min:,}"
    if has_zero_in_front(value[1].strip("'")):
        bounds += ", without a zero in front"
    option = "/".join(error.param.opts)
    return f"{option}: {value[1]} is not allowed; must be {bounds}"


def _fail(sentence: str, code: int) -> NoReturn:
    """Print an error on stderr, in one line, and exit."""
    try:
        echo(f"lightwave: {one_line(' '.join(sentence.split()))}", to_stderr=True)
    except OSError:
        drop_output(sys.stderr)
    sys.exit(code)
