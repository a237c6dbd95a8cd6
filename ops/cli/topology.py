"""`lightwave topology`: slice shapes, what they can carry, and what they look like. No twin is asked."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.options import Output
from ops.cli.output import say, show
from ops.cli.topology_options import ALL_TO_ALL_UNIT, Shape, Twisted, Without, figure_table, ocs_numbers
from ops.cli.topology_route import topology_route
from ops.cli.types import OUT_FILE
from ops.common.tables import columns

UNITS = {
    "diameter": "hops",
    "mean_hops": "hops",
    "all_to_all_throughput": ALL_TO_ALL_UNIT,
    "dimension_order_throughput": ALL_TO_ALL_UNIT,
    "all_reduce_bandwidth": "links one way, a chip",
    "all_to_all_gain": "×",
}


SPREAD = {"allow_extra_args": True}
"""The words behind the first of --without are extra arguments to click: `--without 1 2`."""

app = application("topology")


@app.callback()
def topology() -> None:
    """Slice shapes: figures, pictures, routes, and which suits what."""


app.command("route", context_settings=SPREAD)(topology_route)


@app.command("show", context_settings=SPREAD)
def topology_show(
    context: typer.Context,
    shape: Shape,
    twisted: Twisted = False,
    lost: Without = None,
    output: Output = "table",
) -> None:
    """Print what a slice is made of and what it can carry.

    Bandwidths are in units of one link in one direction.
    """
    from dataclasses import asdict

    from shared.models.superpod.shapes import parse_shape
    from shared.models.topology.figures import slice_figures

    figures = asdict(slice_figures(parse_shape(shape), twisted, ocs_numbers(lost, context)))
    show(figures, output, lambda: _figures(figures))


def _figures(figures: dict[str, Any]) -> str:
    listed = {name: value for name, value in figures.items() if name != "notes" and value != ()}
    return "\n".join([figure_table(listed, UNITS), "", *figures["notes"]]).rstrip()


@app.command("suggest")
def topology_suggest(
    chips: Annotated[int, typer.Option(min=1, help="chips of the slice")],
    traffic: Annotated[
        str, typer.Option(metavar="PATTERN", help="all-to-all, ring:x, ring:y, ring:z or nearest")
    ] = "all-to-all",
    output: Output = "table",
) -> None:
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


@app.command("draw")
def topology_draw(
    shape: Shape,
    out: Annotated[Path, typer.Option(click_type=OUT_FILE, metavar="FILE", help="to write: .html or .png")],
    twisted: Twisted = False,
) -> None:
    """Draw a slice: chips, cubes, links around, links twisted; as a page to turn about or as a picture."""
    from ops.models.topology.draw import draw
    from shared.models.superpod.shapes import parse_shape

    say(draw(parse_shape(shape), twisted, out))
