"""Link tests: the OCS sends a module its own light back.

The two strands of a module enter an OCS at the North and South side of one duplex port, so the OCS can loop
them ([LF] 3.1). A test starts and finishes at the time of the request. It occupies no port, so circuits
commanded later find the ports free.
"""

from schemas.envelope import Envelope
from schemas.messages.diagnosis import TestWanted
from schemas.messages.ocs import LinkLooped, LinkTestRefused
from schemas.messages.operator import TestLink
from services.ocs.state import MANUAL, NO_OWNER, OcsState
from services.ocs.stray_mirrors import is_stray
from services.ocs.switch import Port, north_of
from shared.basics.errors import InvalidInput
from shared.engine.service import Output
from shared.models.network.wiring import NO_PORT
from shared.models.ocs.camera_alignment import REASONS, UNSTEADY
from shared.models.ocs.patched_fibres import SIDES
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import STRANDS, LinkEnd, link_end


def on_test_link(state: OcsState, body: TestLink | TestWanted, _message: Envelope) -> list[Output]:
    """Loop a dark link end, or refuse the test."""
    try:
        end = _end_of(state, body.end)
    except InvalidInput as error:
        return [LinkTestRefused(end=body.end, reason=str(error))]
    return [make_loopback(state, end, body.end)]


def make_loopback(state: OcsState, end: LinkEnd, name: str) -> LinkLooped | LinkTestRefused:
    """Loop the end's own North port to its own South port, or refuse the test."""
    reason = _test_refusal(state, end)
    if reason is not None:
        return LinkTestRefused(end=name, reason=reason)
    return LinkLooped(end=end.number, ocs=end.ocs, north=end.port, south=end.port)


def _end_of(state: OcsState, name: str) -> LinkEnd:
    if state.network is not None:
        raise InvalidInput(
            f"end: {name!r} is not allowed; must be a link end of a superpod, not of a network"
        )
    part = superpod_plant(state.ports_wired // STRANDS).parse(name)
    if part.kind != "end" or part.fabric != state.fabric:
        raise InvalidInput(
            f"end: {name!r} is not a link end of {state.fabric}; a name is like {state.fabric}/cube-12/+y/7"
        )
    return link_end(part.number)


def _test_refusal(state: OcsState, end: LinkEnd) -> str | None:
    ocs, name = end.ocs, f"{state.fabric}/ocs-{end.ocs}"
    for side, label in enumerate(SIDES):
        north = north_of(state, Port(ocs, side, end.port))
        if north != NO_PORT:
            whose = _owner_text(state, int(state.owner[ocs, north]))
            hint = "must be an end without a circuit: drain the cube or release the slice"
            return f"in use: the circuit at {label}{end.port} of {name} {whose}; {hint}"
    if state.chassis_faults[ocs]:
        return f"{name} is down"
    if state.held[ocs]:
        return f"{name} is held and makes no new circuits"
    for side, label in enumerate(SIDES):
        if state.port_faults[side, ocs, end.port]:
            return f"{label}{end.port} of {name} is down"
        if is_stray(state, ocs, side, end.port):
            return f"{label}{end.port} of {name}: {REASONS[UNSTEADY]}"
    return None


def _owner_text(state: OcsState, owner: int) -> str:
    if owner == MANUAL:
        return "is a manual cross-connect"
    return "is kept for reuse" if owner == NO_OWNER else f"belongs to {state.fabric}/slice-{owner}"
