"""Rules of faults: they begin by hazard or injection and end by repair, clearing or expiry.

Faults of one part may overlap. The part works again when the last of them has ended.
"""

from schemas.config.failures import FailuresConfig
from schemas.envelope import Envelope
from schemas.messages.drills import DrillOrder
from schemas.messages.failures import FaultBegan, FaultEnded, FaultRefused
from schemas.messages.operator import ClearFault, InjectFault, RekeyDraws, SetParameters
from schemas.messages.repairs import RepairCompleted
from schemas.messages.sequencer import Tick
from schemas.names import FaultKind
from services.failures.domain_outages import OUTAGE_DOMAINS, draw_cubes, draw_outage_us, next_outage
from services.failures.hazards import (
    ageing,
    draw_onset_us,
    draw_severity,
    draw_target,
    hazard_classes,
    is_spared,
)
from services.failures.parameter_changes import end_leases, on_drill_sets
from services.failures.state import ACTIVE_MAX, EndedFault, EndedHow, FailuresState, FaultRecord, rekey
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform
from shared.engine.ended_rows import add_ended
from shared.engine.service import CausedBy, Output
from shared.models.assumptions import assumed
from shared.models.faults.fault_kinds import FAULTS, check_severity, fault_target
from shared.models.faults.fault_reach import affected_ends
from shared.models.faults.repair_work import WORK_DEFINITIONS, covers
from shared.models.ocs_technologies import check_strays

PLANNED_COMMENT = "recorded"
"""The comment of faults that the fabric's configuration records."""


def due(state: FailuresState) -> int | None:
    """The time of the next spontaneous or recorded fault, or the next end of a fault or lease."""
    begin = [hazard.next_us for hazard in state.hazards.values() if hazard.next_us is not None]
    expire = [fault.expires_us for fault in state.active.values() if fault.expires_us is not None]
    recorded = [] if state.next_planned_us is None else [state.next_planned_us]
    leased = [lease.ends_us for lease in state.leases.values()]
    return min(begin + expire + recorded + leased, default=None)


def on_tick(state: FailuresState, _tick: Tick, message: Envelope) -> list[Output]:
    """Expire faults and leases first, then begin the faults that are due: recorded ones, then those of
    hazards."""
    expired = sorted(
        (fault.expires_us, number)
        for number, fault in state.active.items()
        if fault.expires_us is not None and fault.expires_us <= state.now_us
    )
    emitted: list[Output] = [
        CausedBy(state.active[number].cause, _end(state, number, "expired")) for _, number in expired
    ]
    emitted += end_leases(state)
    emitted += _begin_planned(state, message)
    for kind in hazard_classes():
        emitted += _strike(state, kind, message)
    for domain in OUTAGE_DOMAINS:
        emitted += _strike_domain(state, domain, message)
    return emitted


def _begin_planned(state: FailuresState, message: Envelope) -> list[Output]:
    """Inject the recorded faults that are due. One that cannot begin is refused, as an injection would be."""
    emitted: list[Output] = []
    while (due_us := state.next_planned_us) is not None and due_us <= state.now_us:
        planned = state.planned[state.planned_begun]
        state.planned_begun += 1
        body = InjectFault(
            kind=planned.kind,
            target=planned.target,
            duration_us=planned.duration_us,
            severity=planned.severity,
            onset_us=planned.onset_us,
            comment=PLANNED_COMMENT,
        )
        emitted += on_inject(state, body, message)
    return emitted


def _strike(state: FailuresState, kind: FaultKind, message: Envelope) -> list[Output]:
    """Begin the faults of one class that are due. A part with an active fault of the class is skipped."""
    emitted: list[Output] = []
    hazard = state.hazards[kind]
    while hazard.next_us is not None and hazard.next_us <= state.now_us:
        target = draw_target(state.seeds.own, state.fabric, kind, hazard.drawn, state.plant)
        if not (_is_broken(state, kind, target) or _is_spared(state, kind, target, hazard.drawn)):
            number = state.next_number
            severity = draw_severity(state.seeds.own, state.fabric, kind, number)
            onset_us = draw_onset_us(state.seeds.own, state.fabric, kind, number)
            fault = FaultRecord(kind, target, message.id, False, state.now_us, None, severity, onset_us)
            emitted.append(_begin(state, fault))
        hazard = state.following(kind, hazard)
    state.hazards[kind] = hazard
    return emitted


