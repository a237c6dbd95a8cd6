"""`lightwave model`: availability, goodput, placement and rare events in closed form, without a twin."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import Out, OutputOption, PageOutput, check_page
from ops.cli.common.output import Form, PageForm, render, show, write_or_print
from ops.report.tables import text_table

OcsAvailability = Annotated[float, typer.Option(help="availability of one OCS")]
Cubes = Annotated[int, typer.Option(help="number of cubes of the pod")]

app = command_app("model")


@app.callback()
def model() -> None:
    """Compute availability, goodput, placement and rare events."""


class GoodputModel(TypedDict):
    """Parameters that all points of the model share."""

    target: float
    cubes: int
    ocs_availability: float | None
    kind: str


@app.command(
    "availability",
    epilog=examples("model availability --ocs-availability 0.999", "model availability --kind cwdm8-bidi"),
)
def fabric_availability(
    ocs_availability: OcsAvailability = 0.999,
    kind: Annotated[
        str, typer.Option(help="kind of modules: cwdm4-duplex (96 OCSes), cwdm4-bidi (48) or cwdm8-bidi (24)")
    ] = "cwdm4-bidi",
    output: OutputOption = "table",
) -> None:
    """Print how often all OCSes of a superpod work at a time.

    Lightwave Fabrics, 4.2.2, Figure 15a.
    """
    from shared.models.availability.fabric_availability import fabric_availability, fabric_ocs

    ocs = fabric_ocs(kind)
    found = {"kind": kind, "ocs": ocs, "availability": fabric_availability(ocs_availability, ocs)}
    show(found, output, lambda: text_table(("KIND", "OCS", "AVAILABILITY"), [_row(found)]))


@app.command(
    "goodput",
    epilog=examples(
        "model goodput --host-availability 0.999 --slice-chips 1024",
        "model goodput --sweep -o html --out goodput.html",
    ),
)
def goodput_model(
    host_availability: Annotated[
        float | None, typer.Option(help="share of the time that a host works [default: 0.999]")
    ] = None,
    slice_chips: Annotated[
        int | None, typer.Option(help="chips of each slice: a multiple of 64 [default: 1024]")
    ] = None,
    fabric: Annotated[
        str | None, typer.Option(help="reconfigurable or static [default: reconfigurable]")
    ] = None,
    target: Annotated[
        float,
        typer.Option(help="probability that all promised slices are available; both papers keep it constant"),
    ] = 0.97,
    ocs_availability: Annotated[
        float | None,
        typer.Option(help="availability of one OCS; the fabric then counts towards the target too"),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="kind of modules, which sets the number of OCSes; with 48 OCSes of 99.9 % no slice "
            "meets 97 %"
        ),
    ] = "cwdm8-bidi",
    cubes: Cubes = 64,
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep", help="compute all slice sizes, host availabilities and fabrics of the figure"
        ),
    ] = False,
    output: PageOutput = "table",
    out: Out = None,
) -> None:
    """Print the share of a pod that can be promised to slices.

    All slices have the same size. With --sweep the other options select curves. Lightwave Fabrics, 4.2.2,
    Figure 15b; TPU v4, 2.3, Figure 4.
    """
    check_page(out, output)
    model = GoodputModel(target=target, cubes=cubes, ocs_availability=ocs_availability, kind=kind)
    if sweep:
        if slice_chips is not None:
            raise click.UsageError("--slice-chips cannot be combined with --sweep, which takes every size")
        text = _goodput_sweep(host_availability, fabric, model, output)
    else:
        if output == "html":
            raise click.UsageError("-o html requires --sweep")
        text = _one_goodput(host_availability, slice_chips, fabric, model, output)
    write_or_print(text, out)


def _one_goodput(
    host_availability: float | None,
    slice_chips: int | None,
    fabric: str | None,
    model: GoodputModel,
    output: Form,
) -> str:
    """Format the promised goodput of slices of one size."""
    from dataclasses import asdict

    from shared.models.availability.promised_goodput import FABRICS, promised_goodput

    found = promised_goodput(
        0.999 if host_availability is None else host_availability,
        1024 if slice_chips is None else slice_chips,
        FABRICS[0] if fabric is None else fabric,
        **model,
    )
    one = asdict(found)
    return render(one, output, lambda: _table([one]))


def _goodput_sweep(
    host_availability: float | None, fabric: str | None, model: GoodputModel, output: PageForm
) -> str:
    """Format every point of the papers' figure."""
    from dataclasses import asdict

    from shared.models.availability.promised_goodput import FABRICS, FIGURE_HOST_AVAILABILITY, goodput_figure

    points = goodput_figure(
        host_availabilities=FIGURE_HOST_AVAILABILITY if host_availability is None else (host_availability,),
        fabrics=FABRICS if fabric is None else (fabric,),
        **model,
    )
    if output == "html":
        from ops.models.availability.charts import chart_page, goodput_chart
        from ops.models.availability.stated_figures import stated_goodput

        title = f"Goodput of equal slices, available with probability {model['target']:g}"
        return chart_page(goodput_chart(points, stated_goodput(**model), title))
    rows = [asdict(point) for point in points]
    return render(rows, output, lambda: _table(rows))


