"""The charts of the claims page. Each uses the functions that compute the claims."""

from typing import Any

import numpy as np
from plotly import graph_objects

from ops.models.availability.charts import (
    COLOURS,
    PAPER_MARK,
    fabric_chart,
    goodput_chart,
    placement_chart,
)
from ops.models.availability.stated_figures import LF_15B, T4_4
from ops.models.optics.return_loss_sweep import return_loss_chart
from ops.reproduce.optics.link_budgets import MPI_DB, RATE, needed_dbm, qualified
from ops.reproduce.pods.availability import (
    FITTED_CUBE_AVAILABILITY,
    OCS_AVAILABILITY,
    fitted_ocs_availability,
)
from ops.reproduce.pods.slice_topology import CUBES, MEASURED_GAIN, twisted_gain
from shared.models.availability import goodput_figure, placement_curve
from shared.models.optics.module_kinds import lane_rate
from shared.models.optics.receiver import BER_THRESHOLD, Receiver
from shared.models.superpod.shapes import is_twistable, legal_shapes, shape_text

# Charts of links: [LF] Figures 11 to 13, from the models that compute the claims.

AIDS = (
    ("neither", False, False),
    ("mitigation", True, False),
    ("soft FEC", False, True),
    ("both", True, True),
)
STATED_GAINS_DB = ((1.0, "mitigation: more than 1 dB"), (1.6, "soft FEC: 1.6 dB"))
DRAWN_DBM = np.linspace(-14.0, 0.0, 141)
DRAWN_LOG10_BER = (-10.0, -1.0)
BIN_DECADES = 0.1
THRESHOLD_LOG10 = float(np.log10(BER_THRESHOLD))


def ber_chart() -> Any:
    """Plot bit error rate against received power, with the gains that the paper states for each aid at the
    threshold."""
    figure = graph_objects.Figure()
    for (name, mitigation, soft_fec), colour in zip(AIDS, COLOURS, strict=False):
        receiver = Receiver(lane_rate(RATE), mitigation, soft_fec)
        figure.add_scatter(
            x=DRAWN_DBM,
            y=receiver.log10_ber(DRAWN_DBM, np.asarray(MPI_DB)),
            name=name,
            mode="lines",
            line={"color": colour},
        )
    base_dbm = needed_dbm()
    figure.add_scatter(
        x=[base_dbm - gain for gain, _ in STATED_GAINS_DB],
        y=[THRESHOLD_LOG10] * len(STATED_GAINS_DB),
        text=[label for _, label in STATED_GAINS_DB],
        name="gains stated in the paper",
        mode="markers",
        marker=PAPER_MARK,
    )
    _threshold(figure, "h")
    figure.update_layout(title=f"{RATE} at an MPI of {MPI_DB:g} dB ([LF] Figures 11 and 12)")
    figure.update_xaxes(title="received power of a lane (dBm)")
    figure.update_yaxes(title="log10 of the bit error rate before KP4", range=DRAWN_LOG10_BER)
    return figure


def pairings_chart() -> Any:
    """Plot all pairings of a pod by bit error rate, with and without the aids."""
    figure = graph_objects.Figure()
    for name, aided in (("with mitigation and soft FEC", True), ("with neither", False)):
        log10_ber = np.maximum(qualified(mitigation=aided, soft_fec=aided).log10_ber.ravel(), -20.0)
        numbers = np.floor(log10_ber / BIN_DECADES).astype(np.int64)
        bins, counts = np.unique(numbers, return_counts=True)
        figure.add_bar(x=(bins + 0.5) * BIN_DECADES, y=counts, width=BIN_DECADES, name=name, opacity=0.7)
    _threshold(figure, "v")
    figure.update_layout(
        title="Link ends of a pod with all their partners ([LF] Figure 13)", barmode="overlay"
    )
    figure.update_xaxes(title="log10 of the bit error rate of the worst lane before KP4")
    figure.update_yaxes(title="pairings")
    return figure


def _threshold(figure: Any, way: str) -> None:
    line = {"dash": "dash", "color": "black", "width": 1}
    words = f"KP4 threshold {BER_THRESHOLD:g}"
    if way == "h":
        figure.add_hline(y=THRESHOLD_LOG10, line=line, annotation_text=words)
    else:
        figure.add_vline(x=THRESHOLD_LOG10, line=line, annotation_text=words)


def charts() -> list[Any]:
    """Return all charts, in the order of the papers' sections."""
    return [
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
        return_loss_chart(),
    ]


def twist_chart() -> Any:
    """Plot the all-to-all gain of twisted tori: ideal routing, and the measurements of [T4] Figure 6."""
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
