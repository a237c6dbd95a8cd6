"""The table of the service `traffic`: which rule handles which message."""

from schemas.demands import DemandMoved
from schemas.failures import ParametersChanged
from schemas.sequencer import Tick
from schemas.trunks import TrunksChanged
from services.traffic import documents, logic, telemetry
from services.traffic.state import TrafficState, commission
from shared.engine.service import Service, on

SERVICE: Service[TrafficState] = Service(
    name="traffic",
    state=TrafficState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(DemandMoved, logic.on_demand_moved),
        on(TrunksChanged, logic.on_trunks_changed),
        on(ParametersChanged, logic.on_parameters_changed),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=telemetry.frame,
)
