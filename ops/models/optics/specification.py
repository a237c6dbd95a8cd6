"""Why an OCS of bidirectional links is specified by what it reflects ([LF] 4.1.1): the bit error rate of a
pod's median and worst pair of ports, were every port to reflect so much."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from plotly import graph_objects

from shared.models.optics.fabric_links import worst_lane_log10_ber
from shared.models.optics.link import LinkDesign, Switched
from shared.models.optics.palomar import RETURN_LOSS_SPECIFIED_DB, RETURN_LOSS_TYPICAL_DB, manufactured_ocses
from shared.models.optics.receiver import BER_THRESHOLD

SEED, FABRIC = 0, "pod-0"
RETURN_LOSSES_DB = np.linspace(-56.0, -24.0, 129)
DESIGNS = {
    "with mitigation and soft FEC": (LinkDesign(), "#27629b", "solid"),
    "with neither": (LinkDesign(mitigation=False, soft_fec=False), "#b4453c", "dash"),
}
"""By name: (link, colour, line)."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One pair of ports with and without the aids: log10 of the worst lane's bit error rate before the outer
    code, over `RETURN_LOSSES_DB`."""

    pair: str
    aids: str
    insertion_loss_db: float
    log10_ber: tuple[float, ...]


def sweeps() -> list[Sweep]:
    """The median and the worst of all pairs of ports of a pod as manufactured from a seed."""
    losses_db = manufactured_ocses(SEED, FABRIC).insertion_loss_db()
    found = []
    for pair, loss_db in (("median", float(np.median(losses_db))), ("worst", float(losses_db.max()))):
        ocs = Switched(np.full_like(RETURN_LOSSES_DB, loss_db), RETURN_LOSSES_DB, RETURN_LOSSES_DB)
        for aids, (design, _, _) in DESIGNS.items():
            log10_ber = worst_lane_log10_ber(design, ocs)
            found.append(Sweep(pair, aids, loss_db, tuple(np.round(log10_ber, 4).tolist())))
    return found


def specification_chart() -> Any:
    """Where each curve crosses the threshold is the return loss that such links need."""
    figure = graph_objects.Figure()
    for sweep in sweeps():
        _, colour, dash = DESIGNS[sweep.aids]
        figure.add_scatter(
            x=RETURN_LOSSES_DB,
            y=sweep.log10_ber,
            name=f"{sweep.pair} pair of ports ({sweep.insertion_loss_db:.2f} dB), {sweep.aids}",
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2.5 if sweep.pair == "worst" else 1.2},
        )
    line = {"dash": "dot", "color": "black", "width": 1}
    threshold = float(np.log10(BER_THRESHOLD))
    figure.add_hline(
        y=threshold, line=line, annotation_text=f"KP4 {BER_THRESHOLD:g}", annotation_position="top left"
    )
    for at_db, words in ((RETURN_LOSS_TYPICAL_DB, "typical"), (RETURN_LOSS_SPECIFIED_DB, "specified")):
        figure.add_vline(x=at_db, line=line, annotation_text=words, annotation_position="bottom right")
    figure.update_layout(
        title="Why return loss is specified ([LF] 4.1.1)", legend={"orientation": "h", "y": -0.2}
    )
    figure.update_xaxes(title="every port of the OCS reflects (dB)")
    figure.update_yaxes(title="log10 of the bit error rate of the worst lane before KP4")
    return figure
