"""The rules of the service `repairs`, by message type."""

from schemas.messages.cubes import RepairRequested, RepairWithdrawn
from schemas.messages.diagnosis import VerdictGiven, VerdictWithdrawn
from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import (
    ControlLost,
    ControlRegained,
    OcsesDown,
    OcsesUp,
    OcsPartDown,
    OcsPartUp,
    PortDown,
    PortNotPatched,
    PortPatched,
    PortsDown,
    PortsUp,
    PortUp,
)
from schemas.messages.operator import RekeyDraws
from schemas.messages.sequencer import Tick
from schemas.messages.trunks import NetworkPartDown, NetworkPartUp
from services.repairs import documents, logic
from services.repairs.state import RepairsState, commission
from shared.engine.rekey_draws import on_rekey
from shared.engine.service import Service, on

SERVICE: Service[RepairsState] = Service(
    name="repairs",
    state=RepairsState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(RekeyDraws, on_rekey),
        on(RepairRequested, logic.on_requested),
        on(RepairWithdrawn, logic.on_withdrawn),
        on(ParametersChanged, logic.on_parameters_changed),
        on(VerdictGiven, logic.on_verdict),
        on(VerdictWithdrawn, logic.on_verdict_withdrawn),
        on(OcsPartDown, logic.on_ocs_part_down),
        on(OcsPartUp, logic.on_part_up),
        on(PortsDown, logic.on_ocs_part_down),
        on(PortsUp, logic.on_part_up),
        on(PortDown, logic.on_port_down),
        on(PortUp, logic.on_port_up),
        on(PortPatched, logic.on_port_patched),
        on(PortNotPatched, logic.on_port_not_patched),
        on(OcsesDown, logic.on_ocses_down),
        on(OcsesUp, logic.on_part_up),
        on(ControlLost, logic.on_control_lost),
        on(ControlRegained, logic.on_part_up),
        on(NetworkPartDown, logic.on_network_part_down),
        on(NetworkPartUp, logic.on_part_up),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
