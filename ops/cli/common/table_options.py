"""The options that every command with tables has: --columns, --no-headers, --color, and two more formats.

`HelpCommand` adds them, so that no command has to name them.
"""

import os
import sys
from typing import Any

import click

from ops.report.table_style import TableStyle
from shared.basics.errors import InvalidInput
from shared.basics.spelling import closest_matches

OUTPUT = "output"
"""The parameter of a command's `-o`."""
EXTRA_FORMS = ("wide", "name")
COLOUR_WORDS = ("auto", "always", "never")
COLUMNS, HEADERS, COLOUR = "table_columns", "table_headers", "table_colour"
_CHOICES = f"{__name__}.choices"


class ColumnsParam(click.ParamType):
    """Headings of a table, separated by commas, in any case; as typed."""

    name = "columns"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(words):
            self.fail(f"{value!r} is not allowed; must be headings such as NAME,STATE", param, ctx)
        return tuple(dict.fromkeys(words))


def has_tables(params: list[click.Parameter]) -> bool:
    """Whether a command with these parameters can print tables: it has a `-o` with the format `table`."""
    return any(param.name == OUTPUT and "table" in _choices(param) for param in params)


def add_table_options(params: list[click.Parameter]) -> None:
    """Add the options, and the formats `wide` and `name`, to a command that can print tables."""
    for param in params:
        if param.name == OUTPUT:
            words = _choices(param)
            param.type = click.Choice([*words, *(form for form in EXTRA_FORMS if form not in words)])
    params += [
        click.Option(
            ["--columns", COLUMNS],
            type=ColumnsParam(),
            metavar="NAMES",
            help="show only these columns of tables, such as NAME,STATE",
        ),
        click.Option(["--no-headers", HEADERS], is_flag=True, help="leave out the headings of tables"),
        click.Option(
            ["--color", COLOUR],
            type=click.Choice(COLOUR_WORDS),
            default="auto",
            help="colour states [default: on a terminal, unless NO_COLOR is set]",
        ),
    ]


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def take_table_style(params: dict[str, Any], *, to_file: bool = False) -> TableStyle:
    """Return the style that a command's parameters request. Its own options are removed from them, and the
    formats `wide` and `name` become `table`. With `to_file`, the tables go to a file, not to stdout.

    Raises UsageError if a table's option is combined with a format that is not a table.
    """
    columns: tuple[str, ...] = params.pop(COLUMNS, None) or ()
    no_headers: bool = params.pop(HEADERS, False)
    colour: str = params.pop(COLOUR, "auto")
    headings: dict[str, str] = {}
    for word in columns:
        headings.setdefault(word.upper().replace("_", "-"), word)
    form = params.get(OUTPUT, "table")
    is_table = form in ("table", *EXTRA_FORMS)
    for option, given in (("--columns", bool(columns)), ("--no-headers", no_headers)):
        is_harmless = option == "--no-headers" and form == "name"
        if given and (not is_table or form == "name") and not is_harmless:
            raise click.UsageError(f"{option}: cannot be combined with -o {form}")
    if not is_table:
        return TableStyle()
    if form in EXTRA_FORMS:
        params[OUTPUT] = "table"
    to_screen = not to_file and form != "name"
    on_terminal = to_screen and is_terminal()
    return TableStyle(
        on_terminal=on_terminal,
        colour=to_screen and uses_colour(colour, on_terminal=on_terminal),
        wide=form == "wide",
        headers=not no_headers,
        columns=tuple(headings),
        typed_columns=headings,
        names_only=form == "name",
    )


def uses_colour(word: str, *, on_terminal: bool) -> bool:
    """Whether `--color WORD` colours: `auto` does on a terminal that can, unless NO_COLOR is set and not
    empty (https://no-color.org)."""
    if word != "auto":
        return word == "always"
    return on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def check_columns(style: TableStyle) -> None:
    """Raise InvalidInput if a chosen column is not in any table of the output."""
    if unknown := style.unknown_columns():
        near = closest_matches(unknown[0], style.headings, limit=1)
        hint = f"did you mean {near[0]}? " if near else ""
        known = ", ".join(style.headings)
        typed = style.typed_columns.get(unknown[0], unknown[0])
        some = "one or more of " if len(style.headings) > 1 else ""
        raise InvalidInput(f"--columns: {typed!r} is not allowed; {hint}must be {some}{known}")


def _choices(param: click.Parameter) -> tuple[str, ...]:
    return tuple(map(str, getattr(param.type, "choices", ())))
