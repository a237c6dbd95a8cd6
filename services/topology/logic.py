"""The rules of topology engineering: when other trunks are looked for, and who may stop or let them come."""

from dataclasses import replace

from schemas.demands import DemandMoved
from schemas.envelope import Envelope
from schemas.failures import ParametersChanged
from schemas.names import number_of
from schemas.ocs import (
    CircuitsRewired,
    ControlLost,
    ControlRegained,
    OcsDown,
    OcsesDown,
    OcsesUp,
    OcsUp,
    RewiringRefused,
)
from schemas.operator import AbortRewiring, ApproveRewiring, PlanTopology
from schemas.sequencer import Tick
from schemas.topology import (
    PlanReason,
    PlanRefused,
    RewiringApproved,
    RewiringPlanned,
    TopologyKept,
)
from schemas.traffic import TrafficCarried
from schemas.trunks import CircuitsQualified, NetworkPartDown, NetworkPartUp, TrunksChanged
from services.topology.planner import as_installed, planned
from services.topology.stages import (
    abort,
    begin_stage,
    command_again,
    on_qualified,
    on_rewired,
    put,
    refused,
    switch,
    undrain,
)
from services.topology.state import NO_HOUR, Rewiring, TopologyState
from shared.basics.units import US_PER_HOUR, us
from shared.engine.service import Output
from shared.models.dcn.living import PPM, ppm
from shared.models.network.wiring import put_links


def due(state: TopologyState) -> int | None:
    """When the network is wired for the first time, or the rewiring goes on."""
    if not state.installed and not state.current:
        return state.commissioned_us
    return min([r.due_us for r in state.current.values() if r.due_us is not None], default=None)


