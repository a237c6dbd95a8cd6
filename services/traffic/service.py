"""The rules of the service `traffic`, by message type."""

from schemas.messages.demands import DemandMoved
from schemas.messages.failures import ParametersChanged
from schemas.messages.sequencer import Tick
from schemas.messages.trunks import TrunksChanged
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
    frame_interval_s=lambda state: state.config.telemetry_interval_s,
)
