"""The table of the service `transceivers`."""

from schemas.failures import FaultBegan, FaultEnded
from schemas.ocs import CircuitsConnected, CircuitsDisconnected, CircuitsRestored, OcsDown, PortDown
from schemas.sequencer import Tick
from services.transceivers import documents, faults, links, state, telemetry
from services.transceivers.state import TransceiversState
from shared.engine.service import Service, on

SERVICE: Service[TransceiversState] = Service(
    name="transceivers",
    state=TransceiversState,
    commission=state.commission,
    rules=(
        on(Tick, telemetry.on_tick),
        on(CircuitsConnected, links.on_connected),
        on(CircuitsDisconnected, links.on_disconnected),
        on(CircuitsRestored, links.on_restored),
        on(OcsDown, links.on_ocs_down),
        on(PortDown, links.on_port_down),
        on(FaultBegan, faults.on_fault_began),
        on(FaultEnded, faults.on_fault_ended),
    ),
    due=telemetry.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=telemetry.frame,
)