def _is_broken(state: FailuresState, kind: FaultKind, target: str) -> bool:
    return any(fault.target == target and fault.kind == kind for fault in state.active.values())


def _is_spared(state: FailuresState, kind: FaultKind, target: str, drawn: int) -> bool:
    """Whether the part's age rejects this fault."""
    by_age = ageing(state.config)
    return by_age.matters and is_spared(
        state.seeds.own, state.fabric, kind, by_age, drawn, state.age_us(target)
    )


def _strike_domain(state: FailuresState, name: str, message: Envelope) -> list[Output]:
    """Begin the outages of one kind of domain that are due. Each cube has its own fault, and all end
    together."""
    emitted: list[Output] = []
    config, hazard = state.config, state.hazards[name]
    if not isinstance(config, FailuresConfig):
        return []
    kind = OUTAGE_DOMAINS[name].fault_kind
    while hazard.next_us is not None and hazard.next_us <= state.now_us:
        drawn = state.seeds.own, state.fabric, name, config
        until_us = state.now_us + draw_outage_us(*drawn, hazard.drawn)
        for cube in draw_cubes(*drawn, state.plant, hazard.drawn):
            target = state.plant.part("cube", cube, state.fabric).name
            if not _is_broken(state, kind, target):
                began = (message.id, False, state.now_us, until_us, None, 0)
                emitted.append(_begin(state, FaultRecord(kind, target, *began)))
        hazard = state.within(next_outage(*drawn, state.plant, hazard))
    state.hazards[name] = hazard
    return emitted


def on_drill_order(state: FailuresState, body: DrillOrder, message: Envelope) -> list[Output]:
    """Handle a drill's order as an operator's request. A fault that it injects has expired when the drill's
    lease ends, even if no undo ends it, and a parameter has its value before."""
    request = body.request
    if isinstance(request, InjectFault):
        lease_us = max(1, body.lease_ends_us - state.now_us)
        duration_us = lease_us if request.duration_us is None else min(request.duration_us, lease_us)
        return _inject(state, request, message, duration_us, body.drill)
    if isinstance(request, ClearFault):
        return on_clear(state, request, message)
    if isinstance(request, SetParameters):
        return on_drill_sets(state, body, request, message)
    return []


def on_inject(state: FailuresState, body: InjectFault, message: Envelope) -> list[Output]:
    return _inject(state, body, message, body.duration_us, None)


def _inject(
    state: FailuresState, body: InjectFault, message: Envelope, duration_us: int | None, drill: str | None
) -> list[Output]:
    refusal = _injection_refusal(state, body)
    if refusal is not None:
        return [FaultRefused(subject=body.target, reason=refusal)]
    expires_us = None if duration_us is None else state.now_us + duration_us
    severity = body.severity
    if severity is None:
        severity = draw_severity(state.seeds.own, state.fabric, body.kind, state.next_number)
    began = (message.id, True, state.now_us, expires_us, severity, body.onset_us or 0)
    fault = FaultRecord(
        body.kind, body.target, *began, comment=body.comment, asked_by=body.asked_by, drill=drill
    )
    return [_begin(state, fault)]


def _injection_refusal(state: FailuresState, body: InjectFault) -> str | None:
    """Why this fault cannot be injected, or None."""
    try:
        fault_target(body.kind, body.target, state.fabric, state.plant)
        check_strays(body.kind, state.technology)
        check_severity(body.kind, body.severity, body.onset_us)
    except InvalidInput as error:
        return str(error)
    if len(state.active) >= ACTIVE_MAX:
        return f"target: {len(state.active)} faults are active; must be fewer than {ACTIVE_MAX}"
    return None


def on_rekey(state: FailuresState, body: RekeyDraws, _message: Envelope) -> list[Output]:
    rekey(state, body.salt)
    return []


