"""The rules of the service `trunks`, by message type."""

from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsRestored, CircuitsRewired, OcsDown, OcsesDown, PortDown, PortPatched
from schemas.messages.sequencer import Tick
from schemas.messages.topology import StageBegun, StageUndrained
from services.trunks import documents, logic
from services.trunks.state import TrunksState, commission
from shared.engine.service import Service, on

SERVICE: Service[TrunksState] = Service(
    name="trunks",
    state=TrunksState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(StageBegun, logic.on_stage_begun),
        on(CircuitsRewired, logic.on_rewired),
        on(StageUndrained, logic.on_undrained),
        on(OcsDown, logic.on_ocs_down),
        on(OcsesDown, logic.on_ocses_down),
        on(PortDown, logic.on_port_down),
        on(PortPatched, logic.on_port_patched),
        on(CircuitsRestored, logic.on_restored),
        on(FaultBegan, logic.on_fault_began),
        on(FaultEnded, logic.on_fault_ended),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
