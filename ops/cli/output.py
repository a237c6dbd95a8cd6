"""What commands print: tables for people, JSON and YAML for programs, once or again and again."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

WATCH_S = 1.0
CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, and nothing left on the screen."""

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="form",
)
watch_option = click.option("--watch", "-w", is_flag=True, help="look again every second, until Ctrl-C")


def rendered(content: Any, form: str, table: Callable[[], str]) -> str:
    """The content as JSON or YAML, or the table made of it; without the last newline."""
    if form == "json":
        return _json(content)
    if form == "yaml":
        from ops.common.yaml_text import dump

        return dump(content)
    return table()


def show(content: Any, form: str, table: Callable[[], str]) -> None:
    """Print the content in one of the three forms."""
    click.echo(rendered(content, form, table))


def write(text: str, out: Path | None) -> None:
    """Print the text, or put it into a file of its own."""
    if out is None:
        click.echo(text)
    else:
        out.write_text(f"{text}\n", encoding="utf-8")


def _json(content: Any) -> str:
    """Indented; of a list one row a line, for lists may be long."""
    if not isinstance(content, list) or not content:
        return json.dumps(content, indent=2, ensure_ascii=False)
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in content)
    return f"[\n{rows}\n]"


def watched(look: Callable[[], str], watch: bool) -> None:
    """Print what a look gives once, or every second until Ctrl-C; on a terminal each replaces the last."""
    if not watch:
        click.echo(look())
        return
    try:
        while True:
            text = look()
            click.echo(CLEAR + text if sys.stdout.isatty() else text)
            time.sleep(WATCH_S)
    except KeyboardInterrupt:
        return
