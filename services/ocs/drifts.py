"""Mirrors that point elsewhere than they are told, one that drifts or all of a chassis that shakes: the light
that this costs is for the optics to tell, what the cameras see of it for the OCS's own readings."""

import numpy as np

from schemas.failures import FaultBegan, FaultEnded
from services.ocs.parts import ocs_of
from services.ocs.ports import port_of
from services.ocs.state import Drift, OcsState
from shared.engine.service import Output
from shared.models.ocs.alignment import FloatArray
from shared.models.optics.impairments import come_share


def drift(state: OcsState, body: FaultBegan, cause: str) -> list[Output]:
    """Circuits stand as they are made: nothing is told of it but what cameras see."""
    ocs, side, port = ocs_of(body.target), None, None
    if body.kind == "mirror":
        ocs, side, port = port_of(body.target)
    state.drifts[body.fault] = Drift(
        ocs, side, port, body.severity or 0.0, state.now_us, body.onset_us, cause
    )
    return []


def settle(state: OcsState, body: FaultEnded) -> list[Output]:
    """It is over, or the mirror was aligned anew."""
    state.drifts.pop(body.fault, None)
    return []


def lost_db(state: OcsState, at_us: int) -> FloatArray:
    """What every mirror loses for it points elsewhere, by where it is, of shape (OCSes, 2, radix)."""
    found = np.zeros((state.ocs_count, 2, state.radix))
    for one in state.drifts.values():
        share = come_share(at_us - one.began_us, one.onset_us)
        side = slice(None) if one.side is None else one.side
        port = slice(None) if one.port is None else one.port
        found[one.ocs, side, port] += share * one.loss_db
    return found
