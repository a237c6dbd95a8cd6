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
from services.transceivers import documents, end_faults, link_repairs, link_tests, links, timers
from services.transceivers.sensor_history import update_history
from services.transceivers.state import TransceiversState, commission
from shared.engine.service import Service, on

SERVICE: Service[TransceiversState] = Service(
    name="transceivers",
    state=TransceiversState,
    commission=commission,
    rules=(
        on(Tick, timers.on_tick),
        on(CircuitsConnected, links.on_connected),
        on(CircuitsDisconnected, links.on_disconnected),
        on(CircuitsRestored, links.on_restored),
        on(OcsDown, links.on_ocs_down),
        on(PortDown, links.on_port_down),
        on(PortPatched, end_faults.on_port_patched),
        on(RekeyDraws, end_faults.on_rekey, runs_after=False),
        on(LinkLooped, link_tests.on_looped, runs_after=False),
        on(PortsDown, links.on_ports_down),
        on(ParametersChanged, timers.on_parameters_changed, runs_after=False),
        on(FaultBegan, end_faults.on_fault_began),
        on(FaultEnded, end_faults.on_fault_ended),
        on(HandsOnBegun, link_repairs.on_hands_on_begun),
        on(RepairCompleted, link_repairs.on_repair_completed),
        on(RepairCancelled, link_repairs.on_repair_ended),
        on(RepairFailed, link_repairs.on_repair_ended),
    ),
    # Rows with `runs_after=False` change no light.
    after=update_history,
    due=timers.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=timers.frame,
    frame_interval_s=lambda state: state.config.telemetry_interval_s,
)
