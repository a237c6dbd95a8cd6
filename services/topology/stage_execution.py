"""Stages of a rewiring: drain, switch, qualify, undrain.

A stage waits while the capacity floor would be broken or a domain has no control. A stage with too many unfit
circuits is taken back.
"""

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from schemas.messages.ocs import CircuitsRewired
from schemas.messages.topology import (
    RewireCircuits,
    RewiringEnded,
    RewiringOutcome,
    StageBegun,
    StageUndrained,
    StageWaits,
)
from schemas.messages.trunks import CircuitsQualified
from schemas.names import OcsCircuit
from services.topology.capacity_floor import below_capacity_floor, carrying_gbps, circuits_gbps, lit_circuits
from services.topology.state import EndedRewiring, Rewiring, StagePlan, StageProgress, TopologyState
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.engine.ended_rows import add_ended
from shared.engine.service import CausedBy, Output
from shared.models.network.wiring import NO_PORT, assign_ports


def begin_stage(state: TopologyState, number: int) -> list[Output]:
    """Start the next stage, or wait. The reason to wait is reported once."""
    rewiring = state.current[number]
    if rewiring.begun_us is None:
        rewiring = replace(rewiring, begun_us=state.now_us)
    plan = rewiring.stages[rewiring.stage]
    try:
        removed, made = _at_ports(state, plan)
    except InvalidInput as error:
        return end_rewiring(state, number, "overtaken", str(error))
    why = _wait_reason(state, rewiring, removed, made)
    if why is not None:
        return _wait(state, number, rewiring, why)
    stage_progress = StageProgress(removed, made)
    rewiring = replace(rewiring, waits_for=None, stage_progress=stage_progress, stage_begun_us=state.now_us)
    begun = StageBegun(
        rewiring=state.rewiring_name(number), stage=rewiring.stage, takes_back=False, drained=removed
    )
    if not removed:
        return [CausedBy(rewiring.cause, begun), *switch_circuits(state, number, rewiring)]
    due_us = state.now_us + to_whole_us(state.config.drain_s, US_PER_S)
    store_rewiring(state, number, replace(rewiring, phase="draining", due_us=due_us))
    return [CausedBy(rewiring.cause, begun)]


def _at_ports(state: TopologyState, plan: StagePlan) -> tuple[tuple[OcsCircuit, ...], tuple[OcsCircuit, ...]]:
    """The circuits of a stage on the ports that are available now; see `assign_ports`."""
    return assign_ports(state.plant, state.south_of.astype(np.int64), plan.removed, plan.made, state.unfit)


def blocking_reason(state: TopologyState, number: int) -> str | None:
    """Why the first of the remaining stages that could not start now would fail; None if all could.

    The capacity floor is checked for the next stage only, because the capacity at later stages is not known
    yet.
    """
    rewiring = state.current[number]
    is_next = rewiring.phase in ("planned", "waiting")
    first = rewiring.stage if is_next else rewiring.stage + 1
    for stage, plan in enumerate(rewiring.stages[first:], first):
        why = _lost_control(state, [ocs for ocs, _, _ in (*plan.removed, *plan.made)])
        if why is None and is_next and stage == first:
            try:
                why = _wait_reason(state, rewiring, *_at_ports(state, plan))
            except InvalidInput as error:
                return f"stage {stage} would end the rewiring as overtaken: {error}"
        if why is not None:
            return f"stage {stage} would wait: {why}"
    return None


def _wait_reason(
    state: TopologyState, rewiring: Rewiring, removed: tuple[OcsCircuit, ...], made: tuple[OcsCircuit, ...]
) -> str | None:
    lost = _lost_control(state, [ocs for ocs, _, _ in (*removed, *made)])
    if lost is not None:
        return lost
    return below_capacity_floor(
        state, rewiring, carrying_gbps(state) - circuits_gbps(state, lit_circuits(state, removed))
    )


def _lost_control(state: TopologyState, ocses: Iterable[int]) -> str | None:
    plant = state.plant
    for domain in np.unique(plant.domains[[*ocses]]).tolist():
        if state.control_faults[domain]:
            power = f" or power-{domain}" if plant.technology.latching else ""
            return f"control-{domain}{power} has failed"
    return None


