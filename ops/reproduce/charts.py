"""The figures of the page: each drawn from the functions that its claims are computed with."""

from typing import Any

from ops.availability.draw import (
    LF_15B,
    T4_4,
    fabric_chart,
    goodput_chart,
    placement_chart,
)
from ops.reproduce.availability import FITTED_CUBE_AVAILABILITY, OCS_AVAILABILITY, fitted_ocs_availability
from shared.availability import goodput_figure, placement_curve


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
    ]
    for chart in drawn:
        chart.update_layout(template="plotly_white")
    return drawn
