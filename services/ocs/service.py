"""The service `ocs`: which message meets which rule."""

from schemas.failures import FaultBegan, FaultEnded
from schemas.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.sequencer import Tick
from services.ocs.circuits import on_connect, on_disconnect
from services.ocs.documents import document, document_keys
from services.ocs.faults import on_fault_began, on_fault_ended
from services.ocs.logic import due, on_tick
from services.ocs.state import OcsState, commission
from shared.engine.service import Service, on

SERVICE: Service[OcsState] = Service(
    name="ocs",
    state=OcsState,
    commission=commission,
    rules=(
        on(Tick, on_tick),
        on(ConnectCircuits, on_connect),
        on(DisconnectCircuits, on_disconnect),
        on(FaultBegan, on_fault_began),
        on(FaultEnded, on_fault_ended),
    ),
    due=due,
    document_keys=document_keys,
    document=document,
)
