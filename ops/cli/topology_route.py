"""`lightwave topology route`: the routing table of a slice, whole or damaged, with its proof."""

from typing import Annotated

import click
import typer

from ops.cli.options import Output
from ops.cli.output import show
from ops.cli.topology_options import ALL_TO_ALL_UNIT, Shape, Twisted, Without, figure_table, ocs_numbers

UNITS = {
    "missing_links": "links",
    "pairs": "ordered pairs of different chips",
    "reached": "of these",
    "detours": "of these, with a free hop first or last",
    "escapes": "of these, up and down a tree",
    "mean_hops": "hops",
    "max_hops": "hops",
    "mean_load": "ways over a link",
    "max_load": "ways over a link",
    "load_by_dimension": "the most along x, y, z",
    "all_to_all_throughput": ALL_TO_ALL_UNIT,
    "all_to_all_kept": "of the healthy slice's",
    "dependencies": "between channels",
}


def chip_and_direction(word: str) -> tuple[int, int]:
    """(5, 2) of `5,+y`: a chip's number and a direction's place in FACES."""
    from shared.models.superpod.wiring import FACES

    chip, _, direction = word.replace(" ", "").partition(",")
    if not (chip.isdecimal() and chip.isascii() and len(chip) <= 6) or direction not in FACES:
        raise click.UsageError(
            f"--without-link {word!r}: is no link; allowed are a chip's number and one of "
            f"{', '.join(FACES)}, like 5,+y"
        )
    return int(chip), FACES.index(direction)


def topology_route(
    context: typer.Context,
    shape: Shape,
    twisted: Twisted = False,
    lost: Without = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            "--without-link",
            metavar="CHIP,DIRECTION",
            help="a failed link from either end, like 5,+y; may be repeated",
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """Route a slice around what has failed, and prove that every chip is reached without deadlock.

    Chips are numbered with x slowest and z fastest.
    """
    from dataclasses import asdict

    from shared.models.superpod.shapes import parse_shape
    from shared.models.topology.graph import slice_topology, without_links, without_ocs
    from shared.models.topology.routing import routing_figures

    failed = ocs_numbers(lost, context)
    links = [chip_and_direction(word) for word in cut or ()]
    left = without_links(without_ocs(slice_topology(parse_shape(shape), twisted), failed), links)
    figures = asdict(routing_figures(left))
    show(figures, output, lambda: figure_table(figures, UNITS))
