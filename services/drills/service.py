"""The rules of the service `drills`, by message type."""

from typing import Any

from schemas.body import Body
from schemas.messages.cubes import CubeDrained, CubeUndrained, DrainPlanned, PlannedDrainCancelled
from schemas.messages.drill_requests import ReleaseDrills, RunDrill, StopAllDrills, StopDrill
from schemas.messages.drills import REQUESTS, DrillOrder
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.ocs import CrossConnectsRemoved, CrossConnectsTaken, LinkLooped, OcsRestarting
from schemas.messages.scheduler import SliceRefused
from schemas.messages.sequencer import FabricRetired, Tick
from schemas.messages.topology import RewiringApproved, RewiringEnded, RewiringPlanned, TopologyKept
from schemas.messages.workload import SliceReleased, SliceRequested
from schemas.registry import REFUSALS
from services.drills import answers, documents, logic
from services.drills.state import DrillsState, begin, commission
from shared.engine.service import RuleRow, Service, on

ANSWERS: tuple[type[Body], ...] = (
    CrossConnectsRemoved,
    LinkLooped,
    OcsRestarting,
    TopologyKept,
)
"""Answers to orders that begin nothing and end nothing."""
REFUSED = tuple(dict.fromkeys(REFUSALS[name] for name in REQUESTS if REFUSALS[name] is not SliceRefused))
"""The refusals of requests that a drill can send."""

RULES: tuple[RuleRow[Any], ...] = (
    on(Tick, logic.on_tick),
    on(RunDrill, logic.on_run),
    on(StopDrill, logic.on_stop),
    on(StopAllDrills, logic.on_stop_all, scope="site-wide"),
    on(ReleaseDrills, logic.on_release, scope="site-wide"),
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
    *(on(body, answers.on_answer, scope="site-wide") for body in ANSWERS),
    *(on(body, answers.on_refused, scope="site-wide") for body in REFUSED),
)

SERVICE: Service[DrillsState] = Service(
    name="drills",
    state=DrillsState,
    commission=commission,
    rules=RULES,
    due=logic.due,
    queries=logic.queries,
    document_keys=documents.document_keys,
    document=documents.document,
    begin=begin,
)
