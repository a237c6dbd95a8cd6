"""The table of the service `failures`."""

from schemas.operator import ClearFault, InjectFault
from schemas.repairs import RepairCompleted
from schemas.sequencer import Tick
from services.failures import documents, logic
from services.failures.state import FailuresState
from shared.engine.service import Service

SERVICE: Service[FailuresState] = Service(
    name="failures",
    state=FailuresState,
    commission=logic.commission,
    rules={
        Tick: logic.on_tick,
        InjectFault: logic.on_inject,
        ClearFault: logic.on_clear,
        RepairCompleted: logic.on_repair_completed,
    },
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