def on_parameters_changed(state: TopologyState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """The next plan is looked for, and carried out, by them."""
    state.config = state.config.model_copy(update=body.of("topology"))
    return []


def on_tick(state: TopologyState, _tick: Tick, message: Envelope) -> list[Output]:
    if not state.current:
        return _adopt(state, as_installed(state, message.id))
    ((number, rewiring),) = state.current.items()
    if rewiring.phase == "draining":
        return switch(state, number, rewiring)
    if rewiring.phase == "undraining":
        return undrain(state, number, rewiring)
    return begin_stage(state, number)


def on_demand_moved(state: TopologyState, body: DemandMoved, _message: Envelope) -> list[Output]:
    state.hour, state.jobs = body.hour, body.jobs
    return []


def on_carried(state: TopologyState, body: TrafficCarried, message: Envelope) -> list[Output]:
    """Look for other trunks where those that there are serve too little, are too full, or take too much of
    the demand over transit blocks, but not too often: by the weights that are meant for what there is."""
    if not state.installed or state.current or body.pending:
        return []
    reason: PlanReason
    if body.served_ppm < ppm(state.config.served_below):
        reason = "served"
    elif body.use_ppm > ppm(state.config.use_above):
        reason = "use"
    elif body.direct_ppm < PPM - ppm(state.config.transit_above):
        reason = "transit"
    else:
        return []
    every_us = us(state.config.every_h, US_PER_HOUR)
    if state.looked_us is not None and state.now_us - state.looked_us < every_us:
        return []
    state.looked_us = state.now_us
    return _look(state, reason, message)


def on_plan_asked(state: TopologyState, body: PlanTopology, message: Envelope) -> list[Output]:
    if state.current:
        (number,) = state.current
        why = f"{state.rewiring_name(number)} is planned or under way; allowed is one at a time"
        return [PlanRefused(subject=body.dcn, reason=why)]
    if not state.installed or state.hour == NO_HOUR:
        return [PlanRefused(subject=body.dcn, reason="the network is not wired yet")]
    return _look(state, "operator", message)


def _look(state: TopologyState, reason: PlanReason, message: Envelope) -> list[Output]:
    found = planned(state, reason, message.id)
    if isinstance(found, TopologyKept):
        state.kept += 1
        state.touched.add(("summaries", f"{state.fabric}/topology"))
        return [found]
    return _adopt(state, found)


def _adopt(state: TopologyState, rewiring: Rewiring) -> list[Output]:
    number = state.planned
    state.planned += 1
    put(state, number, rewiring)
    said: list[Output] = [
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
    return said + begin_stage(state, number) if rewiring.approval == "automatic" else said


def on_approve(state: TopologyState, body: ApproveRewiring, message: Envelope) -> list[Output]:
    number = _number(state, body.rewiring)
    if number is None:
        return [PlanRefused(subject=body.rewiring, reason=_no_such(state, body.rewiring))]
    rewiring = state.current[number]
    if rewiring.begun_us is not None:
        return [PlanRefused(subject=body.rewiring, reason="it is under way already")]
    put(state, number, replace(rewiring, cause=message.id))
    return [RewiringApproved(rewiring=body.rewiring), *begin_stage(state, number)]


def on_abort(state: TopologyState, body: AbortRewiring, message: Envelope) -> list[Output]:
    """Between two stages at once; within one at its end, for half a stage is no state to be in."""
    number = _number(state, body.rewiring)
    if number is None:
        return [PlanRefused(subject=body.rewiring, reason=_no_such(state, body.rewiring))]
    rewiring = state.current[number]
    if rewiring.reason == "as-installed":
        return [PlanRefused(subject=body.rewiring, reason="it wires the network for the first time")]
    if rewiring.phase in ("planned", "waiting"):
        return abort(state, number, message.id)
    put(state, number, replace(rewiring, aborted_by=rewiring.aborted_by or message.id))
    return []


def _number(state: TopologyState, name: str) -> int | None:
    number = number_of(name)
    return number if number in state.current and name == state.rewiring_name(number) else None


def _no_such(state: TopologyState, name: str) -> str:
    number = number_of(name)
    if name == state.rewiring_name(number) and number in state.ended:
        return f"it has ended: {state.ended[number].outcome}"
    open_now = ", ".join(state.rewiring_name(n) for n in state.current) or "none"
    return f"no such rewiring is planned or under way; there is {open_now}"


def on_circuits_rewired(state: TopologyState, body: CircuitsRewired, _message: Envelope) -> list[Output]:
    return on_rewired(state, number_of(body.rewiring), body)


def on_circuits_qualified(state: TopologyState, body: CircuitsQualified, _message: Envelope) -> list[Output]:
    """What was parked is watched too, and told of while a later stage may be under way: that is no news."""
    number = number_of(body.rewiring)
    rewiring = state.current.get(number)
    if rewiring is None or (rewiring.phase, rewiring.stage) != ("qualifying", body.stage):
        return []
    return on_qualified(state, number, body)


def on_refused(state: TopologyState, body: RewiringRefused, _message: Envelope) -> list[Output]:
    return refused(state, number_of(body.rewiring), f"ocs-{body.ocs}: {body.reason}")


def on_trunks_changed(state: TopologyState, body: TrunksChanged, _message: Envelope) -> list[Output]:
    put_links(state.links, body.links)
    return _go_on(state)


def _go_on(state: TopologyState) -> list[Output]:
    """A stage that waits may begin now."""
    said: list[Output] = []
    for number, rewiring in list(state.current.items()):
        if rewiring.phase == "waiting":
            said += begin_stage(state, number)
    return said


def _regained(state: TopologyState) -> list[Output]:
    """What a domain without control kept from beginning, or from being undone, may go on."""
    said: list[Output] = []
    for number, rewiring in list(state.current.items()):
        if rewiring.doing is not None and rewiring.doing.refused:
            said += command_again(state, number)
    return said + _go_on(state)


def on_ocs_down(state: TopologyState, body: OcsDown, _message: Envelope) -> list[Output]:
    return _count_dark(state, [body.ocs], +1)


def on_ocs_up(state: TopologyState, body: OcsUp, _message: Envelope) -> list[Output]:
    return _count_dark(state, [body.ocs], -1)


def on_ocses_down(state: TopologyState, body: OcsesDown, _message: Envelope) -> list[Output]:
    return _lose_power(state, body, +1)


def on_ocses_up(state: TopologyState, body: OcsesUp, _message: Envelope) -> list[Output]:
    return _lose_power(state, body, -1) + _regained(state)


def _lose_power(state: TopologyState, body: OcsesDown | OcsesUp, change: int) -> list[Output]:
    """OCSes that latch keep their light without power, but nothing in them can be changed."""
    if not body.ocses:
        state.control_faults[number_of(body.part)] += change
        state.touched.add(("summaries", f"{state.fabric}/topology"))
    return _count_dark(state, list(body.ocses), change)


def _count_dark(state: TopologyState, ocses: list[int], change: int) -> list[Output]:
    """Its own chassis, its rack and its power domain are each a reason for an OCS to be dark."""
    state.dark[ocses] += change
    return []


def on_control_lost(state: TopologyState, body: ControlLost, _message: Envelope) -> list[Output]:
    state.control_faults[number_of(body.part)] += 1
    state.touched.add(("summaries", f"{state.fabric}/topology"))
    return []


def on_control_regained(state: TopologyState, body: ControlRegained, _message: Envelope) -> list[Output]:
    state.control_faults[number_of(body.part)] -= 1
    state.touched.add(("summaries", f"{state.fabric}/topology"))
    return _regained(state)


def on_part_down(state: TopologyState, body: NetworkPartDown, _message: Envelope) -> list[Output]:
    return _count_block(state, body.part, +1)


def on_part_up(state: TopologyState, body: NetworkPartUp, _message: Envelope) -> list[Output]:
    return _count_block(state, body.part, -1)


def _count_block(state: TopologyState, part: str, change: int) -> list[Output]:
    if "/bundle-" not in part:
        state.block_faults[number_of(part)] += change
    return []
