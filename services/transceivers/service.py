"""The rules of the service `transceivers`, by message type."""

from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsRestored,
    LinkLooped,
    OcsDown,
    PortDown,
    PortPatched,
    PortsDown,
)
from schemas.messages.operator import RekeyDraws
from schemas.messages.repairs import HandsOnBegun, RepairCancelled, RepairCompleted, RepairFailed
from schemas.messages.sequencer import Tick
from services.transceivers import documents, end_faults, link_repairs, link_tests, links, logic
from services.transceivers.sensor_history import recording_history
from services.transceivers.state import TransceiversState, commission
from shared.engine.service import Service, on

SERVICE: Service[TransceiversState] = Service(
    name="transceivers",
    state=TransceiversState,
    commission=commission,
    rules=(
        on(Tick, recording_history(logic.on_tick)),
        on(CircuitsConnected, recording_history(links.on_connected)),
        on(CircuitsDisconnected, recording_history(links.on_disconnected)),
        on(CircuitsRestored, recording_history(links.on_restored)),
        on(OcsDown, recording_history(links.on_ocs_down)),
        on(PortDown, recording_history(links.on_port_down)),
        on(PortPatched, recording_history(end_faults.on_port_patched)),
        on(RekeyDraws, end_faults.on_rekey),
        on(LinkLooped, link_tests.on_looped),
        on(PortsDown, recording_history(links.on_ports_down)),
        on(ParametersChanged, logic.on_parameters_changed),
        on(FaultBegan, recording_history(end_faults.on_fault_began)),
        on(FaultEnded, recording_history(end_faults.on_fault_ended)),
        on(HandsOnBegun, recording_history(link_repairs.on_hands_on_begun)),
        on(RepairCompleted, recording_history(link_repairs.on_repair_completed)),
        on(RepairCancelled, recording_history(link_repairs.on_repair_ended)),
        on(RepairFailed, recording_history(link_repairs.on_repair_ended)),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=logic.frame,
)
