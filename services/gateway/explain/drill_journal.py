"""The record of a drill: a pure projection of the messages of its site's log.

The lab, an embedded twin and a twin on Kafka have the same log for the same start, so they have the same
record. It contains no wall time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.api.drill_journal import (
    DrillFault,
    DrillJournal,
    JournalPositions,
    LimitRecord,
    PhaseSpan,
    ProbeRecord,
    StepRecord,
    StopRecord,
    UndoRecord,
    VerdictChange,
)
from schemas.body import Body
from schemas.drill_plan import PHASES, DrillPlan
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill, StopAllDrills, StopDrill
from schemas.messages.drills import (
    DrillBegun,
    DrillDeviated,
    DrillDue,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillStepEnded,
    DrillStopped,
    DrillTargetsDrawn,
    ProbeChanged,
    Verdict,
)
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.registry import REFUSALS
from schemas.request_metadata import RequestBody
from shared.basics.errors import InvalidInput

ProbeKey = tuple[str, str | None]
"""(probe, target)."""
DRILL_MESSAGES = (
    *(DrillBegun, DrillTargetsDrawn, DrillPhaseBegun, DrillOrder, DrillStepEnded),
    *(ProbeChanged, DrillDeviated, DrillStopped, DrillEnded),
)
"""Types of messages that name their drill."""
REQUESTS = (RunDrill, DrillDue, StopDrill, StopAllDrills)
"""Messages that start or stop drills."""
WORST_FIRST: tuple[Verdict, ...] = ("violated", "passed", "not-measured")


@dataclass(slots=True)
class _Order:
    """An order of the drill, and what followed from it."""

    message: Envelope
    body: DrillOrder
    refusal: str | None = None


@dataclass(slots=True)
class _Collected:
    """The messages of one drill, sorted by what they tell."""

    requests: dict[str, Envelope] = field(default_factory=dict)
    """Requests to start or stop drills, by id."""
    begun: Envelope | None = None
    run: RunDrill | DrillDue | None = None
    targets: DrillTargetsDrawn | None = None
    phases: list[tuple[int, DrillPhaseBegun]] = field(default_factory=list)
    probes: list[tuple[int, ProbeChanged]] = field(default_factory=list)
    deviated: list[DrillDeviated] = field(default_factory=list)
    orders: dict[str, _Order] = field(default_factory=dict)
    steps: list[tuple[int, DrillStepEnded]] = field(default_factory=list)
    faults: dict[str, tuple[Envelope, FaultBegan]] = field(default_factory=dict)
    ended_faults: dict[str, tuple[int, str]] = field(default_factory=dict)
    most_faults: int = 0
    stopped: tuple[Envelope, DrillStopped] | None = None
    ended: tuple[int, DrillEnded] | None = None
    first: int = 0
    last: int = 0


def drill_journal(messages: Iterable[tuple[int, Envelope]], drill: str, software: str) -> DrillJournal:
    """The record of a drill from (position, message) of its site's log, at least from the request that
    started it to its end, or so far. `software` is the version of this software.

    Raise InvalidInput if the messages do not have the drill's start."""
    found = _collect(messages, drill)
    begun, run = found.begun, found.run
    if begun is None or run is None or not isinstance(begun.body, DrillBegun):
        raise InvalidInput(f"drill {drill!r}: its start is not among these messages")
    plan = run.plan
    ended_us, ended = found.ended or (None, None)
    last_phase = found.phases[-1][1].phase if found.phases else None
    return DrillJournal(
        drill=drill,
        fabric=begun.fabric,
        title=begun.body.title,
        tags=plan.tags,
        document_sha256=begun.body.document_sha256,
        seed=begun.body.seed,
        request=str(begun.cause),
        asked_by=run.asked_by,
        comment=run.comment,
        schedule=begun.body.schedule,
        software=software,
        positions=JournalPositions(first=found.first, last=found.last),
        began_us=begun.at_us,
        ended_us=ended_us,
        lease_ends_us=begun.body.lease_ends_us,
        status=None if ended is None else ended.status,
        deviated=bool(found.deviated) if ended is None else ended.deviated,
        reason=None if ended is None else ended.reason,
        stop=_stop_record(found),
        phases=_phase_spans(found, ended_us),
        targets=() if found.targets is None else found.targets.targets,
        probes=_probe_records(found, plan, ended_us),
        steps=_step_records(found, plan, is_over=ended is not None or last_phase not in (None, *PHASES[:2])),
        limits=_limit_records(found, plan),
        faults=_fault_records(found),
        undo=tuple(_undo_record(order) for order in found.orders.values() if order.body.is_undo),
        left=() if ended is None else ended.left,
        plan=plan,
    )


