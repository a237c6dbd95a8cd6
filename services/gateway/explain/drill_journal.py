"""The record of a drill: a pure projection of the messages of its site's log.

The lab, an embedded twin and a twin on Kafka have the same log for the same start, so they have the same
record. It contains no wall time.
"""

from collections.abc import Iterable, Sequence
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
from schemas.drill_plan import PHASES
from schemas.envelope import Envelope
from schemas.messages.drills import DrillStepEnded, Verdict
from schemas.request_metadata import RequestBody
from services.gateway.explain.drill_record import DrillRecord, ProbeKey, RecordedOrder, read_record
from shared.basics.errors import InvalidInput

WORST_FIRST: tuple[Verdict, ...] = ("violated", "not-measured", "passed")


def drill_journal(messages: Iterable[tuple[int, Envelope]], drill: str, software: str) -> DrillJournal:
    """The record of a drill from (position, message) of its site's log, at least from the request that
    started it to its end, or so far. `software` is the version of this software.

    Raise InvalidInput if the messages do not have the drill's start."""
    found = read_record(messages, drill, {})
    if found.begun is None:
        raise InvalidInput(f"drill {drill!r}: its start is not among these messages")
    begun, started = found.begun
    plan, ended = found.plan, found.end
    ended_us = None if ended is None else found.end_us
    last_phase = found.phases[-1][1].phase if found.phases else None
    return DrillJournal(
        drill=drill,
        fabric=begun.fabric,
        title=started.title,
        tags=plan.tags,
        document_sha256=started.document_sha256,
        seed=started.seed,
        request=str(begun.cause),
        asked_by=found.run.asked_by,
        comment=found.run.comment,
        schedule=started.schedule,
        software=software,
        positions=JournalPositions(first=found.first, last=found.last),
        began_us=begun.at_us,
        ended_us=ended_us,
        lease_ends_us=started.lease_ends_us,
        status=None if ended is None else ended.status,
        deviated=bool(found.deviations) if ended is None else ended.deviated,
        reason=None if ended is None else ended.reason,
        stop=_stop_record(found),
        phases=_phase_spans(found, ended_us),
        targets=() if found.drawn is None else found.drawn.targets,
        probes=_probe_records(found, ended_us),
        steps=_step_records(found, is_over=ended is not None or last_phase not in (None, *PHASES[:2])),
        limits=_limit_records(found),
        faults=_fault_records(found),
        undo=tuple(_undo_record(order) for order in found.orders.values() if order.body.is_undo),
        left=() if ended is None else ended.left,
        plan=plan,
    )


def _stop_record(found: DrillRecord) -> StopRecord | None:
    if found.stopped is None:
        return None
    message, body = found.stopped
    request = found.stops.get(message.cause or "")
    by = request.body.asked_by if request is not None and isinstance(request.body, RequestBody) else None
    return StopRecord(id=message.id, at_us=message.at_us, cause=body.cause, reason=body.reason, by=by)


def _phase_spans(found: DrillRecord, ended_us: int | None) -> tuple[PhaseSpan, ...]:
    ends = [message.at_us for message, _ in found.phases[1:]]
    return tuple(
        PhaseSpan(phase=body.phase, from_us=message.at_us, to_us=to_us)
        for (message, body), to_us in zip(found.phases, [*ends, ended_us], strict=False)
    )


def _probe_records(found: DrillRecord, ended_us: int | None) -> tuple[ProbeRecord, ...]:
    """The probes of every phase that began, in the order of the plan; those without a reading have the
    verdict `not-measured`."""
    plan = found.plan
    last_us = max((message.at_us for message, _ in found.probes), default=0)
    records = []
    for span in _phase_spans(found, ended_us):
        in_phase = [(message.at_us, body) for message, body in found.probes if body.phase == span.phase]
        for probe in plan.probes:
            own = [body for _, body in in_phase if body.probe == probe.name]
            keys = dict.fromkeys((body.probe, body.target) for body in own)
            for key in keys or {(probe.name, None): None}:
                changes = tuple(
                    VerdictChange(at_us=at_us, verdict=body.verdict, compared=body.compared)
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
                        allowed_us=plan.allowed_us(probe.name, span.phase),
                        deviated=_has_deviated(found, span, key),
                        changes=changes,
                    )
                )
    return tuple(records)


def _has_deviated(found: DrillRecord, span: PhaseSpan, key: ProbeKey) -> bool:
    return any((body.probe, body.target) == key and body.phase == span.phase for _, body in found.deviations)


def _worst(changes: Sequence[VerdictChange]) -> Verdict:
    """The worst verdict. What was not measured all the time has not passed."""
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


def _step_records(found: DrillRecord, *, is_over: bool) -> tuple[StepRecord, ...]:
    """The repeats of steps that ended, in the order of their ends, and the steps that have sent orders and
    have not ended."""
    method_us = found.phase_us("method")
    steps = {step.name: step for step in found.plan.steps}
    orders: dict[str, list[Envelope]] = {}
    for order in found.orders.values():
        if not order.body.is_undo:
            orders.setdefault(order.body.step, []).append(order.message)
    before_us, records = method_us, []
    for message, body in found.steps:
        at_us = message.at_us
        own = [order for order in orders.get(body.step, ()) if order.at_us <= at_us]
        orders[body.step] = [order for order in orders.get(body.step, ()) if order.at_us > at_us]
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


def _limit_records(found: DrillRecord) -> tuple[LimitRecord, ...]:
    return tuple(
        LimitRecord(
            what=limit.what,
            at_most=limit.at_most,
            reached=found.most_faults if limit.what == "faults" else None,
        )
        for limit in found.plan.limits
    )


def _fault_records(found: DrillRecord) -> tuple[DrillFault, ...]:
    records = []
    for name, (message, body) in found.faults.items():
        ended = found.ended_faults.get(name)
        records.append(
            DrillFault(
                fault=name,
                kind=body.kind,
                target=body.target,
                step=found.orders[str(message.cause)].body.step,
                severity=body.severity,
                began_us=message.at_us,
                expires_us=body.expires_us,
                ended_us=None if ended is None else ended[0].at_us,
                how=None if ended is None else ended[1].how,
            )
        )
    return tuple(records)


def _undo_record(order: RecordedOrder) -> UndoRecord:
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
