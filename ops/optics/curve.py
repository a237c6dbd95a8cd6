"""The page of `lightwave link curve`: bit error rate against received power, with and without interference
mitigation and soft FEC, as [LF] Figures 11 and 12 have it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shared.errors import InvalidInput
from shared.optics.link import check_range
from shared.optics.modules import lane_rate
from shared.optics.receiver import BER_THRESHOLD, Receiver
from shared.optics.sensitivity import MPI_DB, RECEIVED_DBM, floor_ber, sensitivity_dbm

COLOURS = ("#27629b", "#b4453c", "#3d8b53", "#8a5a9e", "#c07f1f", "#4f4f4f")
PANELS = (
    ("Interference mitigation ([LF] Figure 11)", "mitigation", "dash"),
    ("Soft FEC ([LF] Figure 12)", "soft FEC", "dash"),
    ("Both", "both", "dash"),
)
AIDS = {
    "neither": (False, False),
    "mitigation": (True, False),
    "soft FEC": (False, True),
    "both": (True, True),
}
"""What a receiver makes use of: (mitigation, soft FEC)."""
STEP_DB = 0.1
LOG10_BER_DRAWN = (-12.0, -0.5)
BEFORE_DB, AFTER_DB = 4.0, 5.0
"""How far the picture reaches on either side of where the threshold is met."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One receiver at one MPI. `sensitivity_dbm` is None where no light is enough."""

    mpi_db: float
    aid: str
    received_dbm: tuple[float, ...]
    log10_ber: tuple[float, ...]
    sensitivity_dbm: float | None
    floor_ber: float


def curves(rate: str, mpis_db: tuple[float, ...]) -> list[Curve]:
    """With and without each aid, by MPI."""
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
            found.append(Curve(mpi_db, aid, *drawn, needs, floor_ber(receiver, mpi_db)))
    return found


def gains(found: list[Curve]) -> list[str]:
    """A sentence for every MPI: how much less light each aid needs than a receiver without any."""
    sentences = []
    for mpi_db in dict.fromkeys(curve.mpi_db for curve in found):
        at = {curve.aid: curve for curve in found if curve.mpi_db == mpi_db}
        plain = at["neither"].sensitivity_dbm
        said = "no light is enough" if plain is None else f"{plain:.2f} dBm"
        parts = [f"MPI {mpi_db:g} dB, BER {BER_THRESHOLD:g}: {said} without aids"]
        parts += [_gain(at[aid], plain) for aid in AIDS if aid != "neither"]
        sentences.append("; ".join(parts))
    return sentences


def _gain(curve: Curve, plain_dbm: float | None) -> str:
    if curve.sensitivity_dbm is None:
        return f"{curve.aid}: never, a floor of {curve.floor_ber:.1g} stays"
    if plain_dbm is None:
        return f"{curve.aid}: {curve.sensitivity_dbm:.2f} dBm"
    return f"{curve.aid} {plain_dbm - curve.sensitivity_dbm:+.2f} dB"


def page(rate: str, found: list[Curve]) -> str:
    """One HTML page that needs nothing else."""
    figure = make_subplots(
        rows=1,
        cols=len(PANELS),
        shared_yaxes=True,
        horizontal_spacing=0.025,
        subplot_titles=[title for title, _, _ in PANELS],
    )
    colours = dict(zip(dict.fromkeys(curve.mpi_db for curve in found), COLOURS, strict=False))
    for column, (_, aid, dash) in enumerate(PANELS, start=1):
        for curve in found:
            if curve.aid in ("neither", aid):
                colour = colours[curve.mpi_db]
                _draw(figure, curve, column, {"color": colour, "dash": "solid"} | _dash(curve, dash))
        figure.add_hline(
            y=BER_THRESHOLD, line={"dash": "dot", "color": "#222222", "width": 1}, row=1, col=column
        )
    met = [curve.sensitivity_dbm for curve in found if curve.sensitivity_dbm is not None]
    middle = met or [0.0]
    figure.update_xaxes(
        range=[
            max(min(middle) - BEFORE_DB, RECEIVED_DBM[0]),
            min(max(middle) + AFTER_DB, RECEIVED_DBM[1]),
        ],
        title_text="received power of a lane (dBm)",
    )
    figure.update_yaxes(type="log", range=LOG10_BER_DRAWN, exponentformat="power", dtick=1)
    figure.update_yaxes(title_text="bit error rate before KP4", row=1, col=1)
    figure.update_layout(
        title={"text": f"{rate}<br><sup>{'<br>'.join(gains(found))}</sup>"},
        template="plotly_white",
        font={"family": "Helvetica, Arial, sans-serif", "size": 13},
        legend={"orientation": "h", "y": -0.16},
        margin={"t": 110 + 18 * len(colours)},
        height=660,
    )
    text: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return text


def _dash(curve: Curve, dash: str) -> dict[str, str]:
    return {} if curve.aid == "neither" else {"dash": dash}


def _draw(figure: go.Figure, curve: Curve, column: int, line: dict[str, Any]) -> None:
    """The curve, and where it meets the threshold."""
    name = f"MPI {curve.mpi_db:g} dB, {curve.aid}"
    rates = np.power(10.0, np.maximum(curve.log10_ber, 2.0 * LOG10_BER_DRAWN[0]))
    trace = go.Scatter(
        x=curve.received_dbm,
        y=rates,
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=curve.aid != "neither" or column == 1,
        line=line,
        hovertemplate=f"{name}<br>%{{x:.1f}} dBm: %{{y:.2e}}<extra></extra>",
    )
    figure.add_trace(trace, row=1, col=column)
    if curve.sensitivity_dbm is not None:
        mark = go.Scatter(
            x=[curve.sensitivity_dbm],
            y=[BER_THRESHOLD],
            mode="markers",
            marker={"color": line["color"], "size": 8},
            showlegend=False,
            hovertemplate=f"{name}<br>%{{x:.2f}} dBm<extra></extra>",
        )
        figure.add_trace(mark, row=1, col=column)
