"""The rules of the service `failures`, by message type."""

from schemas.messages.drills import DrillOrder
from schemas.messages.operator import ClearFault, InjectFault, RekeyDraws, SetParameters
from schemas.messages.repairs import RepairCompleted
from schemas.messages.sequencer import Tick
from services.failures import documents, logic, parameter_changes
from services.failures.migrations import add_drill
from services.failures.state import FailuresState, commission
from shared.engine.service import Migration, Service, on
from shared.engine.state_layout import state_layout

SERVICE: Service[FailuresState] = Service(
    name="failures",
    state=FailuresState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(InjectFault, logic.on_inject),
        on(ClearFault, logic.on_clear),
        on(DrillOrder, logic.on_drill_order, scope="addressed"),
        on(RekeyDraws, logic.on_rekey),
        on(SetParameters, parameter_changes.on_set_parameters),
        on(RepairCompleted, logic.on_repair_completed),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
    migrations=(Migration("d35644271526de3e", state_layout(FailuresState), add_drill),),
)