def _wait(state: TopologyState, number: int, rewiring: Rewiring, why: str) -> list[Output]:
    name, was = state.rewiring_name(number), rewiring.waits_for
    deadline_us = rewiring.due_us if rewiring.phase == "waiting" else None
    if deadline_us is None and rewiring.reason != "as-installed":
        deadline_us = state.now_us + to_whole_us(state.config.wait_h, US_PER_HOUR)
    if deadline_us is not None and deadline_us <= state.now_us:
        return end_rewiring(
            state, number, "aborted", f"the stage has waited for {state.config.wait_h:g} h: {why}"
        )
    store_rewiring(state, number, replace(rewiring, phase="waiting", due_us=deadline_us, waits_for=why))
    return [] if was == why else [StageWaits(rewiring=name, stage=rewiring.stage, reason=why)]


def switch_circuits(state: TopologyState, number: int, rewiring: Rewiring) -> list[Output]:
    """Command the OCSes to switch, because the drained circuits carry no traffic now."""
    stage_progress = _progress_of(rewiring)
    store_rewiring(state, number, replace(rewiring, phase="switching", due_us=None))
    command = RewireCircuits(
        rewiring=state.rewiring_name(number),
        stage=rewiring.stage,
        removed=stage_progress.removed,
        made=stage_progress.made,
    )
    return [CausedBy(rewiring.cause, command)]


def on_rewired(state: TopologyState, number: int, body: CircuitsRewired) -> list[Output]:
    """Continue after the OCSes have switched: qualify new circuits, or end the stage if unfit ones were
    parked."""
    for ocs, north, _ in body.removed:
        state.south_of[ocs, north] = NO_PORT
    for ocs, north, south in (*body.made, *body.missing):
        state.south_of[ocs, north] = south
    state.circuits_made += len(body.made)
    rewiring = state.current[number]
    if rewiring.phase == "parking":
        return _next_stage(state, number, rewiring)
    store_rewiring(state, number, replace(rewiring, phase="qualifying", due_us=None))
    return []


def on_qualified(state: TopologyState, number: int, body: CircuitsQualified) -> list[Output]:
    """Undrain the fit circuits. If too few are fit to keep the capacity floor, take the stage back and end
    the rewiring."""
    rewiring = state.current[number]
    stage_progress = _progress_of(rewiring)
    state.unfit.update(body.unfit)
    fit = [circuit for circuit in stage_progress.made if circuit not in {*body.unfit, *body.dark}]
    if body.unfit and stage_progress.removed and not stage_progress.takes_back:
        why = below_capacity_floor(state, rewiring, carrying_gbps(state) + circuits_gbps(state, fit))
        if why is not None:
            return _take_back(state, number, rewiring, why)
    due_us = state.now_us + to_whole_us(state.config.undrain_s, US_PER_S)
    stage_progress = replace(stage_progress, unfit=body.unfit)
    store_rewiring(
        state, number, replace(rewiring, phase="undraining", due_us=due_us, stage_progress=stage_progress)
    )
    return []


def _take_back(state: TopologyState, number: int, rewiring: Rewiring, why: str) -> list[Output]:
    stage_progress = _progress_of(rewiring)
    back = StageProgress(removed=stage_progress.made, made=stage_progress.removed, takes_back=True)
    rewiring = replace(rewiring, stage_progress=back, waits_for=why)
    begun = StageBegun(
        rewiring=state.rewiring_name(number), stage=rewiring.stage, takes_back=True, drained=()
    )
    return [CausedBy(rewiring.cause, begun), *switch_circuits(state, number, rewiring)]


def undrain(state: TopologyState, number: int, rewiring: Rewiring) -> list[Output]:
    """Put traffic on the fit circuits, and park the others."""
    stage_progress = _progress_of(rewiring)
    unfit = set(stage_progress.unfit)
    carries = tuple(circuit for circuit in stage_progress.made if circuit not in unfit)
    name, stage = state.rewiring_name(number), rewiring.stage
    emitted: list[Output] = [
        CausedBy(rewiring.cause, StageUndrained(rewiring=name, stage=stage, circuits=carries))
    ]
    return emitted + (_park if stage_progress.unfit else _next_stage)(state, number, rewiring)


def _park(state: TopologyState, number: int, rewiring: Rewiring) -> list[Output]:
    store_rewiring(state, number, replace(rewiring, phase="parking", due_us=None))
    name, unfit = state.rewiring_name(number), _progress_of(rewiring).unfit
    park = RewireCircuits(rewiring=name, stage=rewiring.stage, removed=unfit, made=())
    return [CausedBy(rewiring.cause, park)]


