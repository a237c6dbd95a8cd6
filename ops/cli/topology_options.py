"""What the commands of `lightwave topology` have in common: their parameters, and figures as a table."""

import re
from collections.abc import Mapping
from typing import Annotated

import click
import typer

from ops.cli.options import repeated
from ops.common.tables import columns

Shape = Annotated[str, typer.Argument(metavar="SHAPE", help="sides in chips, like 4x4x8")]
Twisted = Annotated[bool, typer.Option("--twisted", help="n×n×2n and n×2n×2n only")]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="OCS...", help="number of a failed OCS; may be repeated"),
]

ALL_TO_ALL_UNIT = "links one way, a chip, its own share included"
"""Rate per ordered pair × N chips: (N − 1)/N of it leave the chip."""


def ocs_number(word: str) -> int:
    """17 of `17`, `ocs-17` or `pod-0/ocs-17`."""
    from shared.models.superpod.wiring import OCS_COUNT

    match = re.fullmatch(r"(?:(?:pod-[0-9]+/)?ocs-)?([0-9]{1,6})", word.strip())
    if match is None:
        raise click.UsageError(
            f"--without {word!r}: is no OCS; allowed are numbers 0 to {OCS_COUNT - 1}, like 17"
        )
    return int(match[1])


def ocs_numbers(lost: list[str] | None, context: typer.Context) -> list[int]:
    """The OCSes of `--without 1 2,3 --without 4`."""
    return [ocs_number(word) for word in repeated(lost, context)]


def figure_table(figures: Mapping[str, object], units: Mapping[str, str]) -> str:
    """Figures by name, a row each, with their units; a figure of several values is one list."""
    rows = [
        (name, ", ".join(map(str, value)) if isinstance(value, tuple) else value, units.get(name, ""))
        for name, value in figures.items()
    ]
    return columns(("FIGURE", "VALUE", "UNIT"), rows)
