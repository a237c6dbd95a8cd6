"""Status documents of drills: running and recent ones, and a summary."""

from collections.abc import Iterator

from schemas.documents.drills import (
    DeskDocument,
    DrillDocument,
    DrillsSummary,
    EffectDocument,
    LampDocument,
    LimitDocument,
    NamedCulprit,
    ScheduleDocument,
    StepDocument,
    StepState,
)
from schemas.names import number_of
from services.drills.occurrences import window_text
from services.drills.state import DrillRun, DrillSchedule, DrillsState
from shared.engine.service import DocumentKey


def document_keys(state: DrillsState) -> Iterator[DocumentKey]:
    for number in sorted([*state.running, *state.ended]):
        name = state.drill_name(number)
        yield "drills", name
        run = state.running.get(number) or state.ended[number]
        if run.desk is not None:
            yield "desks", name
    for number in sorted(state.schedules):
        yield "schedules", state.schedule_name(number)
    yield "summaries", f"{state.fabric}/drills"


AnyDocument = DrillDocument | DeskDocument | DrillsSummary | ScheduleDocument
"""A status document of this service."""


def document(state: DrillsState, key: DocumentKey) -> AnyDocument | None:
    kind, name = key
    if kind == "summaries":
        return _summary(state, name)
    number = number_of(name)
    if kind == "schedules":
        schedule = state.schedules.get(number)
        return None if schedule is None else _schedule(state, name, schedule)
    run = state.running.get(number) or state.ended.get(number)
    if run is None:
        return None
    return _desk(name, run) if kind == "desks" else _drill(name, run)


def _summary(state: DrillsState, name: str) -> DrillsSummary:
    ended = state.outcomes
    return DrillsSummary(
        name=name,
        running=len(state.running),
        begun=state.begun,
        completed=ended.get("completed", 0),
        stopped=ended.get("stopped", 0),
        cancelled=ended.get("cancelled", 0),
        failed=ended.get("failed", 0),
        deviated=ended.get("deviated", 0),
        hold=None if state.hold is None else state.hold.reason,
        held_us=None if state.hold is None else state.hold.since_us,
    )


def _drill(name: str, run: DrillRun) -> DrillDocument:
    steps = tuple(_steps(run))
    return DrillDocument(
        name=name,
        title=run.title,
        document_sha256=run.document_sha256,
        tags=run.tags,
        seed=run.seed,
        requested_by=run.requested_by,
        began_us=run.began_us,
        ended_us=run.ended_us,
        lease_ends_us=run.lease_ends_us,
        phase=run.phase,
        phase_us=run.phase_us,
        status=run.status,
        deviated=run.deviated,
        stopped=run.stopped,
        reason=run.reason,
        step=next((step.name for step in steps if step.state in ("waiting", "running")), None),
        lamps=tuple(_lamps(run)),
        steps=steps,
        targets=run.targets,
        limits=tuple(_limits(run)),
        effects=tuple(
            EffectDocument(
                kind=one.kind, name=one.name, step=one.step, began_us=one.began_us, ended_us=one.ended_us
            )
            for one in run.effects
        ),
        active_faults=run.active_faults,
        left=run.left,
        schedule=run.schedule,
    )


def _schedule(state: DrillsState, name: str, schedule: DrillSchedule) -> ScheduleDocument:
    last, window = schedule.last, schedule.timing.window
    return ScheduleDocument(
        name=name,
        title=schedule.plan.title,
        document_sha256=schedule.plan.document_sha256,
        state="waiting" if schedule.drill is None else "running",
        every_us=schedule.timing.every_us,
        between=None if window is None else window_text(window),
        seed=schedule.seed,
        requested_by=schedule.requested_by,
        scheduled_us=schedule.scheduled_us,
        next_us=schedule.next_us,
        drill=None if schedule.drill is None else state.drill_name(schedule.drill),
        runs=schedule.runs,
        skipped=schedule.skipped,
        last_us=None if last is None else last.at_us,
        last_drill=None if last is None else last.drill,
        last_outcome=None if last is None else last.outcome,
        last_deviated=None if last is None else last.deviated,
        last_reason=None if last is None else last.reason,
    )


def _desk(name: str, run: DrillRun) -> DeskDocument | None:
    desk = run.desk
    if desk is None:
        return None
    hints = desk.game.hints
    return DeskDocument(
        name=name,
        brief=desk.game.brief,
        began_us=run.began_us,
        ended_us=run.ended_us,
        find_us=desk.game.find_us,
        act_us=desk.game.act_us,
        acknowledged_us=desk.acknowledged_us,
        acknowledged_by=desk.acknowledged_by,
        hints=hints[: desk.hints_taken],
        hints_left=len(hints) - desk.hints_taken,
        culprits=tuple(
            NamedCulprit(culprit=one.culprit, at_us=one.at_us, trainee=one.trainee) for one in desk.culprits
        ),
    )


def _lamps(run: DrillRun) -> Iterator[LampDocument]:
    for lamp in run.lamps:
        yield LampDocument(
            probe=lamp.probe,
            phase=lamp.phase,
            target=lamp.target,
            verdict=lamp.verdict,
            violated_us=lamp.violated_us,
            allowed_us=lamp.allowed_us,
            deviated=lamp.deviated,
            since_us=lamp.since_us,
            compared=lamp.compared,
            problem=lamp.problem,
        )


def _steps(run: DrillRun) -> Iterator[StepDocument]:
    for (name, repeats), one in zip(run.repeats, run.steps, strict=True):
        state: StepState = one.outcome or ("waiting" if one.begun_us is None else "running")
        yield StepDocument(name=name, state=state, repeat=one.sent, repeats=repeats, reason=one.reason)


def _limits(run: DrillRun) -> Iterator[LimitDocument]:
    used = {one.what: one.count for one in run.used}
    for what, at_most in run.limits:
        yield LimitDocument(what=what, used=used.get(what, 0), at_most=at_most)
