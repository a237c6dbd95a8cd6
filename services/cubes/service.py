"""The rules of the service `cubes`, by message type."""

from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.operator import DrainCube, RekeyDraws, UndrainCube
from schemas.messages.sequencer import Tick
from schemas.messages.transceivers import ModuleReported
from services.cubes import documents, logic, maintenance
from services.cubes.state import CubesState, commission
from shared.engine.drill_orders import on_drill_orders
from shared.engine.service import Migration, Service, on
from shared.engine.state_layout import state_layout

SERVICE: Service[CubesState] = Service(
    name="cubes",
    state=CubesState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(FaultBegan, logic.on_fault_began),
        on(FaultEnded, logic.on_fault_ended),
        on(ModuleReported, logic.on_module_reported),
        on(ParametersChanged, maintenance.on_parameters_changed),
        on(DrainCube, logic.on_drain),
        on(UndrainCube, logic.on_undrain),
        on_drill_orders(on(DrainCube, logic.on_drain), on(UndrainCube, logic.on_undrain)),
        on(RekeyDraws, logic.on_rekey),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
    # A silence can be without its first host since rules 5, and is stored in the same form.
    migrations=(Migration("a88f94517f42b001", state_layout(CubesState), dict),),
)
