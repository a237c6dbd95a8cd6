"""Builds the apps and groups of the command line, with complete listings, examples and spelling hints."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from itertools import zip_longest
from typing import Any

import click
import typer
from click.shell_completion import CompletionItem
from typer.core import TyperCommand, TyperGroup

from ops.cli.common.argument_checks import check_files_apart, check_given_once, with_one_number_form
from ops.cli.common.param_types import LISTED_MAX, TEXT_FILE, DurationParam, unknown_word_text
from ops.cli.common.progress import long_work
from ops.cli.common.table_options import add_table_options, has_tables, take_table_style
from ops.client.caller_name import acting_as
from ops.report.table_style import styled
from shared.basics.errors import InvalidInput
from shared.basics.spelling import closest_matches, truncated
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S

NO_WRAP = "\b\n"
"""Click's help formatter keeps the lines of a paragraph that starts with this."""
NEAREST = 3
"""Commands that an error suggests for an unknown one."""
FOR_PROGRAMS = ("json", "yaml", "html", "csv")
"""Output formats that programs read."""
AS_PARAMETER = "as_name"
"""Name of the parameter of `--as`."""
EXAMPLES = 2
"""Examples in the help of a group."""
_PROGRAM = "lightwave "
AFTER = "must not be after"
"""What errors say of the start of a range, before its end."""


def examples(*lines: str) -> str:
    """The epilog that lists a command's examples, given without the word `lightwave`."""
    return "\n".join([f"{NO_WRAP}Examples:", *(f"  {_PROGRAM}{line}" for line in lines)])


def summary_of(command: click.Command) -> str:
    """The first paragraph of a command's help, on one line and without the final period."""
    paragraph = inspect.cleandoc(command.help or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).removesuffix(".")


def write_commands(
    formatter: click.HelpFormatter, title: str, rows: Iterable[tuple[str, str]], width: int
) -> None:
    """Write a titled list of (name, summary), one line each, with names padded to `width`."""
    formatter.write(f"\n{title}:\n")
    for name, summary in rows:
        formatter.write(f"  {name:<{width}}  {summary}\n")


