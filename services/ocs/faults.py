"""Which fault strikes what of an OCS: its parts and ports, or what it stands in and hangs on in a network."""

from typing import Literal

from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded
from schemas.names import number_of
from schemas.ocs import ControlLost, ControlRegained, OcsesDown, OcsesUp
from services.ocs.chassis import breaks, darken, lighten, mends
from services.ocs.drifts import drift, settle
from services.ocs.parts import lose_part, return_part
from services.ocs.ports import lose_port, return_port
from services.ocs.state import OcsState
from services.ocs.strays import come_back, go_astray
from services.ocs.watching import watch
from shared.engine.service import Output
from shared.models.network.blocks import network_of
from shared.models.network.parts import ocses_of
from shared.models.ocs.parts import PART


def on_fault_began(state: OcsState, body: FaultBegan, message: Envelope) -> list[Output]:
    said = _begin(state, body, message)
    return said + watch(state) if state.drifts else said


def on_fault_ended(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    said = _end(state, body, message)
    return said + watch(state) if state.drifts or state.off else said


def _begin(state: OcsState, body: FaultBegan, message: Envelope) -> list[Output]:
    match body.kind:
        case "port":
            return lose_port(state, body.target)
        case "stray":
            return go_astray(state, body)
        case "rack" | "power":
            return _lose_housing(state, body.kind, body.target)
        case "control":
            return _lose_control(state, body.target)
        case "mirror" | "shake":
            return drift(state, body, message.id)
        case _:
            return lose_part(state, body.target) if body.kind in PART else []


def _end(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    match body.kind:
        case "port":
            return return_port(state, body.target, message.id)
        case "stray":
            return come_back(state, body, message.id)
        case "rack" | "power":
            return _return_housing(state, body.kind, body.target, message.id)
        case "control":
            return _regain_control(state, body.target)
        case "mirror" | "shake":
            return settle(state, body)
        case _:
            return return_part(state, body.target, message.id) if body.kind in PART else []


def _lose_housing(state: OcsState, kind: Literal["rack", "power"], target: str) -> list[Output]:
    if not breaks(state, target):
        return []
    ocses = _hold_power(state, kind, target, +1)
    state.housing_faults[list(ocses)] += 1
    darken(state, ocses)
    return [OcsesDown(part=target, kind=kind, ocses=ocses)]


def _return_housing(state: OcsState, kind: Literal["rack", "power"], target: str, cause: str) -> list[Output]:
    if not mends(state, target):
        return []
    ocses = _hold_power(state, kind, target, -1)
    state.housing_faults[list(ocses)] -= 1
    lighten(state, ocses, cause)
    return [OcsesUp(part=target, kind=kind, ocses=ocses)]


def _lose_control(state: OcsState, target: str) -> list[Output]:
    if not breaks(state, target):
        return []
    state.control_faults[list(_ocses(state, "control", target))] += 1
    return [ControlLost(part=target)]


def _regain_control(state: OcsState, target: str) -> list[Output]:
    if not mends(state, target):
        return []
    state.control_faults[list(_ocses(state, "control", target))] -= 1
    return [ControlRegained(part=target)]


def _hold_power(state: OcsState, kind: str, target: str, change: int) -> tuple[int, ...]:
    """The OCSes that go dark with a rack or a power domain. Those that latch keep their circuits without
    power: none goes dark, but none can be changed."""
    ocses = _ocses(state, kind, target)
    if kind == "power" and state.latches:
        state.control_faults[list(ocses)] += change
        return ()
    return tuple(ocses)


def _ocses(state: OcsState, kind: str, target: str) -> range:
    assert state.network is not None  # noqa: S101 -- only a network has such parts
    return ocses_of(network_of(state.network), kind, number_of(target))
