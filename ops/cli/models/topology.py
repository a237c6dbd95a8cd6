"""`lightwave topology`: computes, routes and draws slice shapes without a twin."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import OutputOption, split_repeated
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import OUT_FILE
from ops.report.tables import text_table

Shape = Annotated[str, typer.Argument(metavar="SHAPE", help="sides in chips, like 4x4x8")]
Twisted = Annotated[bool, typer.Option("--twisted", help="use a twisted torus; only for n×n×2n and n×2n×2n")]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="OCS...", help="number of a failed OCS; may be repeated"),
]

ALL_TO_ALL_UNIT = "links one way per chip, including its share for itself"
"""Rate per ordered pair × N chips: (N − 1)/N of it leave the chip."""


def ocs_number(word: str) -> int:
    """Convert `17`, `ocs-17` or `pod-0/ocs-17` to 17."""
    from shared.models.superpod.wiring import OCS_COUNT

    match = re.fullmatch(r"(?:(?:pod-[0-9]+/)?ocs-)?([0-9]{1,6})", word.strip())
    if match is None:
        raise click.UsageError(
            f"--without {word!r}: is not an OCS; must be a number from 0 to {OCS_COUNT - 1}, such as 17"
        )
    return int(match[1])


def ocs_numbers(lost: list[str] | None, context: typer.Context) -> list[int]:
    """Return the OCSes of `--without 1 2,3 --without 4`."""
    return [ocs_number(word) for word in split_repeated(lost, context)]


def figure_table(figures: Mapping[str, object], units: Mapping[str, str]) -> str:
    """Return figures by name, one row each, with their units. A figure with several values is one list."""
    rows = [
        (name, ", ".join(map(str, value)) if isinstance(value, tuple) else value, units.get(name, ""))
        for name, value in figures.items()
    ]
    return text_table(("FIGURE", "VALUE", "UNIT"), rows)


ROUTE_UNITS = {
    "missing_links": "links",
    "pairs": "ordered pairs of different chips",
    "reached": "of these",
    "detours": "of these, with a free hop first or last",
    "escapes": "of these, up and down a tree",
    "mean_hops": "hops",
    "max_hops": "hops",
    "mean_load": "routes over a link",
    "max_load": "routes over a link",
    "load_by_dimension": "the most along x, y, z",
    "all_to_all_throughput": ALL_TO_ALL_UNIT,
    "all_to_all_kept": "of the healthy slice's",
    "dependencies": "between channels",
}


def chip_and_direction(word: str) -> tuple[int, int]:
    """Convert `5,+y` to (5, 2): a chip's number and the direction's index in FACES."""
    from shared.models.superpod.wiring import FACES

    chip, _, direction = word.replace(" ", "").partition(",")
    if not (chip.isdecimal() and chip.isascii() and len(chip) <= 6) or direction not in FACES:
        raise click.UsageError(
            f"--without-link {word!r}: is not a link; must be a chip's number and one of "
            f"{', '.join(FACES)}, like 5,+y"
        )
    return int(chip), FACES.index(direction)


def topology_route(
    context: typer.Context,
    shape: Shape,
    twisted: Twisted = False,
    lost: WithoutOption = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            "--without-link",
            metavar="CHIP,DIRECTION",
            help="a failed link, named from either end, such as 5,+y; may be repeated",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Route a slice around failed OCSes and links.

    Proves that every chip is reachable without deadlock. Chips are numbered with x slowest and z fastest.
    """
    from dataclasses import asdict

    from shared.models.superpod.shapes import parse_shape
    from shared.models.topology.graph import slice_topology, without_links, without_ocs
    from shared.models.topology.routing.routing_figures import routing_figures

    failed = ocs_numbers(lost, context)
    links = [chip_and_direction(word) for word in cut or ()]
    left = without_links(without_ocs(slice_topology(parse_shape(shape), twisted), failed), links)
    figures = asdict(routing_figures(left))
    show(figures, output, lambda: figure_table(figures, ROUTE_UNITS))


UNITS = {
    "diameter": "hops",
    "mean_hops": "hops",
    "all_to_all_throughput": ALL_TO_ALL_UNIT,
    "dimension_order_throughput": ALL_TO_ALL_UNIT,
    "all_reduce_bandwidth": "links one way per chip",
    "all_to_all_gain": "×",
}


EXTRA_ARGUMENTS = {"allow_extra_args": True}
"""Return the values of --without. click sees those after the first as extra arguments: `--without 1 2`."""

app = command_app("topology")


@app.callback()
def topology() -> None:
    """Compute and draw slice shapes and their routes."""


app.command(
    "route",
    context_settings=EXTRA_ARGUMENTS,
    epilog=examples("topology route 4x4x4 --without 3", "topology route 4x4x8 --without-link 5,+y"),
)(topology_route)


@app.command(
    "show",
    context_settings=EXTRA_ARGUMENTS,
    epilog=examples("topology show 4x4x8 --twisted", "topology show 8x8x8 --without 17"),
)
def topology_show(
    context: typer.Context,
    shape: Shape,
    twisted: Twisted = False,
    lost: WithoutOption = None,
    output: OutputOption = "table",
) -> None:
    """Show the size, bisection and bandwidth of a slice.

    Bandwidths are in units of one link in one direction.
    """
    from dataclasses import asdict

    from shared.models.superpod.shapes import parse_shape
    from shared.models.topology.slice_figures import slice_figures

    figures = slice_figures(parse_shape(shape), twisted, ocs_numbers(lost, context))
    content = asdict(figures)
    listed = {name: value for name, value in content.items() if name != "notes" and value != ()}
    show(content, output, lambda: "\n".join([figure_table(listed, UNITS), "", *figures.notes]).rstrip())


@app.command(
    "suggest",
    epilog=examples("topology suggest --chips 256 --traffic all-to-all", "topology suggest --chips 512"),
)
def topology_suggest(
    chips: Annotated[int, typer.Option(min=1, help="number of chips of the slice")],
    traffic: Annotated[
        str,
        typer.Option(
            metavar="PATTERN", help="traffic pattern: all-to-all, ring:x, ring:y, ring:z or nearest"
        ),
    ] = "all-to-all",
    output: OutputOption = "table",
) -> None:
    """List the shapes for a number of chips, the best one first."""
    from dataclasses import asdict

    from shared.models.topology.suggest import ranked_shapes, traffic_measure

    shapes = [asdict(suggestion) for suggestion in ranked_shapes(chips, traffic)]
    measure = traffic_measure(traffic)
    result = {
        "chips": chips,
        "traffic": traffic,
        "measure": measure.name,
        "meaning": measure.meaning,
        "shapes": shapes,
    }
    headers = ("RANK", "SHAPE", "TWISTED", "CUBES", measure.name.upper().replace("_", "-"))
    table = [[row[key] for key in ("rank", "shape", "twisted", "cubes", "figure")] for row in shapes]
    show(result, output, lambda: f"{text_table(headers, table)}\n\n{measure.meaning}")


@app.command(
    "draw",
    epilog=examples("topology draw 4x4x8 --twisted --out slice.html", "topology draw 8x8x8 --out slice.png"),
)
def topology_draw(
    shape: Shape,
    out: Annotated[
        Path, typer.Option(click_type=OUT_FILE, metavar="FILE", help="the .html or .png file to write")
    ],
    twisted: Twisted = False,
) -> None:
    """Draw a slice as a 3D page or a picture."""
    from ops.models.topology.slice_drawing import draw_slice
    from shared.models.superpod.shapes import parse_shape

    echo(draw_slice(parse_shape(shape), twisted, out))
