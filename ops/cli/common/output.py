"""Output of commands: tables, JSON or YAML, printed once or refreshed."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import typer

from ops.report.safe_text import escape_control

Form = Literal["table", "json", "yaml"]
PageForm = Literal["table", "json", "yaml", "html"]
"""The output formats, with an HTML page."""

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
    return escape_control(table())


def echo(text: str, *, to_stderr: bool = False) -> None:
    """Print text with control characters escaped, on stdout or stderr."""
    typer.echo(escape_control(text), err=to_stderr)


def show(content: Any, form: Form, table: Callable[[], str]) -> None:
    """Print the content in one of the three formats."""
    echo(render(content, form, table))


def write_or_print(text: str, out: Path | None) -> None:
    """Print the text unchanged, because it may be a page, or write it to a file and report that."""
    if out is None:
        typer.echo(text)
    else:
        out.write_text(f"{text}\n", encoding="utf-8")
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


def watch_loop(look: Callable[[], str], watch: bool) -> None:
    """Print what a look gives once, or every second until Ctrl-C; on a terminal each replaces the last."""
    if not watch:
        echo(look())
        return
    while True:
        text = look()
        typer.echo(CLEAR + text if sys.stdout.isatty() else text)
        time.sleep(WATCH_S)