@app.command(
    "placement",
    epilog=examples(
        "model placement --cube-availability 0.99 --ocs-availability 0.999",
        "model placement --cube-availability 0.9 --ocs-availability 1 -o json",
    ),
)
def placement_model(
    cube_availability: Annotated[float, typer.Option(help="share of the time that a cube is available")],
    ocs_availability: OcsAvailability,
    slice_cubes: Annotated[int | None, typer.Option(help="cubes of the slice [default: every size]")] = None,
    cubes: Cubes = 64,
    kind: Annotated[str, typer.Option(help="kind of modules, which sets the number of OCSes")] = "cwdm4-bidi",
    faults_tolerated: Annotated[
        int | None,
        typer.Option(help="number of failed OCSes that routing can avoid at once [default: any number]"),
    ] = None,
    output: PageOutput = "table",
    out: Out = None,
) -> None:
    """Print the probability that a slice can be placed.

    With and without routing around failed OCSes. Without it, any failed OCS is fatal.
    """
    from dataclasses import asdict

    from shared.basics.checks import check_count
    from shared.models.availability.slice_placement import placement_curve

    if output == "html" and slice_cubes is not None:
        raise click.UsageError("--slice-cubes cannot be combined with -o html, which draws every size")
    check_page(out, output)
    curve = placement_curve(
        cube_availability, ocs_availability, cubes=cubes, kind=kind, faults_tolerated=faults_tolerated
    )
    if output == "html":
        from ops.models.availability.charts import chart_page, placement_chart

        title = f"Slices that can be placed: cubes {cube_availability:g}, OCSes {ocs_availability:g}"
        write_or_print(chart_page(placement_chart(curve, title, paper=False)), out)
        return
    rows = [asdict(point) for point in curve]
    if slice_cubes is not None:
        one = rows[check_count("slice-cubes", slice_cubes, 1, len(rows)) - 1]
        write_or_print(render(one, output, lambda: _table([one])), out)
        return
    write_or_print(render(rows, output, lambda: _table(rows)), out)


@app.command(
    "rare",
    epilog=examples(
        "model rare --machines 48 --crews 2 --per-day 1 --repair-h 9 --down 9",
        "model rare --machines 9 --crews 1 --per-day 1 --repair-h 8 --down 3",
    ),
)
def rare_model(
    machines: Annotated[int, typer.Option(help="number of machines")],
    crews: Annotated[int, typer.Option(help="number of repair crews")],
    per_day: Annotated[float, typer.Option(help="failures per working machine and day")],
    repair_h: Annotated[float, typer.Option(help="mean repair time in hours, exponential")],
    down: Annotated[int, typer.Option(help="minimum number of machines down at once")],
    seed: Annotated[int, typer.Option(min=0, help="seed of the random draws")] = 0,
    effort: Annotated[int, typer.Option(help="trials from each level, in each repetition")] = 1_000,
    repetitions: Annotated[int, typer.Option(help="independent repetitions, which give the interval")] = 20,
    output: OutputOption = "table",
) -> None:
    """Print the probability that many machines are down at once.

    Within a busy period: from the first failure until all machines work again. Computed by splitting, with a
    95 % interval, and in closed form.
    """
    from shared.basics.checks import check_range
    from shared.models.reliability.multilevel_splitting import RATE_MAX, RATE_MIN, exceeds, split

    check_range("per-day", per_day, RATE_MIN, RATE_MAX, "")
    check_range("repair-h", repair_h, 24.0 / RATE_MAX, 24.0 / RATE_MIN, "")
    model = (machines, crews, per_day, 24.0 / repair_h, down)
    found = split(*model, seed=seed, effort=effort, repetitions=repetitions)
    one: dict[str, object] = {
        "probability": found.interval.value,
        # If no repetition reached the level, equal results say nothing about how rare it is.
        "low": max(0.0, found.interval.low) if found.empty < repetitions else None,
        "high": found.interval.high if found.empty < repetitions else None,
        "exactly": exceeds(*model),
        "repetitions": repetitions,
        "empty": found.empty,
    }
    show(one, output, lambda: _table([one]))


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    headers = [name.upper().replace("_", "-") for name in rows[0]]
    return text_table(headers, [_row(row) for row in rows])


def _row(row: Mapping[str, object]) -> list[object]:
    """Probabilities need more digits than three, and no row of zeros."""
    return [_probability_text(value) if isinstance(value, float) else value for value in row.values()]


def _probability_text(value: float) -> str:
    """A probability with six digits; near 1, with all its nines and one digit more."""
    text = f"{value:.6g}"
    if text != "1" or value >= 1.0:
        return text
    return f"{value:.{1 - math.floor(math.log10(1.0 - value))}f}"
