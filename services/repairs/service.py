"""The table of the service `repairs`."""

from schemas.cubes import RepairRequested, RepairWithdrawn
from schemas.ocs import OcsDown, OcsUp, PortDown, PortUp
from schemas.sequencer import Tick
from services.repairs import documents, logic
from services.repairs.state import RepairsState
from shared.engine.service import Service

SERVICE: Service[RepairsState] = Service(
    name="repairs",
    state=RepairsState,
    commission=logic.commission,
    rules={
        Tick: logic.on_tick,
        RepairRequested: logic.on_requested,
        RepairWithdrawn: logic.on_withdrawn,
        OcsDown: logic.on_ocs_down,
        OcsUp: logic.on_ocs_up,
        PortDown: logic.on_port_down,
        PortUp: logic.on_port_up,
    },
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
