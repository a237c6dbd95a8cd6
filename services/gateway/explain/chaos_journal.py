"""The journal of a drill in the form of the Chaos Toolkit, so that its report tools can read it.

The form is that of chaostoolkit-lib 1.44 (`chaoslib.run.initialize_run_journal`). The field `lightwave` has
the whole record. Times are simulated: the start of the site is written as 1970-01-01.
"""

from datetime import datetime, timedelta
from typing import Any

from pydantic_core import to_jsonable_python

from schemas.api.drill_journal import (
    DrillFault,
    DrillJournal,
    ProbeRecord,
    StepRecord,
    UndoRecord,
    VerdictChange,
)
from schemas.drill_plan import Phase
from schemas.messages.drills import DrillStatus, StopCause
from shared.basics.json_types import JsonObject, JsonValue
from shared.basics.units import US_PER_S

CHAOSLIB_VERSION = "1.44.0"
"""The version of chaostoolkit-lib whose form the journal has."""
VERBS = "ops.drills.verbs"
START = datetime(1970, 1, 1)  # noqa: DTZ001 -- the Chaos Toolkit writes times without a zone
DURING: tuple[Phase, ...] = ("method", "settle", "undo")
REQUESTED: tuple[StopCause, ...] = ("operator", "kill-switch")
"""Causes of a stop that a person requested."""


def chaos_journal(record: DrillJournal) -> JsonObject:
    """The journal of a drill, as JSON. `status` is one of the Chaos Toolkit: `completed`, `failed`,
    `aborted`, `interrupted`, or null while the drill runs; `lightwave.status` is the drill's own."""
    end_us = record.ended_us
    return {
        "chaoslib-version": CHAOSLIB_VERSION,
        "platform": f"Lightwave Twin {record.software}",
        "node": record.fabric,
        "experiment": _experiment(record),
        "start": _time(record.began_us),
        "status": _status(record.status, record.stop.cause if record.stop else None),
        "deviated": record.deviated,
        "steady_states": {
            "before": _steady_state(record, "gate"),
            "after": _steady_state(record, "verify"),
            "during": _changes_during(record),
        },
        "run": [_step_run(record, step) for step in record.steps],
        "rollbacks": [_undo_run(undo) for undo in record.undo],
        "end": None if end_us is None else _time(end_us),
        "duration": None if end_us is None else (end_us - record.began_us) / US_PER_S,
        "lightwave": to_jsonable_python(record),
    }


def _status(status: DrillStatus | None, cause: StopCause | None) -> str | None:
    """The Chaos Toolkit's word: `failed` also for a gate that was not passed, `aborted` for a stop by the
    drill's own rules, `interrupted` for one that a person requested."""
    if status is None or status == "completed" or status == "failed":
        return status
    if cause == "gate":
        return "failed"
    return "interrupted" if cause in REQUESTED else "aborted"


def _time(us: int) -> str:
    return (START + timedelta(microseconds=us)).isoformat()


def _experiment(record: DrillJournal) -> JsonObject:
    """The experiment, written again from the plan."""
    plan = record.plan
    probes: list[JsonValue] = [_probe_activity(probe.name, probe.condition) for probe in plan.probes]
    return {
        "title": record.title,
        "description": f"Drill {record.drill} with seed {record.seed}",
        "tags": list(record.tags),
        "steady-state-hypothesis": {"title": "The conditions of the drill are true", "probes": probes},
        "method": [_step_activity(step.name, step.verb or step.what, {}) for step in plan.steps],
        "rollbacks": [],
    }


def _probe_activity(name: str, condition: str) -> JsonObject:
    activity = _activity("probe", name, "condition", {"condition": condition})
    return {**activity, "tolerance": True}


def _step_activity(name: str, verb: str, arguments: JsonObject) -> JsonObject:
    return _activity("action", name, verb.replace("-", "_"), arguments)


def _activity(kind: str, name: str, func: str, arguments: JsonObject) -> JsonObject:
    provider: JsonObject = {"type": "python", "module": VERBS, "func": func, "arguments": arguments}
    return {"type": kind, "name": name, "provider": provider}


def _run(activity: JsonObject, start_us: int, end_us: int | None, *, ok: bool, output: Any) -> JsonObject:
    """One activity that ran."""
    return {
        "activity": activity,
        "output": output,
        "status": "succeeded" if ok else "failed",
        "start": _time(start_us),
        "end": None if end_us is None else _time(end_us),
        "duration": None if end_us is None else (end_us - start_us) / US_PER_S,
    }


def _steady_state(record: DrillJournal, phase: Phase) -> JsonObject | None:
    """The last verdicts in a phase; None if it never began. It is met if every probe was measured and passed
    last."""
    span = next((span for span in record.phases if span.phase == phase), None)
    if span is None:
        return None
    probes = [probe for probe in record.probes if probe.phase == phase]
    measured = [(probe, probe.changes[-1]) for probe in probes if probe.changes]
    runs: list[JsonValue] = [_probe_run(record, probe, change) for probe, change in measured]
    is_met = [change.verdict == "passed" and not probe.deviated for probe, change in measured]
    met = bool(is_met) and all(is_met) and len(measured) == len(probes)
    return {"steady_state_met": met, "probes": runs}


def _changes_during(record: DrillJournal) -> list[Any]:
    """Each change of a verdict between gate and verification, in order of time."""
    changes = [
        (change.at_us, probe, change)
        for probe in record.probes
        if probe.phase in DURING
        for change in probe.changes
    ]
    changes.sort(key=lambda found: found[0])
    return [
        {"steady_state_met": change.verdict == "passed", "probes": [_probe_run(record, probe, change)]}
        for _, probe, change in changes
    ]


def _probe_run(record: DrillJournal, probe: ProbeRecord, change: VerdictChange) -> JsonObject:
    condition = next(row.condition for row in record.plan.probes if row.name == probe.probe)
    name = probe.probe if probe.target is None else f"{probe.probe} ({probe.target})"
    measured = change.verdict != "not-measured"
    run = _run(
        _probe_activity(name, condition),
        change.at_us,
        change.at_us,
        ok=measured,
        output=list(change.compared),
    )
    return {**run, "tolerance_met": change.verdict == "passed"}


def _step_run(record: DrillJournal, step: StepRecord) -> JsonObject:
    """A step; the output is what it did, or why not."""
    faults: list[DrillFault] = [fault for fault in record.faults if fault.step == step.step]
    output: JsonObject = {
        "outcome": step.outcome,
        "reason": step.reason,
        "requests": list(step.requests),
        "faults": [fault.fault for fault in faults],
    }
    activity = _step_activity(step.step, step.verb or step.what, {})
    run = _run(activity, step.began_us, step.ended_us, ok=step.outcome == "done", output=output)
    return run if step.reason is None else {**run, "exception": [step.reason]}


def _undo_run(undo: UndoRecord) -> JsonObject:
    arguments: JsonObject = {} if undo.subject is None else {"target": undo.subject}
    activity = _step_activity(undo.step, undo.type, arguments)
    return _run(activity, undo.at_us, undo.at_us, ok=True, output={"reason": undo.reason})
