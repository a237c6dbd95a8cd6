"""Rules of topology engineering: plans, their approval and their stages."""

from dataclasses import replace

from schemas.envelope import Envelope
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
from schemas.messages.topology import PlanReason, PlanRefused, RewiringApproved, RewiringPlanned, TopologyKept
from schemas.messages.traffic import TrafficCarried
from schemas.messages.trunks import CircuitsQualified, NetworkPartDown, NetworkPartUp, TrunksChanged
from schemas.names import number_of
from services.topology.replan_triggers import replan_reason
from services.topology.rewiring_planner import initial_rewiring, plan_rewiring
from services.topology.stage_execution import (
    abort_rewiring,
    begin_stage,
    on_qualified,
    on_rewired,
    retry_command,
    stage_refused,
    store_rewiring,
    switch_circuits,
    undrain,
)
from services.topology.state import NO_HOUR, Rewiring, TopologyState
from shared.engine.service import Output
from shared.models.network.wiring import set_links


def due(state: TopologyState) -> int | None:
    """The time of the initial wiring, or of the next step of a rewiring."""
    if not state.installed and not state.current:
        return state.commissioned_us
    return min([r.due_us for r in state.current.values() if r.due_us is not None], default=None)


def on_parameters_changed(state: TopologyState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply changed parameters to the next plan."""
    state.config = state.config.model_copy(update=body.of("topology"))
    return []


def on_tick(state: TopologyState, _tick: Tick, message: Envelope) -> list[Output]:
    if not state.current:
        return _adopt(state, initial_rewiring(state, message.id))
    ((number, rewiring),) = state.current.items()
    if rewiring.phase == "draining":
        return switch_circuits(state, number, rewiring)
    if rewiring.phase == "undraining":
        return undrain(state, number, rewiring)
    return begin_stage(state, number)


def on_demand_moved(state: TopologyState, body: DemandMoved, _message: Envelope) -> list[Output]:
    state.hour, state.jobs = body.hour, body.jobs
    return []


def on_traffic_carried(state: TopologyState, body: TrafficCarried, message: Envelope) -> list[Output]:
    """Search for a better topology if the carried traffic triggers it."""
    reason = replan_reason(state, body)
    if reason is None:
        return []
    state.last_search_us = state.now_us
    return _search(state, reason, message)


def on_plan_requested(state: TopologyState, body: PlanTopology, message: Envelope) -> list[Output]:
    if state.current:
        (number,) = state.current
        why = f"{state.rewiring_name(number)} is planned or under way; must be the only one at a time"
        return [PlanRefused(subject=body.dcn, reason=why)]
    if not state.installed or state.hour == NO_HOUR:
        return [PlanRefused(subject=body.dcn, reason="the network is not wired yet")]
    return _search(state, "operator", message)


def _search(state: TopologyState, reason: PlanReason, message: Envelope) -> list[Output]:
    plan = plan_rewiring(state, reason, message.id)
    if isinstance(plan, TopologyKept):
        state.kept += 1
        state.changed_documents.add(("summaries", f"{state.fabric}/topology"))
        return [plan]
    return _adopt(state, plan)


def _adopt(state: TopologyState, rewiring: Rewiring) -> list[Output]:
    number = state.planned
    state.planned += 1
    store_rewiring(state, number, rewiring)
    emitted: list[Output] = [
        RewiringPlanned(
            rewiring=state.rewiring_name(number),
            reason=rewiring.reason,
            approval=rewiring.approval,
            circuits=rewiring.circuits,
            stages=len(rewiring.stages),
            takes_us=rewiring.takes_us,
            use_ppm=rewiring.use_ppm,
            use_then_ppm=rewiring.use_then_ppm,
            transit_ppm=rewiring.transit_ppm,
            transit_then_ppm=rewiring.transit_then_ppm,
            bound_ppm=rewiring.bound_ppm,
        )
    ]
    return emitted + begin_stage(state, number) if rewiring.approval == "automatic" else emitted


def on_approve(state: TopologyState, body: ApproveRewiring, message: Envelope) -> list[Output]:
    number = _number(state, body.rewiring)
    if number is None:
        return [PlanRefused(subject=body.rewiring, reason=_unknown_reason(state, body.rewiring))]
    rewiring = state.current[number]
    if rewiring.begun_us is not None:
        return [PlanRefused(subject=body.rewiring, reason="it is already under way")]
    store_rewiring(state, number, replace(rewiring, cause=message.id))
    return [RewiringApproved(rewiring=body.rewiring), *begin_stage(state, number)]


def on_abort(state: TopologyState, body: AbortRewiring, message: Envelope) -> list[Output]:
    """Abort a rewiring: at once between two stages, otherwise at the end of the current stage."""
    number = _number(state, body.rewiring)
    if number is None:
        return [PlanRefused(subject=body.rewiring, reason=_unknown_reason(state, body.rewiring))]
    rewiring = state.current[number]
    if rewiring.reason == "as-installed":
        return [
            PlanRefused(
                subject=body.rewiring, reason="it is the initial wiring of the network and cannot be aborted"
            )
        ]
    if rewiring.phase in ("planned", "waiting"):
        return abort_rewiring(state, number, message.id)
    store_rewiring(state, number, replace(rewiring, aborted_by=rewiring.aborted_by or message.id))
    return []


def _number(state: TopologyState, name: str) -> int | None:
    number = number_of(name)
    return number if number in state.current and name == state.rewiring_name(number) else None


def _unknown_reason(state: TopologyState, name: str) -> str:
    number = number_of(name)
    if name == state.rewiring_name(number) and number in state.ended:
        return f"it has ended: {state.ended[number].outcome}"
    open_now = ", ".join(state.rewiring_name(n) for n in state.current) or "none"
    return f"no such rewiring is planned or under way; must be one of: {open_now}"


def on_circuits_rewired(state: TopologyState, body: CircuitsRewired, _message: Envelope) -> list[Output]:
    return on_rewired(state, number_of(body.rewiring), body)


def on_circuits_qualified(state: TopologyState, body: CircuitsQualified, _message: Envelope) -> list[Output]:
    """Continue after qualification.

    Parked circuits are also qualified, and the result may arrive during a later stage; it is ignored.
    """
    number = number_of(body.rewiring)
    rewiring = state.current.get(number)
    if rewiring is None or (rewiring.phase, rewiring.stage) != ("qualifying", body.stage):
        return []
    return on_qualified(state, number, body)


def on_refused(state: TopologyState, body: RewiringRefused, _message: Envelope) -> list[Output]:
    return stage_refused(state, number_of(body.rewiring), f"ocs-{body.ocs}: {body.reason}")


def on_trunks_changed(state: TopologyState, body: TrunksChanged, _message: Envelope) -> list[Output]:
    set_links(state.links, body.links)
    return _resume_waiting(state)


def _resume_waiting(state: TopologyState) -> list[Output]:
    """Start a stage that waits, if it can start now."""
    emitted: list[Output] = []
    for number, rewiring in list(state.current.items()):
        if rewiring.phase == "waiting":
            emitted += begin_stage(state, number)
    return emitted


def _resume_after_control(state: TopologyState) -> list[Output]:
    """Continue what was refused or waits because a domain had no control."""
    emitted: list[Output] = []
    for number, rewiring in list(state.current.items()):
        if rewiring.stage_progress is not None and rewiring.stage_progress.refused:
            emitted += retry_command(state, number)
    return emitted + _resume_waiting(state)


def on_ocs_down(state: TopologyState, body: OcsDown, _message: Envelope) -> list[Output]:
    return _count_dark(state, [body.ocs], +1)


def on_ocs_up(state: TopologyState, body: OcsUp, _message: Envelope) -> list[Output]:
    return _count_dark(state, [body.ocs], -1)


def on_ocses_down(state: TopologyState, body: OcsesDown, _message: Envelope) -> list[Output]:
    return _lose_power(state, body, +1)


def on_ocses_up(state: TopologyState, body: OcsesUp, _message: Envelope) -> list[Output]:
    return _lose_power(state, body, -1) + _resume_after_control(state)


def _lose_power(state: TopologyState, body: OcsesDown | OcsesUp, change: int) -> list[Output]:
    """Apply a loss or return of power. OCSes that latch keep their light, but cannot be changed."""
    if not body.ocses:
        state.control_faults[number_of(body.part)] += change
        state.changed_documents.add(("summaries", f"{state.fabric}/topology"))
    return _count_dark(state, list(body.ocses), change)


def _count_dark(state: TopologyState, ocses: list[int], change: int) -> list[Output]:
    """Count the reasons why OCSes are dark: chassis, rack and power domain each count."""
    state.dark[ocses] += change
    return []


def on_control_lost(state: TopologyState, body: ControlLost, _message: Envelope) -> list[Output]:
    state.control_faults[number_of(body.part)] += 1
    state.changed_documents.add(("summaries", f"{state.fabric}/topology"))
    return []


def on_control_regained(state: TopologyState, body: ControlRegained, _message: Envelope) -> list[Output]:
    state.control_faults[number_of(body.part)] -= 1
    state.changed_documents.add(("summaries", f"{state.fabric}/topology"))
    return _resume_after_control(state)


def on_part_down(state: TopologyState, body: NetworkPartDown, _message: Envelope) -> list[Output]:
    return _count_block(state, body.part, +1)


def on_part_up(state: TopologyState, body: NetworkPartUp, _message: Envelope) -> list[Output]:
    return _count_block(state, body.part, -1)


def _count_block(state: TopologyState, part: str, change: int) -> list[Output]:
    if "/bundle-" not in part:
        state.block_faults[number_of(part)] += change
    return []