def _next_stage(state: TopologyState, number: int, rewiring: Rewiring) -> list[Output]:
    stage_progress = _progress_of(rewiring)
    if stage_progress.takes_back:
        return end_rewiring(state, number, "taken-back", rewiring.waits_for or "")
    rewiring = replace(rewiring, stage=rewiring.stage + 1, stage_progress=None)
    store_rewiring(state, number, rewiring)
    if rewiring.reason == "as-installed":
        state.installed = True
    if rewiring.stage == len(rewiring.stages):
        return end_rewiring(state, number, "completed", "all stages are complete")
    if rewiring.aborted_by is not None:
        return abort_rewiring(state, number, rewiring.aborted_by)
    # Start the next stage later, when all services have processed this one: the capacity of the links
    # decides.
    due_us = state.now_us + 1
    store_rewiring(state, number, replace(rewiring, due_us=due_us, phase="planned"))
    return []


def stage_refused(state: TopologyState, number: int, reason: str) -> list[Output]:
    """Handle a refusal by an OCS.

    Nothing has changed, so traffic returns to the drained circuits and the rewiring ends. A take-back cannot
    end like this, because circuits would be left over; it waits for control.
    """
    rewiring = state.current[number]
    stage_progress = _progress_of(rewiring)
    name = state.rewiring_name(number)
    if rewiring.phase == "parking" or stage_progress.takes_back:
        store_rewiring(state, number, replace(rewiring, stage_progress=replace(stage_progress, refused=True)))
        return [StageWaits(rewiring=name, stage=rewiring.stage, reason=reason)]
    back = StageUndrained(rewiring=name, stage=rewiring.stage, circuits=stage_progress.removed)
    return [back, *end_rewiring(state, number, "refused", reason)]


def retry_command(state: TopologyState, number: int) -> list[Output]:
    """Send a command again that was refused for lack of control."""
    rewiring = state.current[number]
    stage_progress = replace(_progress_of(rewiring), refused=False)
    rewiring = replace(rewiring, stage_progress=stage_progress)
    return (
        _park(state, number, rewiring)
        if rewiring.phase == "parking"
        else switch_circuits(state, number, rewiring)
    )


def abort_rewiring(state: TopologyState, number: int, cause: str) -> list[Output]:
    """End a rewiring between two stages or before the first, on request of the operator's message `cause`."""
    done, of = state.current[number].stage, len(state.current[number].stages)
    why = f"an operator aborted it after {done} of {of} stages" if done else "an operator aborted it"
    return end_rewiring(state, number, "aborted", why, cause)


def end_rewiring(
    state: TopologyState, number: int, outcome: RewiringOutcome, reason: str, cause: str | None = None
) -> list[Output]:
    """End a rewiring. `cause` is the id of the message that ended it, if it differs from the rewiring's
    own cause."""
    rewiring = state.current.pop(number)
    if rewiring.reason == "as-installed":
        state.installed = True
    else:  # the initial wiring does not count as a rewiring
        state.outcomes[outcome] = state.outcomes.get(outcome, 0) + 1
    values = {field.name: getattr(rewiring, field.name) for field in fields(Rewiring)}
    values |= {"stages": (), "due_us": None, "stage_progress": None}
    ended = EndedRewiring(**values, outcome=outcome, ended_because=reason, ended_us=state.now_us)
    forgotten = add_ended(state.ended, number, ended)
    for changed in (number, *([] if forgotten is None else [forgotten])):
        touch(state, changed)
    name = state.rewiring_name(number)
    return [CausedBy(cause or rewiring.cause, RewiringEnded(rewiring=name, outcome=outcome, reason=reason))]


def store_rewiring(state: TopologyState, number: int, rewiring: Rewiring) -> None:
    state.current[number] = rewiring
    touch(state, number)


def touch(state: TopologyState, number: int) -> None:
    state.changed_documents.add(("rewirings", state.rewiring_name(number)))
    state.changed_documents.add(("summaries", f"{state.fabric}/topology"))


def _progress_of(rewiring: Rewiring) -> StageProgress:
    assert rewiring.stage_progress is not None  # noqa: S101 -- a stage is under way
    return rewiring.stage_progress