def _collect(messages: Iterable[tuple[int, Envelope]], drill: str) -> _Collected:
    found = _Collected()
    for position, message in messages:
        body = message.body
        if isinstance(body, REQUESTS):
            found.requests[message.id] = message
        elif isinstance(body, DRILL_MESSAGES):
            if body.drill == drill:
                _take(found, position, message, body)
        elif found.begun is not None:
            _take_effect(found, position, message, body)
        if found.ended is not None and not _active(found):
            break
    return found


def _take(found: _Collected, position: int, message: Envelope, body: Body) -> None:
    """Take a message that names the drill."""
    at_us = message.at_us
    found.last = position
    match body:
        case DrillBegun():
            found.begun, found.first = message, position
            request = found.requests.get(message.cause or "")
            if request is not None and isinstance(request.body, RunDrill | DrillDue):
                found.run = request.body
        case DrillTargetsDrawn():
            found.targets = body
        case DrillPhaseBegun():
            found.phases.append((at_us, body))
        case DrillOrder():
            found.orders[message.id] = _Order(message, body)
        case DrillStepEnded():
            found.steps.append((at_us, body))
        case ProbeChanged():
            found.probes.append((at_us, body))
        case DrillDeviated():
            found.deviated.append(body)
        case DrillStopped():
            found.stopped = found.stopped or (message, body)
        case DrillEnded():
            found.ended = at_us, body


def _take_effect(found: _Collected, position: int, message: Envelope, body: Body) -> None:
    """Take what follows from the drill's orders: its faults, and refusals."""
    order = found.orders.get(message.cause or "")
    if isinstance(body, FaultBegan) and order is not None:
        found.faults[body.fault] = message, body
        found.most_faults = max(found.most_faults, len(_active(found)))
        found.last = position
    elif isinstance(body, FaultEnded) and body.fault in found.faults:
        found.ended_faults[body.fault] = message.at_us, body.how
        found.last = position
    elif order is not None and isinstance(body, REFUSALS.get(order.body.request_type, ())):
        order.refusal = str(getattr(body, "reason", type(body).__name__))
        found.last = position


def _active(found: _Collected) -> set[str]:
    return found.faults.keys() - found.ended_faults.keys()


def _stop_record(found: _Collected) -> StopRecord | None:
    if found.stopped is None:
        return None
    message, body = found.stopped
    request = found.requests.get(message.cause or "")
    by = request.body.asked_by if request is not None and isinstance(request.body, RequestBody) else None
    return StopRecord(id=message.id, at_us=message.at_us, cause=body.cause, reason=body.reason, by=by)


def _phase_spans(found: _Collected, ended_us: int | None) -> tuple[PhaseSpan, ...]:
    ends = [at_us for at_us, _ in found.phases[1:]]
    return tuple(
        PhaseSpan(phase=body.phase, from_us=at_us, to_us=to_us)
        for (at_us, body), to_us in zip(found.phases, [*ends, ended_us], strict=False)
    )


def _probe_records(found: _Collected, plan: DrillPlan, ended_us: int | None) -> tuple[ProbeRecord, ...]:
    """The probes of every phase that began, in the order of the plan; those without a reading have the
    verdict `not-measured`."""
    allowed = {(row.probe, row.phase): row.for_us for row in plan.allowances}
    last_us = max((at_us for at_us, _ in found.probes), default=0)
    records = []
    for span in _phase_spans(found, ended_us):
        in_phase = [(at_us, body) for at_us, body in found.probes if body.phase == span.phase]
        for probe in plan.probes:
            own = [body for _, body in in_phase if body.probe == probe.name]
            keys = dict.fromkeys((body.probe, body.target) for body in own)
            for key in keys or {(probe.name, None): None}:
                changes = tuple(
                    VerdictChange(at_us=at_us, verdict=body.verdict, compared=body.values)
                    for at_us, body in in_phase
                    if (body.probe, body.target) == key
                )
                records.append(
                    ProbeRecord(
                        probe=probe.name,
                        phase=span.phase,
                        target=key[1],
                        verdict=_worst(changes),
                        violated_us=_violated_us(changes, span.to_us or last_us),
                        allowed_us=allowed.get((probe.name, span.phase), 0),
                        deviated=_has_deviated(found, span, key),
                        changes=changes,
                    )
                )
    return tuple(records)


