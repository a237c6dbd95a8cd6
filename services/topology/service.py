"""The rules of the service `topology`, by message type."""

from schemas.messages.demands import DemandMoved
from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import (
    CircuitsRewired,
    ControlLost,
    ControlRegained,
    OcsDown,
    OcsesDown,
    OcsesUp,
    OcsUp,
    RewiringRefused,
)
from schemas.messages.operator import AbortRewiring, ApproveRewiring, PlanTopology
from schemas.messages.sequencer import Tick
from schemas.messages.traffic import TrafficCarried
from schemas.messages.trunks import CircuitsQualified, NetworkPartDown, NetworkPartUp, TrunksChanged
from services.topology import documents, logic
from services.topology.state import TopologyState, commission
from shared.engine.drill_orders import on_drill_orders
from shared.engine.service import Service, on

SERVICE: Service[TopologyState] = Service(
    name="topology",
    state=TopologyState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(DemandMoved, logic.on_demand_moved),
        on(TrafficCarried, logic.on_traffic_carried),
        on(ParametersChanged, logic.on_parameters_changed),
        on(PlanTopology, logic.on_plan_requested),
        on(ApproveRewiring, logic.on_approve),
        on(AbortRewiring, logic.on_abort),
        on_drill_orders(
            on(PlanTopology, logic.on_plan_requested),
            on(ApproveRewiring, logic.on_approve),
            on(AbortRewiring, logic.on_abort),
        ),
        on(CircuitsRewired, logic.on_circuits_rewired),
        on(RewiringRefused, logic.on_refused),
        on(CircuitsQualified, logic.on_circuits_qualified),
        on(TrunksChanged, logic.on_trunks_changed),
        on(OcsDown, logic.on_ocs_down),
        on(OcsUp, logic.on_ocs_up),
        on(OcsesDown, logic.on_ocses_down),
        on(OcsesUp, logic.on_ocses_up),
        on(ControlLost, logic.on_control_lost),
        on(ControlRegained, logic.on_control_regained),
        on(NetworkPartDown, logic.on_part_down),
        on(NetworkPartUp, logic.on_part_up),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