def on_clear(state: FailuresState, body: ClearFault, _message: Envelope) -> list[Output]:
    """Clear a fault. Clearing a fault that is not active changes nothing."""
    name = body.fault
    fabric, _, number = name.partition("/fault-")
    if fabric == state.fabric and int(number) in state.active:
        return [_end(state, int(number), "cleared")]
    return [FaultRefused(subject=name, reason=_clear_refusal(state, name, fabric, int(number)))]


def _clear_refusal(state: FailuresState, name: str, fabric: str, number: int) -> str:
    if fabric != state.fabric:
        return f"fault: {name!r} is not allowed; must be an active fault of {state.fabric}"
    if number >= state.next_number:
        return f"fault: {name!r} has never begun; must be an active fault"
    ended = state.ended.get(number)
    how = f" ({ended.how} at {ended.ended_us} us)" if ended is not None else ""
    return f"fault: {name!r} has already ended{how}; must be an active fault"


def on_repair_completed(state: FailuresState, body: RepairCompleted, _message: Envelope) -> list[Output]:
    """End the faults that the work repairs, if it succeeds.

    Domain outages are excluded: the building's staff ends them.
    """
    numbers = sorted(
        number
        for number, fault in state.active.items()
        if fault.target == body.target
        and covers(body.work, FAULTS[fault.kind].work)
        and not fault.is_domain_failure
    )
    chance = WORK_DEFINITIONS[body.work].succeeds
    if chance is not None:
        drawn = (state.seeds.own, body.repair, "work succeeds")
        numbers = [number for number in numbers if draw_uniform(*drawn, number) < assumed(chance)]
    if covers(body.work, "replace") and ageing(state.config).matters:
        state.renewed[body.target] = state.now_us
    return [_end(state, number, "repaired") for number in numbers + _batches_replaced(state, body)]


def _batches_replaced(state: FailuresState, body: RepairCompleted) -> list[int]:
    """The bad batches whose last module was replaced now. A new module is from another batch."""
    numbers = sorted(number for number, fault in state.active.items() if fault.kind == "batch")
    part = state.plant.parse(body.target) if numbers and covers(body.work, "replace") else None
    if part is None or part.kind != FAULTS["link"].strikes:
        return []
    over = []
    for number in numbers:
        ends = affected_ends(state.plant, "batch", state.active[number].target)
        if part.number in ends:
            state.replaced[number] = tuple(sorted({*state.replaced.get(number, ()), part.number}))
            if state.replaced[number] == ends:
                over.append(number)
    return over


def _begin(state: FailuresState, fault: FaultRecord) -> FaultBegan:
    number = state.next_number
    name = state.fault_name(number)
    state.active[number] = fault
    state.begun[fault.kind] += 1
    _touch(state, number)
    return FaultBegan(
        fault=name,
        kind=fault.kind,
        target=fault.target,
        injected=fault.injected,
        severity=fault.severity,
        onset_us=fault.onset_us,
        expires_us=fault.expires_us,
        drill=fault.drill,
    )


def _end(state: FailuresState, number: int, how: EndedHow) -> FaultEnded:
    fault = state.active.pop(number)
    state.replaced.pop(number, None)
    ended = EndedFault(
        kind=fault.kind,
        target=fault.target,
        cause=fault.cause,
        injected=fault.injected,
        began_us=fault.began_us,
        expires_us=fault.expires_us,
        severity=fault.severity,
        onset_us=fault.onset_us,
        comment=fault.comment,
        asked_by=fault.asked_by,
        drill=fault.drill,
        ended_us=state.now_us,
        how=how,
    )
    _touch(state, number)
    forgotten = add_ended(state.ended, number, ended)
    if forgotten is not None:
        _touch(state, forgotten)
    return FaultEnded(fault=state.fault_name(number), kind=fault.kind, target=fault.target, how=how)


def _touch(state: FailuresState, number: int) -> None:
    state.changed_documents.add(("faults", state.fault_name(number)))
    state.changed_documents.add(("summaries", f"{state.fabric}/failures"))
