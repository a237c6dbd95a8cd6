"""`lightwave topology`: slice shapes, what they can carry, and what they look like. No twin is asked."""

from pathlib import Path
from typing import Any

import click

from ops.cli.groups import Group
from ops.cli.output import output_option, show
from ops.cli.run import OUT_FILE
from ops.cli.topology_route import topology_route
from ops.cli.topology_words import (
    ALL_TO_ALL_UNIT,
    figure_table,
    lost_option,
    more_argument,
    ocs_numbers,
    shape_argument,
    twisted_option,
)
from ops.common.tables import columns

UNITS = {
    "diameter": "hops",
    "mean_hops": "hops",
    "all_to_all_throughput": ALL_TO_ALL_UNIT,
    "dimension_order_throughput": ALL_TO_ALL_UNIT,
    "all_reduce_bandwidth": "links one way, a chip",
    "all_to_all_gain": "×",
}


@click.group(cls=Group)
def topology() -> None:
    """Slice shapes: figures, pictures, routes, and which suits what."""


topology.add_command(topology_route)


@topology.command(name="show")
@shape_argument
@more_argument
@twisted_option
@lost_option
@output_option
def topology_show(
    shape: str, more: tuple[str, ...], twisted: bool, lost: tuple[str, ...], output: str
) -> None:
    """Print what a slice is made of and what it can carry.

    SHAPE is in chips, like 4x4x8. Bandwidths are in units of one link in one direction.
    """
    from dataclasses import asdict

    from shared.models.superpod.shapes import parse_shape
    from shared.models.topology.figures import slice_figures

    figures = asdict(slice_figures(parse_shape(shape), twisted, ocs_numbers(lost, more)))
    show(figures, output, lambda: _figures(figures))


def _figures(figures: dict[str, Any]) -> str:
    listed = {name: value for name, value in figures.items() if name != "notes" and value != ()}
    return "\n".join([figure_table(listed, UNITS), "", *figures["notes"]]).rstrip()


@topology.command(name="suggest")
@click.option("--chips", type=click.IntRange(1), required=True, help="chips of the slice")
@click.option(
    "--traffic",
    metavar="PATTERN",
    default="all-to-all",
    show_default=True,
    help="all-to-all, ring:x, ring:y, ring:z or nearest",
)
@output_option
def topology_suggest(chips: int, traffic: str, output: str) -> None:
    """List the shapes of so many chips, the best for a traffic pattern first."""
    from dataclasses import asdict

    from shared.models.topology.suggest import measure_of, ranked_shapes

    shapes = [asdict(suggestion) for suggestion in ranked_shapes(chips, traffic)]
    measure = measure_of(traffic)
    result = {
        "chips": chips,
        "traffic": traffic,
        "measure": measure.name,
        "meaning": measure.meaning,
        "shapes": shapes,
    }
    headers = ("RANK", "SHAPE", "TWISTED", "CUBES", measure.name.upper().replace("_", "-"))
    table = [[row[key] for key in ("rank", "shape", "twisted", "cubes", "figure")] for row in shapes]
    show(result, output, lambda: f"{columns(headers, table)}\n\n{measure.meaning}")


@topology.command(name="draw")
@shape_argument
@twisted_option
@click.option("--out", type=OUT_FILE, required=True, metavar="FILE", help="to write: .html or .png")
def topology_draw(shape: str, twisted: bool, out: Path) -> None:
    """Draw a slice: chips, cubes, links around, links twisted; as a page to turn about or as a picture."""
    from ops.models.topology.draw import draw
    from shared.models.superpod.shapes import parse_shape

    click.echo(draw(parse_shape(shape), twisted, out))
