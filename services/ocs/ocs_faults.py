"""Applies faults to OCSes: to parts and ports, and to the racks and domains of a network."""

from typing import Literal

from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import ControlLost, ControlRegained, OcsesDown, OcsesUp
from schemas.names import number_of
from services.ocs.chassis import add_fault, darken, fail_part, lighten, recover_part, remove_fault
from services.ocs.mirror_faults import (
    end_drift,
    end_stray,
    report_misaligned_mirrors,
    start_drift,
    start_stray,
)
from services.ocs.ports import fail_port, recover_port
from services.ocs.state import OcsState
from shared.engine.service import Output
from shared.models.network.blocks import network_of
from shared.models.network.network_plant import ocses_of
from shared.models.ocs.parts import PART


def on_fault_began(state: OcsState, body: FaultBegan, message: Envelope) -> list[Output]:
    emitted = _apply_fault(state, body, message)
    return emitted + report_misaligned_mirrors(state) if state.mirror_drifts else emitted


def on_fault_ended(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    emitted = _clear_fault(state, body, message)
    return (
        emitted + report_misaligned_mirrors(state)
        if state.mirror_drifts or state.misaligned_mirrors
        else emitted
    )


def _apply_fault(state: OcsState, body: FaultBegan, message: Envelope) -> list[Output]:
    match body.kind:
        case "port":
            return fail_port(state, body.target)
        case "stray":
            return start_stray(state, body)
        case "rack" | "power":
            return _fail_housing(state, body.kind, body.target)
        case "control":
            return _lose_control(state, body.target)
        case "mirror" | "shake":
            return start_drift(state, body, message.id)
        case _:
            return fail_part(state, body.target) if body.kind in PART else []


def _clear_fault(state: OcsState, body: FaultEnded, message: Envelope) -> list[Output]:
    match body.kind:
        case "port":
            return recover_port(state, body.target, message.id)
        case "stray":
            return end_stray(state, body, message.id)
        case "rack" | "power":
            return _recover_housing(state, body.kind, body.target, message.id)
        case "control":
            return _regain_control(state, body.target)
        case "mirror" | "shake":
            return end_drift(state, body)
        case _:
            return recover_part(state, body.target, message.id) if body.kind in PART else []


def _fail_housing(state: OcsState, kind: Literal["rack", "power"], target: str) -> list[Output]:
    if not add_fault(state, target):
        return []
    ocses = _change_power(state, kind, target, +1)
    state.housing_faults[list(ocses)] += 1
    darken(state, ocses)
    return [OcsesDown(part=target, kind=kind, ocses=ocses)]


def _recover_housing(
    state: OcsState, kind: Literal["rack", "power"], target: str, cause: str
) -> list[Output]:
    if not remove_fault(state, target):
        return []
    ocses = _change_power(state, kind, target, -1)
    state.housing_faults[list(ocses)] -= 1
    lighten(state, ocses, cause)
    return [OcsesUp(part=target, kind=kind, ocses=ocses)]


def _lose_control(state: OcsState, target: str) -> list[Output]:
    if not add_fault(state, target):
        return []
    state.control_faults[list(_ocses(state, "control", target))] += 1
    return [ControlLost(part=target)]


def _regain_control(state: OcsState, target: str) -> list[Output]:
    if not remove_fault(state, target):
        return []
    state.control_faults[list(_ocses(state, "control", target))] -= 1
    return [ControlRegained(part=target)]


def _change_power(state: OcsState, kind: str, target: str, change: int) -> tuple[int, ...]:
    """The OCSes that go dark with a rack or a power domain.

    OCSes that latch keep their circuits without power: none goes dark, but none can be changed.
    """
    ocses = _ocses(state, kind, target)
    if kind == "power" and state.latches:
        state.control_faults[list(ocses)] += change
        return ()
    return tuple(ocses)


def _ocses(state: OcsState, kind: str, target: str) -> range:
    assert state.network is not None  # noqa: S101 -- only a network has such parts
    return ocses_of(network_of(state.network), kind, number_of(target))
