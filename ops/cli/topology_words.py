"""What the commands of `lightwave topology` have in common: their words, and figures as a table."""

import re
from collections.abc import Mapping

import click

from ops.common.tables import columns

shape_argument = click.argument("shape", metavar="SHAPE")
more_argument = click.argument("more", nargs=-1, metavar="")
twisted_option = click.option("--twisted", is_flag=True, help="n×n×2n and n×2n×2n only")
lost_option = click.option(
    "--without", "lost", multiple=True, metavar="OCS...", help="number of a failed OCS; may be repeated"
)

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


def ocs_numbers(lost: tuple[str, ...], more: tuple[str, ...]) -> list[int]:
    """The OCSes of `--without 1 2,3 --without 4`; click takes the words behind the first for arguments."""
    if more and not lost:
        raise click.UsageError(f"Got unexpected extra argument ({more[0]})")
    return [ocs_number(word) for words in (*lost, *more) for word in words.split(",")]


def figure_table(figures: Mapping[str, object], units: Mapping[str, str]) -> str:
    """Figures by name, a row each, with their units; a figure of several values is one list."""
    rows = [
        (name, ", ".join(map(str, value)) if isinstance(value, tuple) else value, units.get(name, ""))
        for name, value in figures.items()
    ]
    return columns(("FIGURE", "VALUE", "UNIT"), rows)
