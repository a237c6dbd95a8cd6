"""The table of the service `ocs`: which rule handles which message."""

from schemas.diagnosis import TestWanted
from schemas.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.operator import CreateCrossConnects, RemoveCrossConnects, RestartOcs, TestLink
from schemas.repairs import PatchPort
from schemas.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.sequencer import Tick
from schemas.topology import RewireCircuits
from services.ocs import (
    by_hand,
    documents,
    faults,
    logic,
    loops,
    network,
    patches,
    software,
    superpod,
    telemetry,
)
from services.ocs.state import OcsState, commission
from shared.engine.service import Service, on

SERVICE: Service[OcsState] = Service(
    name="ocs",
    state=OcsState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(ConnectCircuits, superpod.on_connect),
        on(DisconnectCircuits, superpod.on_disconnect),
        on(LeaveCircuits, superpod.on_leave),
        on(RewireCircuits, network.on_rewire),
        on(PatchPort, patches.on_patch),
        on(TestLink, loops.on_test_link),
        on(TestWanted, loops.on_test_link),
        on(RestartOcs, software.on_restart),
        on(CreateCrossConnects, by_hand.on_create),
        on(RemoveCrossConnects, by_hand.on_remove),
        on(ParametersChanged, telemetry.on_parameters_changed),
        on(FaultBegan, faults.on_fault_began),
        on(FaultEnded, faults.on_fault_ended),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
    telemetry=telemetry.frame,
    frames_at=("transceivers", "traffic"),
    frames_of="ocs",
)
