"""The rules of the service `ocs`, by message type."""

from schemas.messages.diagnosis import TestWanted
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.operator import CreateCrossConnects, RemoveCrossConnects, RestartOcs, TestLink
from schemas.messages.repairs import PatchPort
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.messages.sequencer import Tick
from schemas.messages.topology import RewireCircuits
from services.ocs import (
    chassis,
    documents,
    loopbacks,
    manual_cross_connects,
    network_commands,
    ocs_faults,
    ports,
    superpod_commands,
    telemetry,
    timers,
)
from services.ocs.state import OcsState, commission
from shared.engine.drill_orders import on_drill_orders
from shared.engine.service import Service, on

SERVICE: Service[OcsState] = Service(
    name="ocs",
    state=OcsState,
    commission=commission,
    rules=(
        on(Tick, timers.on_tick),
        on(ConnectCircuits, superpod_commands.on_connect),
        on(DisconnectCircuits, superpod_commands.on_disconnect),
        on(LeaveCircuits, superpod_commands.on_leave),
        on(RewireCircuits, network_commands.on_rewire),
        on(PatchPort, ports.on_patch),
        on(TestLink, loopbacks.on_test_link),
        on(TestWanted, loopbacks.on_test_link),
        on(RestartOcs, chassis.on_restart),
        on(CreateCrossConnects, manual_cross_connects.on_create),
        on(RemoveCrossConnects, manual_cross_connects.on_remove),
        on_drill_orders(
            on(TestLink, loopbacks.on_test_link),
            on(RestartOcs, chassis.on_restart),
            on(CreateCrossConnects, manual_cross_connects.on_create),
            on(RemoveCrossConnects, manual_cross_connects.on_remove),
        ),
        on(ParametersChanged, telemetry.on_parameters_changed),
        on(FaultBegan, ocs_faults.on_fault_began),
        on(FaultEnded, ocs_faults.on_fault_ended),
    ),
    due=timers.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=telemetry.frame,
    frame_interval_s=lambda state: state.telemetry_interval_s,
    frames_on_ticks_of=("transceivers", "traffic"),
    frames_suffix="ocs",
)
