"""The checker of circuits finds invalid manual cross-connects, and accepts valid sequences."""

import pytest

from ops.invariants.circuits import CircuitChecker
from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsRestored,
    CrossConnectsDropped,
    CrossConnectsMade,
    CrossConnectsRemoved,
    CrossConnectsTaken,
    OcsHeld,
    OcsPartDown,
)
from schemas.messages.scheduler import ConnectCircuits
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import Join
from tests.support.ocs_model import CONFIG

PAIR = ((4, 0),)
JOINS: tuple[Join, ...] = ((1, 2, 3),)
"""N4 to S7 and N7 to S4 of OCS 17, among others."""
TAKEN = CrossConnectsTaken(ocs=17, circuits=PAIR, refused=(), not_tried=())
MADE = CrossConnectsMade(ocs=17, circuits=PAIR)
REMOVED = CrossConnectsRemoved(ocs=17, circuits=PAIR, refused=(), not_tried=())
DROPPED = CrossConnectsDropped(ocs=17, circuits=PAIR, reason="pod-0/slice-0 needs their ports")
COMMANDED = ConnectCircuits(slice="pod-0/slice-0", joins=JOINS)
CONNECTED = CircuitsConnected(slice="pod-0/slice-0", joins=JOINS, missing_ocs=(), missing_ports=())
FROZEN = (OcsPartDown(part="pod-0/ocs-17/cpu"), OcsHeld(ocs=17))


def problems(*bodies: Body) -> list[str]:
    checker = CircuitChecker()
    findings: list[str] = []
    for seq, body in enumerate((FabricCommissioned(site="pod-0", config=CONFIG), *bodies)):
        message = enclose(body, fabric="pod-0", at_us=0, cause=None, source="test@pod-0", seq=seq)
        findings += checker.see(message)
    return findings


@pytest.mark.parametrize(
    "bodies",
    [
        (TAKEN, MADE, REMOVED, TAKEN, MADE),
        (TAKEN, COMMANDED, DROPPED, CONNECTED),
        (TAKEN, MADE, COMMANDED, DROPPED, CONNECTED),
        (TAKEN, *FROZEN, COMMANDED, DROPPED),
    ],
)
def test_allowed_sequences_are_accepted(bodies: tuple[Body, ...]) -> None:
    assert problems(*bodies) == []


@pytest.mark.parametrize(
    ("bodies", "sentence"),
    [
        ((TAKEN, TAKEN), "takes a port that is in use"),
        ((COMMANDED, TAKEN), "takes a port that is in use"),
        ((MADE,), "was never requested"),
        ((REMOVED,), "was never requested"),
        ((TAKEN, DROPPED, DROPPED), "was never requested"),
        ((TAKEN, MADE, MADE), "restores N4 to S0, but one of the ports has a circuit"),
        ((TAKEN, *FROZEN, MADE), "makes N4 to S0, but its control is lost"),
        ((TAKEN, MADE, *FROZEN, REMOVED), "is removed without its controller"),
        ((TAKEN, COMMANDED, CONNECTED), "has a port of OCS 17 that has a manual cross-connect"),
        ((TAKEN, CircuitsRestored(ocs=17, circuits=PAIR)), "restores N4 for a slice"),
    ],
)
def test_forbidden_sequences_are_reported(bodies: tuple[Body, ...], sentence: str) -> None:
    assert any(sentence in problem for problem in problems(*bodies))
