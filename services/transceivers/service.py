"""The table of the service `transceivers`: which rule handles which message."""

from schemas.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsRestored,
    LinkLooped,
    OcsDown,
    PortDown,
    PortPatched,
    PortsDown,
)
from schemas.operator import RekeyDraws
from schemas.repairs import HandsOnBegun, RepairCancelled, RepairCompleted, RepairFailed
from schemas.sequencer import Tick
from services.transceivers import documents, faults, links, logic, loops, works
from services.transceivers.remembered import remembering
from services.transceivers.state import TransceiversState, commission
from shared.engine.service import Service, on

SERVICE: Service[TransceiversState] = Service(
    name="transceivers",
    state=TransceiversState,
    commission=commission,
    rules=(
        on(Tick, remembering(logic.on_tick)),
        on(CircuitsConnected, remembering(links.on_connected)),
        on(CircuitsDisconnected, remembering(links.on_disconnected)),
        on(CircuitsRestored, remembering(links.on_restored)),
        on(OcsDown, remembering(links.on_ocs_down)),
        on(PortDown, remembering(links.on_port_down)),
        on(PortPatched, remembering(faults.on_port_patched)),
        on(RekeyDraws, faults.on_rekey),
        on(LinkLooped, loops.on_looped),
        on(PortsDown, remembering(links.on_ports_down)),
        on(ParametersChanged, logic.on_parameters_changed),
        on(FaultBegan, remembering(faults.on_fault_began)),
        on(FaultEnded, remembering(faults.on_fault_ended)),
        on(HandsOnBegun, remembering(works.on_hands_on_begun)),
        on(RepairCompleted, remembering(works.on_repair_completed)),
        on(RepairCancelled, remembering(works.on_repair_ended)),
        on(RepairFailed, remembering(works.on_repair_ended)),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=logic.frame,
)
