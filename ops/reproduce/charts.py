"""The figures of the page: each drawn from the functions that its claims are computed with."""

from typing import Any

from plotly import graph_objects

from ops.models.availability.draw import (
    LF_15B,
    PAPER_MARK,
    T4_4,
    fabric_chart,
    goodput_chart,
    placement_chart,
)
from ops.models.optics.specification import specification_chart
from ops.reproduce.availability import FITTED_CUBE_AVAILABILITY, OCS_AVAILABILITY, fitted_ocs_availability
from ops.reproduce.light_charts import ber_chart, pairings_chart
from ops.reproduce.topology import CUBES, MEASURED_GAIN, twisted_gain
from shared.models.availability import goodput_figure, placement_curve
from shared.models.superpod.shapes import is_twistable, legal_shapes, shape_text


def charts() -> list[Any]:
    """All figures, in the order of the papers' sections."""
    drawn = [
        fabric_chart(),
        goodput_chart(
            goodput_figure(ocs_availability=OCS_AVAILABILITY),
            LF_15B,
            "Goodput with OCSes of 99.9 % counted ([LF] Figure 15b)",
        ),
        goodput_chart(goodput_figure(), T4_4, "Goodput ([T4] Figure 4)"),
        placement_chart(
            placement_curve(FITTED_CUBE_AVAILABILITY, fitted_ocs_availability()),
            "Slices that can be placed (NSDI 2024)",
            paper=True,
        ),
        twist_chart(),
        ber_chart(),
        pairings_chart(),
        specification_chart(),
    ]
    for chart in drawn:
        chart.update_layout(template="plotly_white")
    return drawn


def twist_chart() -> Any:
    """All-to-all gain of twisted tori: the ideal bound, and what [T4] Figure 6 measured."""
    shapes = [shape for shape in legal_shapes(CUBES) if is_twistable(shape)]
    labels = [shape_text(shape) for shape in shapes]
    figure = graph_objects.Figure()
    figure.add_bar(x=labels, y=[twisted_gain(shape) for shape in shapes], name="ideal routing", width=0.5)
    figure.add_scatter(
        x=[shape_text(shape) for shape, _ in MEASURED_GAIN],
        y=[gain for _, gain in MEASURED_GAIN],
        name="measured by the paper",
        mode="markers",
        marker=PAPER_MARK,
    )
    figure.update_layout(title="All-to-all of the twisted over the regular torus ([T4] Figure 6)")
    figure.update_xaxes(title="slice (chips)", type="category")
    figure.update_yaxes(title="gain (×)", rangemode="tozero")
    return figure
