"""Mirrors that find no place any more, whatever they are to be joined to.

The drivers hold such a mirror where it is, so that a circuit over it stands until it is switched. From then
on every one fails to be aligned, and is tried again as any other that does. That the mirror is broken the OCS
has to see (`misses`): then it gives it up, and its fibre is moved to a spare port.
"""

from schemas.failures import FaultBegan, FaultEnded
from services.ocs.ports import lose_mirror, port_of, return_port
from services.ocs.state import OcsState
from services.ocs.switch import Port
from shared.engine.service import CausedBy, Output
from shared.models.ocs.patches import place_of, port_at


def go_astray(state: OcsState, body: FaultBegan) -> list[Output]:
    """Nobody sees it before it is to turn."""
    port = port_of(body.target)
    state.strays[body.fault] = place_of(port.side, port.ocs, port.number)
    return []


def come_back(state: OcsState, body: FaultEnded, cause: str) -> list[Output]:
    """It finds its places, or its fibre was moved. One that was given up is in use again, unless it is dead
    for good by then."""
    mirror = state.strays.pop(body.fault)
    if mirror in state.strays.values():
        return []
    state.mirror_misses.pop(mirror, None)
    if state.given_up.pop(mirror, None) is None:
        return []
    return return_port(state, body.target, cause)


def give_up(state: OcsState) -> list[Output]:
    """Mirrors that have missed too often now are held for dead."""
    said: list[Output] = []
    for mirror, cause in sorted(state.suspects.items()):
        misses = state.mirror_misses.pop(mirror)
        if mirror in state.given_up:
            continue
        state.given_up[mirror] = misses
        side, ocs, port = port_at(mirror)
        said += [
            CausedBy(cause, body)
            for body in lose_mirror(state, Port(ocs, side, port), reason_of(misses))
            if not isinstance(body, CausedBy)
        ]
    state.suspects.clear()
    return said


def reason_of(misses: int) -> str:
    """Why a mirror was given up."""
    return f"given up: its mirror missed its place {misses} times in a row, and others of its array did not"
