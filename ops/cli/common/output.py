"""Output of commands: tables, JSON or YAML, printed once or refreshed."""

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TextIO

import typer

from ops.cli.common.progress import end_note, note_hidden
from ops.cli.common.table_options import check_columns
from ops.local.output_file import write_output_text
from ops.report.safe_text import escape_control, one_line
from ops.report.table_style import WIDTH_MIN, TableStyle, current_style, wrap_words
from shared.basics.errors import InvalidInput

Form = Literal["table", "json", "yaml"]
PageForm = Literal["table", "json", "yaml", "html"]
"""The output formats, with an HTML page."""

NAME_FIELDS = ("name", "id", "key", "drill")
"""Fields of an object that `-o name` prints, the preferred one first."""
WATCH_S = 1.0
CLEAR = "\x1b[H\x1b[2J"
"""Terminal codes: move the cursor home and clear the screen."""


def render(content: Any, form: Form, table: Callable[[], str]) -> str:
    """Format the content as JSON, YAML or a table, escaped for the terminal, without the last newline."""
    if form == "json":
        return escape_control(_json(content), _json_escape)
    if form == "yaml":
        from ops.report.yaml_writer import yaml_text

        return yaml_text(content)
    style = current_style()
    text = escape_control(table())
    check_columns(style)
    return _names(content, style) if style.names_only else style.wrapped(text)


_readers_gone: set[int] = set()
"""Streams whose reader has closed its end, by file number."""


def reader_is_gone() -> bool:
    """Whether the reader of stdout has closed it (`| head`). Then a stream ends, with exit code 0."""
    return 1 in _readers_gone


def drop_output(stream: TextIO) -> None:
    """Send what follows on a stream to the null device, so that no later flush raises again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_raw(text: str) -> None:
    """Print text on stdout. If the reader is gone, drop the text: that is not a failure, and the command
    continues to its own exit code."""
    end_note()
    try:
        typer.echo(text, color=_colours())
    except BrokenPipeError:
        _readers_gone.add(1)
        drop_output(sys.stdout)


def echo(text: str, *, to_stderr: bool = False) -> None:
    """Print text with control characters escaped, on stdout or stderr. On stdout, states in tables may have
    colours. If stderr is a terminal, long lines are broken between words."""
    escaped = escape_control(text)
    if to_stderr:
        if sys.stderr is not None and sys.stderr.isatty():
            width = max(WIDTH_MIN, shutil.get_terminal_size().columns)
            escaped = "\n".join(part for line in escaped.split("\n") for part in wrap_words(line, width))
        with note_hidden():
            typer.echo(escaped, err=True, color=_colours())
    else:
        print_raw(current_style().shown(escaped))


def show(content: Any, form: Form, table: Callable[[], str]) -> None:
    """Print the content in one of the three formats."""
    text = render(content, form, table)
    if text or not current_style().names_only:
        echo(text)


def _colours() -> bool | None:
    """Tells click to keep colours in a pipe, if they are wanted."""
    return True if current_style().colour else None


def _names(content: Any, style: TableStyle) -> str:
    """Return the name of each object of the content, one per line; otherwise the first columns of its tables.

    Raises InvalidInput if the content has no names.
    """
    rows = content if isinstance(content, list) else [content]
    for field in NAME_FIELDS:
        found = [_field(row, field) for row in rows]
        if rows and all(isinstance(name, str | int) for name in found):
            return "\n".join(one_line(str(name)) for name in found)
    if not style.names and rows:
        raise InvalidInput("-o name: the output has no names")
    return "\n".join(name for name in style.names if name != "-")


def _field(row: Any, field: str) -> object:
    return row.get(field) if isinstance(row, dict) else getattr(row, field, None)


def write_or_print(text: str, out: Path | None) -> None:
    """Print the text unchanged, because it may be a page, or write it to a file, which is complete or
    unchanged, and report that."""
    if out is None:
        print_raw(current_style().shown(text))
    else:
        write_output_text(out, f"{text}\n")
        echo(f"written to {out}", to_stderr=True)


def _json(content: Any) -> str:
    """Indented JSON; lists have one row per line, because they may be long."""
    if not isinstance(content, list) or not content:
        return json.dumps(content, indent=2, ensure_ascii=False)
    encode = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would create an encoder for each row
    rows = ",\n".join(f"  {encode(row)}" for row in content)
    return f"[\n{rows}\n]"


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def json_line(content: Any) -> str:
    """The content as JSON in one line, fit for a terminal."""
    return escape_control(json.dumps(content, ensure_ascii=False), _json_escape)


def indented_json(content: Any) -> str:
    """The content as indented JSON, fit for a terminal."""
    return escape_control(json.dumps(content, indent=2, ensure_ascii=False), _json_escape)


def watch_loop(look: Callable[[], str], watch: bool, check: Callable[[], None] | None = None) -> None:
    """Print the result of `look` once, or every second until Ctrl-C, until the reader is gone, or until
    `check` raises because nothing can change any more. On a terminal, each print replaces the last."""
    if not watch:
        text = look()
        if text or not current_style().names_only:
            echo(text)
        return
    while not reader_is_gone():
        style = current_style()
        style.lines.clear()
        text = style.shown(look())
        print_raw(CLEAR + text if sys.stdout.isatty() else text)
        if check is not None:
            check()
        time.sleep(WATCH_S)