class HelpCommand(TyperCommand):
    """A command whose epilog starts at the left margin, and whose errors name its options.

    The twin names a parameter of its API: `at '9d': is in the future`, or `at: '9d' is not allowed`. If the
    value is that of an option of the same name, the error names the option: `--at '9d': is in the future`. So
    it does with the other end of a range: `--from '2h': must not be after --to '1h'`.
    A command that prints tables also has the options of `ops.cli.common.table_options`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for param in self.params:
            if isinstance(param.type, DurationParam) and isinstance(param.default, int):
                param.default = format_duration(param.default * US_PER_S)  # `[default: 1h]`, not 3600
        if has_tables(self.params):
            add_table_options(self.params)
        with_one_number_form(self.params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args:
            check_given_once(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        check_files_apart(self.params, ctx.params)
        try:
            form = ctx.params.get("output")
            name = ctx.command_path.removeprefix(_PROGRAM)
            style = take_table_style(ctx.params, to_file=self._writes_file(ctx))
            with styled(style), long_work(name, for_programs=form in FOR_PROGRAMS):
                return super().invoke(ctx)
        except InvalidInput as error:
            error.args = (self._with_option(str(error), ctx),)
            raise

    def _writes_file(self, ctx: click.Context) -> bool:
        """Whether an option sends the output to a file."""
        return any(
            param.type is TEXT_FILE and ctx.params.get(param.name or "") is not None for param in self.params
        )

    def _with_option(self, text: str, ctx: click.Context) -> str:
        found = text
        for parameter in self.params:
            given: object = ctx.params.get(parameter.name or "")
            values = given if isinstance(given, list | tuple) else (given,)
            for shown in filter(None, map(_shown_in_errors, values)):
                for option in [one for one in parameter.opts if one.startswith("--")]:
                    if f"--{text}".startswith((f"{option} {shown}: ", f"{option}: {shown} ")):
                        found = f"--{found}"
                    found = found.replace(f" {AFTER} {option[2:]} {shown}", f" {AFTER} {option} {shown}")
        return found

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_epilog(self.epilog or "", formatter)


def _shown_in_errors(value: object) -> str | None:
    """A value as errors show it: text in quotes, numbers without; None if it is neither."""
    if isinstance(value, str):
        return truncated(repr(value))
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


class RequestCommand(HelpCommand):
    """A command that sends requests, which carry the name of `--as`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params.append(
            click.Option(
                ["--as", AS_PARAMETER],
                metavar="NAME",
                help="your name, recorded with the request; with tokens, only that of the token [default: "
                "LIGHTWAVE_AS]",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        with acting_as(ctx.params.pop(AS_PARAMETER, None)):
            return super().invoke(ctx)


_MINUS_DIGIT = re.compile(r"^-(?=[0-9])")
_MINUS = "\N{MINUS SIGN}"
"""Stands for the leading - of a time before now, which the parser would read as an option."""


ParsedWords = tuple[dict[str, Any], list[str], list[click.Parameter]]
"""click's parsed values by name, of any type; the words left over; the parameters in order."""


class TimeArgumentsCommand(HelpCommand):
    """A command whose arguments may be times before now: `-2h` is not an option."""

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        parse: Callable[[list[str]], ParsedWords] = parser.parse_args

        def parse_times(args: list[str]) -> ParsedWords:
            found, rest, order = parse([_MINUS_DIGIT.sub(_MINUS, word) for word in args])
            return {name: _with_hyphen(value) for name, value in found.items()}, _with_hyphen(rest), order

        parser.parse_args = parse_times
        return parser


class TimedRequestCommand(TimeArgumentsCommand, RequestCommand):
    """A command that sends requests, whose arguments may be times before now."""


def _with_hyphen(value: Any) -> Any:
    """A parsed value as it was typed."""
    if isinstance(value, str):
        return re.sub(rf"^{_MINUS}(?=[0-9])", "-", value)
    return [_with_hyphen(item) for item in value] if isinstance(value, list) else value


class CommandGroup(TyperGroup):
    """A group that lists its commands by name with full sentences, and suggests a command for an unknown
    word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args:
            check_given_once(self, ctx, args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        commands = [(name, self.get_command(ctx, name)) for name in names]
        rows = [(name, summary_of(command)) for name, command in commands if command is not None]
        write_commands(formatter, "Commands", rows, max(map(len, names)))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the group's own epilog, or examples of its commands."""
        if self.epilog:
            _write_epilog(self.epilog, formatter)
            return
        by_command = [_examples_of(command) for command in self.commands.values()]
        found = [line for lines in zip_longest(*by_command) for line in lines if line is not None]
        _write_epilog(examples(*found[:EXAMPLES]) if found else "", formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise click.UsageError(_unknown_command_text(args[0], names), ctx)
        return super().resolve_command(ctx, args)


class DefaultCommandGroup(CommandGroup):
    """A group that runs its command `default` if the first word is an option, or, with `runs_alone`, if there
    are no words."""

    default: str
    runs_alone = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        starts_with_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        if starts_with_option or (not args and self.runs_alone and not ctx.resilient_parsing):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options as those of the default command."""
        if incomplete.startswith("-"):
            return self.commands[self.default].shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete)


class CommandApp(typer.Typer):
    """A Typer app whose commands are `HelpCommand`s unless they name another class."""

    def command(self, *names: Any, **options: Any) -> Callable[..., Any]:
        return super().command(*names, **{"cls": HelpCommand, **options})


def command_app(
    name: str | None = None,
    cls: type[CommandGroup] = CommandGroup,
    context_settings: dict[str, Any] | None = None,
) -> typer.Typer:
    """An app without Typer's panels, which would import rich and draw boxes around single sentences.

    With a name and a callback, the app is a group. Without them, its commands belong to the root.
    """
    return CommandApp(
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
    """The command for `word` in a module's app: the app's group, or one of its commands."""
    command = typer.main.get_command(app)
    if app.registered_callback is None and isinstance(command, click.Group):
        return command.commands[word]
    return command


def _unknown_command_text(word: str, names: Collection[str]) -> str:
    """The error for an unknown command: the most similar ones, or the nearest three of many if none is."""
    if len(names) <= LISTED_MAX or closest_matches(word.lower(), names, limit=NEAREST):
        return unknown_word_text("command", word, names)
    near = closest_matches(word.lower(), names, limit=NEAREST, similarity=0)
    return f"no command {word!r}; did you mean {', '.join(near[:-1])} or {near[-1]}?"


def _examples_of(command: click.Command) -> list[str]:
    """The examples of a command, without the word `lightwave`."""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    return [line.removeprefix(_PROGRAM) for line in lines if line.startswith(_PROGRAM)]


def _write_epilog(epilog: str, formatter: click.HelpFormatter) -> None:
    if epilog:
        formatter.write_paragraph()
        formatter.write_text(inspect.cleandoc(epilog))
