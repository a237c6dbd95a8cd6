"""`lightwave fabric-availability`, `goodput-model`, `placement-model`: closed forms; no twin is asked."""

from pathlib import Path
from typing import Any

import click

from ops.cli.output import output_option, rendered, show, write
from ops.cli.run import OUT_FILE
from ops.common.tables import columns

HOST_AVAILABILITY = "share of the time that a host works"
figure_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml", "html"]),
    default="table",
    show_default=True,
    help="form; html draws it",
)
out_option = click.option("--out", type=OUT_FILE, metavar="FILE", help="write it there")


@click.command(name="fabric-availability")
@click.option("--ocs-availability", type=float, default=0.999, show_default=True, help="of one OCS")
@click.option(
    "--kind",
    default="cwdm4-bidi",
    show_default=True,
    help="modules: cwdm4-duplex (96 OCSes), cwdm4-bidi (48) or cwdm8-bidi (24)",
)
@output_option
def fabric_availability(ocs_availability: float, kind: str, output: str) -> None:
    """Print how often all OCSes of a superpod work at a time.

    Lightwave Fabrics, 4.2.2, Figure 15a.
    """
    from shared.models.availability.fabric import fabric_availability, fabric_ocs

    ocs = fabric_ocs(kind)
    found = {"kind": kind, "ocs": ocs, "availability": fabric_availability(ocs_availability, ocs)}
    show(found, output, lambda: columns(("KIND", "OCS", "AVAILABILITY"), [_row(found)]))


@click.command(name="goodput-model")
@click.option("--host-availability", type=float, help=f"{HOST_AVAILABILITY} [default: 0.999]")
@click.option("--slice-chips", type=int, help="chips of each slice: a multiple of 64 [default: 1024]")
@click.option("--fabric", help="reconfigurable or static [default: reconfigurable]")
@click.option(
    "--target",
    type=float,
    default=0.97,
    show_default=True,
    help="probability with which the slices must be had: what both papers hold constant",
)
@click.option(
    "--ocs-availability", type=float, help="of one OCS; the fabric then counts towards the target as well"
)
@click.option(
    "--kind",
    default="cwdm8-bidi",
    show_default=True,
    help="modules, which set the number of OCSes: with 48 of 99.9 % no slice could meet 97 %",
)
@click.option("--cubes", type=int, default=64, show_default=True, help="cubes of the pod")
@click.option(
    "--sweep", is_flag=True, help="all sizes of slices, host availabilities and fabrics of the figure"
)
@figure_option
@out_option
def goodput_model(
    host_availability: float | None,
    slice_chips: int | None,
    fabric: str | None,
    sweep: bool,
    output: str,
    out: Path | None,
    **model: Any,
) -> None:
    """Print the share of a pod that can be promised to equal slices.

    Lightwave Fabrics, 4.2.2, Figure 15b; TPU v4, 2.3, Figure 4. With --sweep the other options keep the
    curves that they name.
    """
    from dataclasses import asdict

    from shared.models.availability.goodput import FABRICS, FIGURE_HOST_AVAILABILITY, goodput, goodput_figure

    _check_page(out, output)
    if not sweep:
        if output == "html":
            raise click.UsageError("-o html goes with --sweep")
        one = goodput(
            0.999 if host_availability is None else host_availability,
            1024 if slice_chips is None else slice_chips,
            FABRICS[0] if fabric is None else fabric,
            **model,
        )
        write(rendered(asdict(one), output, lambda: _table([asdict(one)])), out)
        return
    if slice_chips is not None:
        raise click.UsageError("--slice-chips goes without --sweep, which takes every size")
    points = goodput_figure(
        host_availabilities=FIGURE_HOST_AVAILABILITY if host_availability is None else (host_availability,),
        fabrics=FABRICS if fabric is None else (fabric,),
        **model,
    )
    if output == "html":
        from ops.models.availability.draw import goodput_chart, page_of, stated_goodput

        title = f"Goodput of equal slices, had with probability {model['target']:g}"
        write(page_of(goodput_chart(points, stated_goodput(model), title)), out)
        return
    rows = [asdict(point) for point in points]
    write(rendered(rows, output, lambda: _table(rows)), out)


@click.command(name="placement-model")
@click.option(
    "--cube-availability", type=float, required=True, help="share of the time that a cube can be had"
)
@click.option("--ocs-availability", type=float, required=True, help="of one OCS")
@click.option("--slice-cubes", type=int, help="cubes of the slice [default: every size]")
@click.option("--cubes", type=int, default=64, show_default=True, help="cubes of the pod")
@click.option(
    "--kind", default="cwdm4-bidi", show_default=True, help="modules, which set the number of OCSes"
)
@click.option(
    "--faults-tolerated",
    type=int,
    help="failed OCSes that routing can go around at a time [default: any number]",
)
@figure_option
@out_option
def placement_model(
    cube_availability: float,
    ocs_availability: float,
    slice_cubes: int | None,
    output: str,
    out: Path | None,
    **model: Any,
) -> None:
    """Print how probable it is that a slice can be placed.

    With and without routing around failed OCSes; without it any failed one is fatal.
    """
    from dataclasses import asdict

    from shared.basics.checks import count
    from shared.models.availability.placement import placement_curve

    if output == "html" and slice_cubes is not None:
        raise click.UsageError("--slice-cubes goes without -o html, which draws every size")
    _check_page(out, output)
    curve = placement_curve(cube_availability, ocs_availability, **model)
    if output == "html":
        from ops.models.availability.draw import page_of, placement_chart

        title = f"Slices that can be placed: cubes {cube_availability:g}, OCSes {ocs_availability:g}"
        write(page_of(placement_chart(curve, title, paper=False)), out)
        return
    rows = [asdict(point) for point in curve]
    if slice_cubes is not None:
        one = rows[count("slice-cubes", slice_cubes, 1, len(rows)) - 1]
        write(rendered(one, output, lambda: _table([one])), out)
        return
    write(rendered(rows, output, lambda: _table(rows)), out)


def _table(rows: list[dict[str, Any]]) -> str:
    headers = [name.upper().replace("_", "-") for name in rows[0]]
    return columns(headers, [_row(row) for row in rows])


def _row(row: dict[str, Any]) -> list[object]:
    """Probabilities need more digits than three, and no row of zeros."""
    return [f"{value:.6g}" if isinstance(value, float) else value for value in row.values()]


def _check_page(out: Path | None, output: str) -> None:
    """A page is named .html, and nothing else is."""
    if out is None or (out.suffix.lower() == ".html") == (output == "html"):
        return
    if output == "html":
        raise click.UsageError(f"--out {out}: is not named like a page; -o html writes .html")
    raise click.UsageError(f"--out {out}: is named like a page; -o html writes one")
