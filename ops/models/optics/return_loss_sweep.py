"""Why an OCS of bidirectional links has a return loss specification ([LF] 4.1.1): bit error rates of a pod's
median and worst pairing against the return loss of all ports."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from plotly import graph_objects

from shared.models.optics.link_design import LinkDesign
from shared.models.optics.palomar import RETURN_LOSS_SPECIFIED_DB, RETURN_LOSS_TYPICAL_DB
from shared.models.optics.qualification import Conditions, qualify_pod
from shared.models.optics.receiver import BER_THRESHOLD

SEED, CUBES = 0, 16
"""A quarter of a pod takes a few seconds; the worst pairing of a whole pod is worse by a few tenths of an
order of magnitude."""
RETURN_LOSSES_DB = np.arange(-50.0, -27.0, 2.0)
DESIGNS = {
    "with mitigation": (LinkDesign(), "#27629b", "solid"),
    "without": (LinkDesign(mitigation=False), "#b4453c", "dash"),
}
"""By name: (link, colour, line); both with the inner code."""


@dataclass(frozen=True, slots=True)
class ReturnLossSweep:
    """One pairing of a pod with or without mitigation: log10 of the worst lane's bit error rate before the
    outer code, over `RETURN_LOSSES_DB`."""

    pairing: str
    aids: str
    log10_ber: tuple[float, ...]


def return_loss_sweeps(cubes: int = CUBES) -> list[ReturnLossSweep]:
    """The median and the worst of all pairings of a pod as manufactured from a seed."""
    found = []
    for aids, (design, _, _) in DESIGNS.items():
        rates = [
            qualify_pod(Conditions(SEED, cubes=cubes, design=design, return_loss_db=reflects)).log10_ber
            for reflects in RETURN_LOSSES_DB.tolist()
        ]
        found.append(
            ReturnLossSweep("median", aids, tuple(round(float(np.median(rate)), 4) for rate in rates))
        )
        found.append(ReturnLossSweep("worst", aids, tuple(round(float(rate.max()), 4) for rate in rates)))
    return found


def return_loss_chart(cubes: int = CUBES) -> Any:
    """The chart. A curve crosses the threshold at the return loss that its links need."""
    figure = graph_objects.Figure()
    for sweep in return_loss_sweeps(cubes):
        _, colour, dash = DESIGNS[sweep.aids]
        figure.add_scatter(
            x=RETURN_LOSSES_DB,
            y=sweep.log10_ber,
            name=f"{sweep.pairing} pairing, {sweep.aids}",
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2.5 if sweep.pairing == "worst" else 1.2},
        )
    line = {"dash": "dot", "color": "black", "width": 1}
    threshold = float(np.log10(BER_THRESHOLD))
    figure.add_hline(
        y=threshold, line=line, annotation_text=f"KP4 {BER_THRESHOLD:g}", annotation_position="top left"
    )
    for at_db, words in ((RETURN_LOSS_TYPICAL_DB, "typical"), (RETURN_LOSS_SPECIFIED_DB, "specified")):
        figure.add_vline(x=at_db, line=line, annotation_text=words, annotation_position="bottom right")
    figure.update_layout(
        title=f"Why return loss is specified ([LF] 4.1.1): {cubes} cubes",
        legend={"orientation": "h", "y": -0.2},
    )
    figure.update_xaxes(title="every port of the OCS reflects (dB)")
    figure.update_yaxes(title="log10 of the bit error rate of the worst lane before KP4")
    return figure
