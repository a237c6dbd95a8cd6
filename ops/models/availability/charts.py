"""The figures of availability, drawn as the papers draw them: [LF] Figure 15, [T4] Figure 4, and
placement."""

from typing import Any

from plotly import graph_objects

from ops.models.availability.stated_figures import (
    LF_15A,
    NSDI_PLACEMENT,
    NSDI_PLACEMENT_FATAL,
    StatedGoodput,
)
from ops.report.plots import single_plot_page
from shared.models.availability.fabric_availability import STRANDS_BY_KIND, fabric_availability, fabric_ocs
from shared.models.availability.promised_goodput import (
    GoodputPoint,
)
from shared.models.availability.slice_placement import PlacementProbability

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
PAPER_MARK = {"symbol": "circle-open", "size": 13, "line": {"width": 2}, "color": "black"}
"""Marker of points that a paper states."""
NINES = [0.99 + 0.0001 * step for step in range(100)]
"""Availability values of one OCS along the axis of [LF] Figure 15a."""


def goodput_chart(points: list[GoodputPoint], paper: tuple[StatedGoodput, ...], title: str) -> Any:
    """Goodput against slice size, with a curve per host availability and fabric, and the points of a paper
    for these curves."""
    figure = graph_objects.Figure()
    hosts = sorted({point.host_availability for point in points})
    for fabric in dict.fromkeys(point.fabric for point in points):
        for host in hosts:
            curve = [p for p in points if (p.fabric, p.host_availability) == (fabric, host)]
            figure.add_scatter(
                x=[point.slice_chips for point in curve],
                y=[point.goodput for point in curve],
                name=f"{fabric}, hosts {100 * host:g} %",
                mode="lines+markers",
                line={
                    "color": COLOURS[hosts.index(host) % len(COLOURS)],
                    "dash": "dash" if fabric == "static" else "solid",
                },
                customdata=[[p.slices, p.probability, p.held_back_cubes] for p in curve],
                hovertemplate="%{x:,} chips: %{customdata[0]} slices, goodput %{y:.1%}<br>"
                "with probability %{customdata[1]:.4f}, %{customdata[2]} cubes held back",
            )
    curves = {(point.host_availability, point.fabric) for point in points}
    stated = {(chips, share) for host, fabric, chips, share in paper if (host, fabric) in curves}
    _points(figure, tuple(sorted(stated)))
    figure.update_layout(title=title)
    figure.update_xaxes(title="slice (chips)", type="log", tickvals=[64 << n for n in range(7)])
    figure.update_yaxes(title="goodput", tickformat=".0%", range=[-0.03, 1.03])
    return figure


def fabric_chart() -> Any:
    """Fabric availability against OCS availability, with a curve per kind of module ([LF] Figure 15a)."""
    figure = graph_objects.Figure()
    for kind, colour in zip(STRANDS_BY_KIND, COLOURS, strict=False):
        ocs = fabric_ocs(kind)
        figure.add_scatter(
            x=NINES,
            y=[fabric_availability(one, ocs) for one in NINES],
            name=f"{kind}: {ocs} OCSes",
            mode="lines",
            line={"color": colour},
        )
    _points(figure, LF_15A)
    figure.update_layout(title="Fabric availability ([LF] Figure 15a)")
    figure.update_xaxes(title="availability of one OCS", tickformat=".2%")
    figure.update_yaxes(title="availability of the fabric", tickformat=".0%")
    return figure


def placement_chart(curve: list[PlacementProbability], title: str, *, paper: bool) -> Any:
    """Probability that a slice of k cubes can be placed, with and without routing around OCS faults."""
    figure = graph_objects.Figure()
    cubes = [point.slice_cubes for point in curve]
    routed = [point.with_fault_routing for point in curve]
    fatal = [point.without_fault_routing for point in curve]
    figure.add_scatter(x=cubes, y=routed, name="routing around OCS faults", mode="lines")
    figure.add_scatter(x=cubes, y=fatal, name="any OCS fault is fatal", mode="lines")
    if paper:
        _points(figure, NSDI_PLACEMENT + NSDI_PLACEMENT_FATAL)
    figure.update_layout(title=title)
    figure.update_xaxes(title="slice (cubes)")
    figure.update_yaxes(title="probability that it can be placed", tickformat=".0%", range=[-0.03, 1.03])
    return figure


def _points(figure: Any, points: tuple[tuple[float, float], ...]) -> None:
    """Draw the points that a paper states."""
    if points:
        x, y = zip(*points, strict=True)
        figure.add_scatter(x=x, y=y, name="stated in the papers", mode="markers", marker=PAPER_MARK)


def chart_page(figure: Any) -> str:
    """A whole HTML page with this figure, which needs no network."""
    figure.update_layout(height=640)
    return single_plot_page(str(figure.layout.title.text), figure)
