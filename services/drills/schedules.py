"""Schedules of drills: what operators request, and the runs that are due.

A run that would overlap another drill of the site, or that is due while drills are held, is skipped with a
message on the log. It does not happen later.
"""

from schemas.envelope import Envelope
from schemas.messages.drill_requests import ScheduleDrill, UnscheduleDrill
from schemas.messages.drills import (
    DrillBegun,
    DrillDue,
    DrillEnded,
    DrillRefused,
    DrillScheduled,
    DrillSkipped,
    DrillUnscheduled,
)
from schemas.names import number_of
from services.drills.occurrences import next_due_us, window_end_us, window_text
from services.drills.plan_checks import plan_problem
from services.drills.state import SCHEDULES_MAX, DrillRun, DrillSchedule, DrillsState, LastRun
from shared.basics.keyed_random import draw_bits
from shared.basics.time_format import format_duration, format_time
from shared.engine.service import Output


def on_schedule(state: DrillsState, body: ScheduleDrill, _message: Envelope) -> list[Output]:
    """Schedule a drill, or refuse it."""
    reason = _refusal(state, body)
    timing = body.plan.schedule
    if reason is not None or timing is None:
        return [DrillRefused(subject=state.fabric, reason=reason or "plan: has no schedule")]
    first_us = state.now_us + timing.every_us if body.first_us is None else body.first_us
    number, lease_us = state.scheduled, body.plan.lease_us
    state.scheduled += 1
    schedule = DrillSchedule(
        plan=body.plan,
        seed=body.seed,
        timing=timing,
        first_us=first_us,
        next_us=next_due_us(timing, first_us, lease_us, state.now_us),
        scheduled_us=state.now_us,
        requested_by=body.asked_by,
        comment=body.comment,
    )
    state.put_schedule(number, schedule)
    return [
        DrillScheduled(
            schedule=state.schedule_name(number),
            title=body.plan.title,
            document_sha256=body.plan.document_sha256,
            seed=body.seed,
            every_us=timing.every_us,
            next_us=schedule.next_us,
        )
    ]


def _refusal(state: DrillsState, body: ScheduleDrill) -> str | None:
    timing, plan = body.plan.schedule, body.plan
    if timing is None:
        return "plan: has no schedule; must have an interval"
    if len(state.schedules) >= SCHEDULES_MAX:
        return f"{state.fabric} has {len(state.schedules)} schedules; must have at most {SCHEDULES_MAX}"
    for number, other in state.schedules.items():
        if other.plan.document_sha256 == plan.document_sha256:
            return f"the document is scheduled already: {state.schedule_name(number)}"
    if body.first_us is not None and body.first_us <= state.now_us:
        return f"first_us: {format_time(body.first_us)} is past; must be after {format_time(state.now_us)}"
    if timing.window is not None and plan.gate_us >= timing.window.length_us:
        gate, window = format_duration(plan.gate_us), window_text(timing.window)
        return f"gate_us: {gate} must be shorter than the window {window}"
    return plan_problem(plan)


def on_unschedule(state: DrillsState, body: UnscheduleDrill, _message: Envelope) -> list[Output]:
    """End a schedule. A run that has begun continues."""
    name = body.schedule
    number = number_of(name)
    if name.partition("/")[0] != state.fabric or number not in state.schedules:
        return [DrillRefused(subject=name, reason=f"schedule: {name!r} does not exist, or has ended")]
    del state.schedules[number]
    state.changed_documents.add(("schedules", name))
    return [DrillUnscheduled(schedule=name)]


def next_run_us(state: DrillsState) -> int | None:
    """When the next schedule is due."""
    return min((schedule.next_us for schedule in state.schedules.values()), default=None)


def begin_due(state: DrillsState, due_us: int) -> list[Output]:
    """Begin the runs that are due, at most one; skip the others."""
    emitted: list[Output] = []
    taken = _skip_reason(state)
    for number, schedule in list(state.schedules.items()):
        if schedule.next_us > due_us:
            continue
        name, timing = state.schedule_name(number), schedule.timing
        following_us = next_due_us(timing, schedule.first_us, schedule.plan.lease_us, state.now_us)
        state.put_schedule(number, schedule, next_us=following_us, due=schedule.due + 1)
        if taken is not None:
            emitted.append(skip(state, number, schedule.due, taken))
            continue
        taken = f"a run of {name} begins at the same time"
        window = timing.window
        emitted.append(
            DrillDue(
                schedule=name,
                occurrence=schedule.due,
                plan=schedule.plan,
                seed=draw_bits(schedule.seed, "schedule", "occurrence", schedule.due) >> 12,
                ends_us=None if window is None else window_end_us(window, state.now_us),
                asked_by=schedule.requested_by,
                comment=schedule.comment,
            )
        )
    return emitted


def _skip_reason(state: DrillsState) -> str | None:
    if state.hold is not None:
        since = format_time(state.hold.since_us)
        return f"drills have been held since {since} ({state.hold.reason})"
    running = [*(state.drill_name(number) for number in state.running), *state.elsewhere]
    return f"{running[0]} runs" if running else None


def skip(state: DrillsState, number: int, occurrence: int, reason: str) -> DrillSkipped:
    """Note that a run does not happen, and return the message."""
    schedule = state.schedules[number]
    last = LastRun(state.now_us, "skipped", reason=reason)
    schedule = state.put_schedule(number, schedule, skipped=schedule.skipped + 1, last=last)
    return DrillSkipped(
        schedule=state.schedule_name(number),
        occurrence=occurrence,
        reason=reason,
        next_us=schedule.next_us,
    )


def note_begun(state: DrillsState, schedule: str, drill: int) -> None:
    """Note that a run of a schedule has begun."""
    number = number_of(schedule)
    found = state.schedules.get(number)
    if found is not None:
        state.put_schedule(number, found, drill=drill, runs=found.runs + 1)


def note_ended(state: DrillsState, drill: int, run: DrillRun) -> None:
    """Note how a run of a schedule ended."""
    number = None if run.schedule is None else number_of(run.schedule)
    found = None if number is None else state.schedules.get(number)
    if number is not None and found is not None and found.drill == drill and run.status is not None:
        last = LastRun(state.now_us, run.status, state.drill_name(drill), run.deviated, run.reason)
        state.put_schedule(number, found, drill=None, last=last)


def on_begun(state: DrillsState, body: DrillBegun, message: Envelope) -> list[Output]:
    """Note a drill of another fabric: no scheduled run overlaps it."""
    if message.fabric != state.fabric:
        state.elsewhere[body.drill] = message.fabric
    return []


def on_ended(state: DrillsState, body: DrillEnded, _message: Envelope) -> list[Output]:
    state.elsewhere.pop(body.drill, None)
    return []
