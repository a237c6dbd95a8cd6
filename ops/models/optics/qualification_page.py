"""The page of a pod qualification, after [LF] Figure 13, with a count of every pairing."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ops.models.optics.qualification_report import QualificationReport
from ops.report.plots import single_plot_page
from shared.models.optics.qualification import Qualification, SingleArray

LOG10_BER_MIN = -20.0
"""Lower bit error rates are drawn here: they mean less than one error per year on any lane."""
BIN_DECADES = 0.1
WORST, MEDIAN, BEST = "#b4453c", "#27629b", "#8fb8d9"


def qualification_page(result: Qualification, report: QualificationReport) -> str:
    """A self-contained HTML page: the bit error rate of every link end, and the histogram of all pairings."""
    drawn = np.maximum(result.log10_ber, LOG10_BER_MIN)
    figure = make_subplots(
        rows=1,
        cols=2,
        column_widths=[0.68, 0.32],
        shared_yaxes=True,
        horizontal_spacing=0.03,
        subplot_titles=["Each link end over its partners", "All pairings"],
    )
    _ends(figure, drawn)
    _histogram(figure, drawn)
    threshold = result.threshold_log10
    for column in (1, 2):
        figure.add_hline(
            y=threshold, line={"dash": "dash", "color": "#222222", "width": 1}, row=1, col=column
        )
    figure.add_annotation(
        x=1.0,
        xref="x2 domain",
        y=threshold,
        text=f"KP4 threshold {result.threshold_ber:g}",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        row=1,
        col=2,
    )
    lowest, highest = min(float(drawn.min()), threshold - 5.0), max(float(drawn.max()), threshold)
    ticks = list(range(int(np.floor(lowest)), int(np.ceil(highest)) + 1, 1 if highest - lowest < 10.0 else 2))
    figure.update_yaxes(
        range=[lowest - 0.3, highest + 0.7],
        tickvals=ticks,
        ticktext=[f"10<sup>{tick}</sup>" for tick in ticks],
    )
    figure.update_yaxes(title_text="bit error rate of the worst lane, before KP4", row=1, col=1)
    figure.update_xaxes(title_text="link end (96 × cube + 16 × face + index)", row=1, col=1)
    figure.update_xaxes(title_text="pairings", row=1, col=2)
    figure.update_layout(
        title={"text": _title(report)},
        font={"family": "Helvetica, Arial, sans-serif", "size": 13},
        legend={"orientation": "h", "y": -0.14, "itemsizing": "constant"},
        margin={"t": 110},
        height=640,
    )
    return single_plot_page(f"Qualification of {report.fabric}", figure)


def _ends(figure: go.Figure, drawn: SingleArray) -> None:
    """Draw the worst, median and best partner of every end. The paper draws one value per end, from a sample
    over days."""
    number = np.arange(len(drawn))
    for name, colour, values in (
        ("best partner", BEST, drawn.min(axis=1)),
        ("median partner", MEDIAN, np.median(drawn, axis=1)),
        ("worst partner", WORST, drawn.max(axis=1)),
    ):
        trace = go.Scattergl(
            x=number, y=np.round(values, 3), mode="markers", name=name, marker={"size": 2.5, "color": colour}
        )
        figure.add_trace(trace, row=1, col=1)


def _histogram(figure: go.Figure, drawn: SingleArray) -> None:
    edges = np.arange(LOG10_BER_MIN, BIN_DECADES, BIN_DECADES)
    counts, edges = np.histogram(drawn, edges)
    filled = np.flatnonzero(counts)
    span = slice(filled[0], filled[-1] + 1)
    bars = go.Bar(
        x=counts[span],
        y=(edges[:-1] + BIN_DECADES / 2)[span],
        width=BIN_DECADES,
        orientation="h",
        marker={"color": MEDIAN, "line": {"width": 0}},
        showlegend=False,
        hovertemplate="10^%{y:.2f}: %{x:,} pairings<extra></extra>",
    )
    figure.add_trace(bars, row=1, col=2)


def _title(report: QualificationReport) -> str:
    verdict = "qualified" if report.qualified else "NOT qualified"
    without = ["mitigation"] * (not report.mitigation) + ["soft FEC"] * (not report.soft_fec)
    how = f" without {' and '.join(without)}" if without else " with mitigation and soft FEC"
    if report.return_loss_db is not None:
        how += f", OCS ports reflecting {report.return_loss_db:g} dB"
    above = f"{report.ends_above:,} of {report.ends:,} link ends above the threshold"
    margin = f"median margin {report.median_margin_orders:.1f} orders of magnitude"
    counts = f"{report.pairings:,} pairings; {above}; {margin}"
    return f"{report.fabric}, seed {report.seed}: {verdict}{how}<br><sup>{counts}</sup>"