def _has_deviated(found: _Collected, span: PhaseSpan, key: ProbeKey) -> bool:
    return any((body.probe, body.target) == key and body.phase == span.phase for body in found.deviated)


def _worst(changes: Sequence[VerdictChange]) -> Verdict:
    """The worst verdict: `violated` before `passed`, and `not-measured` only if there is no other."""
    seen = {change.verdict for change in changes}
    return next((verdict for verdict in WORST_FIRST if verdict in seen), "not-measured")


def _violated_us(changes: Sequence[VerdictChange], end_us: int) -> int:
    """For how long a probe was violated, up to `end_us`."""
    ends = [change.at_us for change in changes[1:]] + [end_us]
    return sum(
        max(0, to_us - change.at_us)
        for change, to_us in zip(changes, ends, strict=False)
        if change.verdict == "violated"
    )


def _step_records(found: _Collected, plan: DrillPlan, *, is_over: bool) -> tuple[StepRecord, ...]:
    """The repeats of steps that ended, in the order of their ends, and the steps that have sent orders and
    have not ended."""
    method_us = next((at_us for at_us, body in found.phases if body.phase == "method"), None)
    steps = {step.name: step for step in plan.steps}
    orders: dict[str, list[Envelope]] = {}
    for order in found.orders.values():
        if not order.body.is_undo:
            orders.setdefault(order.body.step, []).append(order.message)
    before_us, records = method_us, []
    for at_us, body in found.steps:
        own = [message for message in orders.get(body.step, ()) if message.at_us <= at_us]
        orders[body.step] = [message for message in orders.get(body.step, ()) if message.at_us > at_us]
        records.append(_step_record(steps, body, own, before_us, at_us))
        before_us = at_us
    for name, own in orders.items():
        if own and not is_over:
            repeat = 1 + sum(body.step == name for _, body in found.steps)
            open_step = DrillStepEnded(drill="", step=name, repeat=repeat, outcome="done", reason=None)
            records.append(_step_record(steps, open_step, own, before_us, None))
    return tuple(records)


def _step_record(
    steps: dict[str, Any], body: DrillStepEnded, own: list[Envelope], before_us: int | None, at_us: int | None
) -> StepRecord:
    """One repeat of a step. It began with its first order, or when the step before ended."""
    step = steps.get(body.step)
    began_us = own[0].at_us if own else before_us
    return StepRecord(
        step=body.step,
        what="request" if step is None else step.what,
        verb=None if step is None else step.verb,
        repeat=body.repeat,
        outcome=None if at_us is None else body.outcome,
        reason=body.reason,
        began_us=(at_us or 0) if began_us is None else began_us,
        ended_us=at_us,
        requests=tuple(message.id for message in own),
    )


def _limit_records(found: _Collected, plan: DrillPlan) -> tuple[LimitRecord, ...]:
    return tuple(
        LimitRecord(
            what=limit.what,
            at_most=limit.at_most,
            reached=found.most_faults if limit.what == "faults" else None,
        )
        for limit in plan.limits
    )


def _fault_records(found: _Collected) -> tuple[DrillFault, ...]:
    records = []
    for name, (message, body) in found.faults.items():
        ended_us, how = found.ended_faults.get(name, (None, None))
        records.append(
            DrillFault(
                fault=name,
                kind=body.kind,
                target=body.target,
                step=found.orders[str(message.cause)].body.step,
                severity=body.severity,
                began_us=message.at_us,
                expires_us=body.expires_us,
                ended_us=ended_us,
                how=how,
            )
        )
    return tuple(records)


def _undo_record(order: _Order) -> UndoRecord:
    """An undo. Its subject is the first name in its request."""
    request = order.body.request
    fields = ("fault", "cube", "slice", "rewiring", "ocs")
    subject = next((getattr(request, name) for name in fields if hasattr(request, name)), None)
    return UndoRecord(
        id=order.message.id,
        step=order.body.step,
        fabric=order.body.fabric,
        type=order.body.request_type,
        subject=subject,
        at_us=order.message.at_us,
        refused=order.refusal is not None,
        reason=order.refusal,
    )
