"""The table of the service `transceivers`."""

from schemas.failures import FaultBegan, FaultEnded
from schemas.ocs import CircuitsConnected, CircuitsDisconnected, CircuitsRestored, OcsDown, PortDown
from schemas.sequencer import Tick
from services.transceivers import documents, faults, links, state, telemetry
from services.transceivers.state import TransceiversState
from shared.engine.service import Service

SERVICE: Service[TransceiversState] = Service(
    name="transceivers",
    state=TransceiversState,
    commission=state.commission,
    rules={
        Tick: telemetry.on_tick,
        CircuitsConnected: links.on_connected,
        CircuitsDisconnected: links.on_disconnected,
        CircuitsRestored: links.on_restored,
        OcsDown: links.on_ocs_down,
        PortDown: links.on_port_down,
        FaultBegan: faults.on_fault_began,
        FaultEnded: faults.on_fault_ended,
    },
    due=telemetry.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=telemetry.frame,
)
