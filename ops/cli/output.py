"""Tables for people, JSON and YAML for programs."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

Table = tuple[Sequence[str], list[Sequence[object]]]
"""(headers, rows)."""

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="form",
)
watch_option = click.option("--watch", "-w", is_flag=True, help="look again every second, until Ctrl-C")


def show(content: Any, form: str, table: Callable[[], str]) -> None:
    """Print the content as JSON or YAML, or the table made of it."""
    if form == "json":
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
    elif form == "yaml":
        import yaml

        click.echo(yaml.safe_dump(content, sort_keys=False, allow_unicode=True).rstrip("\n"))
    else:
        click.echo(table())


def columns(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligned columns as kubectl prints them: upper-case headers, three spaces between, no boxes."""
    cells = [[*headers], *[[_cell(value) for value in row] for row in rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(headers))]
    lines = [
        "   ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def watched(look: Callable[[], None], watch: bool) -> None:
    """Look once, or every second until Ctrl-C; on a terminal each look replaces the last."""
    if not watch:
        look()
        return
    try:
        while True:
            if sys.stdout.isatty():
                click.clear()
            look()
            sys.stdout.flush()
            time.sleep(1.0)
    except KeyboardInterrupt:
        return
