"""The table of the service `cubes`."""

from schemas.failures import FaultBegan, FaultEnded
from schemas.operator import DrainCube, UndrainCube
from schemas.sequencer import Tick
from schemas.transceivers import ModuleReported
from services.cubes import documents, logic
from services.cubes.state import CubesState
from shared.engine.service import Service

SERVICE: Service[CubesState] = Service(
    name="cubes",
    state=CubesState,
    commission=logic.commission,
    rules={
        Tick: logic.on_tick,
        FaultBegan: logic.on_fault_began,
        FaultEnded: logic.on_fault_ended,
        ModuleReported: logic.on_module_reported,
        DrainCube: logic.on_drain,
        UndrainCube: logic.on_undrain,
    },
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
