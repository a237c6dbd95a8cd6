"""The rules of the service `drills`, by message type."""

from schemas.messages.cubes import CubeDrained, CubeUndrained, DrainPlanned, PlannedDrainCancelled
from schemas.messages.drill_requests import (
    AcknowledgeAlerts,
    NameCulprit,
    ReleaseDrills,
    RunDrill,
    ScheduleDrill,
    StopAllDrills,
    StopDrill,
    TakeHint,
    UnscheduleDrill,
)
from schemas.messages.drills import DrillBegun, DrillDue, DrillEnded, DrillOrder
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.ocs import CrossConnectsTaken
from schemas.messages.scheduler import SliceRefused
from schemas.messages.sequencer import FabricRetired, Tick
from schemas.messages.topology import RewiringApproved, RewiringEnded, RewiringPlanned
from schemas.messages.workload import SliceReleased, SliceRequested
from services.drills import answers, desk, documents, logic, schedules
from services.drills.state import DrillsState, begin, commission
from shared.engine.service import Service, on

SERVICE: Service[DrillsState] = Service(
    name="drills",
    state=DrillsState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(RunDrill, logic.on_run),
        on(ScheduleDrill, schedules.on_schedule),
        on(UnscheduleDrill, schedules.on_unschedule),
        on(DrillDue, logic.on_due),
        on(DrillBegun, schedules.on_begun, scope="site-wide"),
        on(DrillEnded, schedules.on_ended, scope="site-wide"),
        on(StopDrill, logic.on_stop),
        on(StopAllDrills, logic.on_stop_all, scope="site-wide"),
        on(ReleaseDrills, logic.on_release, scope="site-wide"),
        on(AcknowledgeAlerts, desk.on_acknowledge),
        on(NameCulprit, desk.on_name),
        on(TakeHint, desk.on_hint),
        on(DrillOrder, answers.on_own_order),
        on(FaultBegan, answers.on_fault_began, scope="site-wide"),
        on(FaultEnded, answers.on_fault_ended, scope="site-wide"),
        on(CubeDrained, answers.on_drain, scope="site-wide"),
        on(DrainPlanned, answers.on_drain, scope="site-wide"),
        on(CubeUndrained, answers.on_undrain, scope="site-wide"),
        on(PlannedDrainCancelled, answers.on_undrain, scope="site-wide"),
        on(SliceRequested, answers.on_slice_requested, scope="site-wide"),
        on(SliceReleased, answers.on_slice_released, scope="site-wide"),
        on(SliceRefused, answers.on_slice_refused, scope="site-wide"),
        on(ParametersChanged, answers.on_parameters_changed, scope="site-wide"),
        on(CrossConnectsTaken, answers.on_cross_connects, scope="site-wide"),
        on(RewiringPlanned, answers.on_rewiring, scope="site-wide"),
        on(RewiringApproved, answers.on_rewiring, scope="site-wide"),
        on(RewiringEnded, answers.on_rewiring_ended, scope="site-wide"),
        on(FabricRetired, answers.on_retired, scope="site-wide"),
        *answers.ANSWER_ROWS,
    ),
    due=logic.due,
    queries=logic.queries,
    document_keys=documents.document_keys,
    document=documents.document,
    begin=begin,
)
