"""The page of `lightwave link curve`: bit error rate against received power, with and without interference
mitigation and soft FEC, as in [LF] Figures 11 and 12."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ops.report.plots import single_plot_page
from shared.basics.checks import check_range
from shared.basics.errors import InvalidInput
from shared.models.optics.module_kinds import lane_rate
from shared.models.optics.receiver import BER_THRESHOLD, Receiver
from shared.models.optics.sensitivity import MPI_DB, RECEIVED_DBM, floor_ber, sensitivity_dbm

COLOURS = ("#27629b", "#b4453c", "#3d8b53", "#8a5a9e", "#c07f1f", "#4f4f4f")
PANELS = (
    ("Interference mitigation ([LF] Figure 11)", "mitigation"),
    ("Soft FEC ([LF] Figure 12)", "soft FEC"),
    ("Both", "both"),
)
"""(title, the receiver aid of the dashed curves); the solid curves have none."""
AIDS = {
    "neither": (False, False),
    "mitigation": (True, False),
    "soft FEC": (False, True),
    "both": (True, True),
}
"""Receiver aids: name → (mitigation, soft FEC)."""
STEP_DB = 0.1
LOG10_BER_DRAWN = (-12.0, -0.5)
BEFORE_DB, AFTER_DB = 4.0, 5.0
"""Margin of the drawing below and above the powers where curves meet the threshold."""


@dataclass(frozen=True, slots=True)
class BerCurve:
    """One receiver at one MPI. `sensitivity_dbm` is None if no power is enough."""

    mpi_db: float
    aid: str
    received_dbm: tuple[float, ...]
    log10_ber: tuple[float, ...]
    sensitivity_dbm: float | None
    floor_ber: float


def ber_curves(rate: str, mpis_db: tuple[float, ...]) -> list[BerCurve]:
    """A curve per MPI and receiver aid. Raises InvalidInput for an unknown rate or an MPI out of range."""
    received_dbm = np.arange(RECEIVED_DBM[0], RECEIVED_DBM[1] + 0.5 * STEP_DB, STEP_DB)
    found = []
    for mpi_db in mpis_db:
        check_range("mpi-db", mpi_db, *MPI_DB, "dB")
        for aid, (mitigation, soft_fec) in AIDS.items():
            receiver = Receiver(lane_rate(rate), mitigation, soft_fec)
            log10_ber = receiver.log10_ber(received_dbm, np.asarray(mpi_db))
            try:
                needs = sensitivity_dbm(rate, mpi_db, mitigation=mitigation, soft_fec=soft_fec)
            except InvalidInput:
                needs = None
            drawn = tuple(np.round(received_dbm, 3).tolist()), tuple(np.round(log10_ber, 4).tolist())
            found.append(BerCurve(mpi_db, aid, *drawn, needs, floor_ber(receiver, mpi_db)))
    return found


def gain_sentences(found: list[BerCurve]) -> list[str]:
    """A sentence per MPI: the power that each aid saves, relative to a receiver without aids."""
    sentences = []
    for mpi_db in dict.fromkeys(curve.mpi_db for curve in found):
        at = {curve.aid: curve for curve in found if curve.mpi_db == mpi_db}
        plain = at["neither"].sensitivity_dbm
        without_text = "no light is enough" if plain is None else f"{plain:.2f} dBm"
        parts = [f"MPI {mpi_db:g} dB, BER {BER_THRESHOLD:g}: {without_text} without either"]
        parts += [_gain(at[aid], plain) for aid in AIDS if aid != "neither"]
        sentences.append("; ".join(parts))
    return sentences


def _gain(curve: BerCurve, plain_dbm: float | None) -> str:
    if curve.sensitivity_dbm is None:
        return f"{curve.aid}: never, a floor of {curve.floor_ber:.1g} stays"
    if plain_dbm is None:
        return f"{curve.aid}: {curve.sensitivity_dbm:.2f} dBm"
    verb = "gain" if curve.aid == "both" else "gains"
    return f"{curve.aid} {verb} {plain_dbm - curve.sensitivity_dbm:.2f} dB"


def curve_page(rate: str, found: list[BerCurve]) -> str:
    """A self-contained HTML page."""
    figure = make_subplots(
        rows=1,
        cols=len(PANELS),
        shared_yaxes=True,
        horizontal_spacing=0.025,
        subplot_titles=[title for title, _ in PANELS],
    )
    colours = dict(
        zip(dict.fromkeys(curve.mpi_db for curve in found), itertools.cycle(COLOURS), strict=False)
    )
    for column, (_, aid) in enumerate(PANELS, start=1):
        for curve in found:
            if curve.aid in ("neither", aid):
                _draw(figure, curve, column, colours[curve.mpi_db])
        figure.add_hline(
            y=BER_THRESHOLD, line={"dash": "dot", "color": "#222222", "width": 1}, row=1, col=column
        )
    figure.add_annotation(
        text=f"KP4: {BER_THRESHOLD:g}",
        x=0.01,
        xref="x domain",
        xanchor="left",
        y=math.log10(BER_THRESHOLD),  # annotations on a logarithmic axis use the exponent
        yref="y",
        yanchor="top",
        showarrow=False,
    )
    _axes(figure, [curve.sensitivity_dbm for curve in found if curve.sensitivity_dbm is not None])
    figure.update_layout(
        title={
            "text": f"{rate}<br><sup>{'<br>'.join(gain_sentences(found))}</sup>",
            "yref": "container",
            "y": 0.96,
        },
        font={"family": "Helvetica, Arial, sans-serif", "size": 13},
        legend={"orientation": "h", "y": -0.16},
        margin={"t": 88 + 24 * len(colours), "b": 110},
        height=580 + 24 * len(colours),
    )
    return single_plot_page(f"Bit error rate of {rate} lanes", figure)


def _axes(figure: go.Figure, met_dbm: list[float]) -> None:
    """Show the powers around `met_dbm`, where curves meet the threshold; if none does, the whole range."""
    least, most = RECEIVED_DBM
    if met_dbm:
        least, most = max(min(met_dbm) - BEFORE_DB, least), min(max(met_dbm) + AFTER_DB, most)
    figure.update_xaxes(range=[least, most], title_text="received power of a lane (dBm)")
    figure.update_yaxes(type="log", range=LOG10_BER_DRAWN, exponentformat="power", dtick=1)
    figure.update_yaxes(title_text="bit error rate before KP4", row=1, col=1)


def _draw(figure: go.Figure, curve: BerCurve, column: int, colour: str) -> None:
    """Draw a curve, solid without an aid, and mark its sensitivity."""
    name = f"MPI {curve.mpi_db:g} dB"
    plain = curve.aid == "neither"
    trace = go.Scatter(
        x=curve.received_dbm,
        y=np.power(10.0, np.maximum(curve.log10_ber, 2.0 * LOG10_BER_DRAWN[0])),
        mode="lines",
        name=f"{name}, {'without' if plain else 'with'}",
        legendgroup=f"{name} {plain}",
        showlegend=column == 1,
        line={"color": colour, "dash": "solid" if plain else "dash", "simplify": False},
        hovertemplate=f"{name}, {curve.aid}<br>%{{x:.1f}} dBm: %{{y:.2e}}<extra></extra>",
    )
    figure.add_trace(trace, row=1, col=column)
    if curve.sensitivity_dbm is not None:
        mark = go.Scatter(
            x=[curve.sensitivity_dbm],
            y=[BER_THRESHOLD],
            mode="markers",
            marker={"color": colour, "size": 8, "symbol": "circle" if plain else "circle-open"},
            legendgroup=f"{name} {plain}",
            showlegend=False,
            hovertemplate=f"{name}, {curve.aid}: %{{x:.2f}} dBm<extra></extra>",
        )
        figure.add_trace(mark, row=1, col=column)
