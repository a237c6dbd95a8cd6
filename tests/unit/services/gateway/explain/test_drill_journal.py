"""The journal of a drill is a projection of its messages."""

import json
from collections.abc import Callable

import pytest

from schemas.api.chaos_journal import ChaosJournal
from schemas.api.drill_journal import DrillJournal
from services.gateway.explain.chaos_journal import chaos_journal
from services.gateway.explain.drill_journal import drill_journal
from shared.basics.errors import InvalidInput
from tests.support.drill_log import (
    DRILL,
    MINUTE_US,
    LogWriter,
    closed_gate,
    deviated_drill,
    probe,
    refused_step,
)


def record_of(log: LogWriter) -> DrillJournal:
    return drill_journal(log.numbered(), DRILL, "1.2.3")


def test_record_of_a_deviated_drill() -> None:
    record = record_of(deviated_drill())
    assert (record.status, record.deviated, record.asked_by, record.comment) == (
        "completed",
        True,
        "alice",
        "May drill",
    )
    assert (record.positions.first, record.positions.last) == (101, 122)
    assert [
        (span.phase, span.from_us // MINUTE_US, (span.to_us or 0) // MINUTE_US) for span in record.phases
    ] == [
        ("gate", 60, 70),
        ("method", 70, 80),
        ("undo", 80, 80),
        ("verify", 80, 90),
    ]
    method = {probe.probe: probe for probe in record.probes if probe.phase == "method"}
    assert method["none-degraded"].violated_us == 5 * MINUTE_US
    assert (method["none-degraded"].verdict, method["none-degraded"].deviated) == ("violated", True)
    assert (method["up"].violated_us, method["up"].allowed_us) == (9 * MINUTE_US, 45 * MINUTE_US)
    assert (method["up"].target, method["up"].deviated) == ("pod-0/ocs-17", False)
    verify = {probe.probe: probe.verdict for probe in record.probes if probe.phase == "verify"}
    assert verify == {"none-degraded": "passed", "up": "not-measured"}


def test_what_was_not_measured_all_the_time_has_not_passed() -> None:
    log = deviated_drill()
    end = log.messages.pop()
    probe(log, 82, "verify", "none-degraded", "not-measured")
    probe(log, 83, "verify", "none-degraded", "passed")
    log.messages.append(end)
    verify = {one.probe: one for one in record_of(log).probes if one.phase == "verify"}
    assert verify["none-degraded"].verdict == "not-measured"
    assert not verify["none-degraded"].deviated


def test_faults_undo_and_limits_of_a_drill() -> None:
    record = record_of(deviated_drill())
    (fault,) = record.faults
    assert (fault.fault, fault.step, fault.how, fault.ended_us) == (
        "pod-0/fault-3",
        "the-switch-dies",
        "cleared",
        80 * MINUTE_US,
    )
    (undo,) = record.undo
    assert (undo.type, undo.subject, undo.refused) == ("ClearFault", "pod-0/fault-3", False)
    assert [(limit.what, limit.reached) for limit in record.limits] == [("faults", 1), ("ocs", None)]
    assert [(step.step, step.outcome, len(step.requests)) for step in record.steps] == [
        ("the-switch-dies", "done", 1),
        ("ten-minutes", "done", 0),
    ]


def test_a_closed_gate_cancels() -> None:
    record = record_of(closed_gate())
    assert record.stop is not None
    assert (record.status, record.stop.cause, record.steps) == ("cancelled", "gate", ())
    assert chaos_journal(record)["status"] == "failed"


def test_a_refused_step_fails() -> None:
    record = record_of(refused_step())
    (step,) = record.steps
    assert (record.status, step.outcome, step.reason) == ("failed", "refused", "no such part")
    journal = chaos_journal(record)
    assert journal["status"] == "failed"
    assert journal["deviated"] is False


def test_a_running_drill_has_no_status() -> None:
    log = deviated_drill()
    del log.messages[12:]
    record = record_of(log)
    assert (record.status, record.ended_us, record.phases[-1].to_us) == (None, None, None)
    assert chaos_journal(record)["end"] is None


def test_a_drill_that_is_not_in_the_log() -> None:
    with pytest.raises(
        InvalidInput, match="the log has no start of 'pod-0/drill-9'; must be one of pod-0/drill-0"
    ):
        drill_journal(deviated_drill().numbered(), "pod-0/drill-9", "1")


@pytest.mark.parametrize("log", [deviated_drill, closed_gate, refused_step])
def test_a_journal_has_the_fields_of_the_api(log: Callable[[], LogWriter]) -> None:
    journal = json.dumps(chaos_journal(record_of(log())))
    read = ChaosJournal.model_validate_json(journal)
    assert json.loads(read.model_dump_json(by_alias=True)) == json.loads(journal)


def test_journal_has_the_form_of_the_chaos_toolkit() -> None:
    journal = json.loads(json.dumps(chaos_journal(record_of(deviated_drill()))))
    assert list(journal)[:-1] == [
        *("chaoslib-version", "platform", "node", "experiment", "start", "status", "deviated"),
        *("steady_states", "run", "rollbacks", "end", "duration"),
    ]
    assert journal["start"] == "1970-01-01T01:00:00"
    assert (journal["duration"], journal["status"], journal["deviated"]) == (1800.0, "completed", True)
    states = journal["steady_states"]
    assert (states["before"]["steady_state_met"], states["after"]["steady_state_met"]) == (True, False)
    assert [state["steady_state_met"] for state in states["during"]] == [True, False, False, True]
    assert [run["status"] for run in journal["run"]] == ["succeeded", "succeeded"]
    assert journal["rollbacks"][0]["activity"]["provider"]["arguments"] == {"target": "pod-0/fault-3"}
    assert {run["activity"]["type"] for run in journal["run"]} == {"action"}
    assert journal["experiment"]["steady-state-hypothesis"]["probes"][0]["tolerance"] is True
    assert DrillJournal.model_validate_json(json.dumps(journal["lightwave"])) == record_of(deviated_drill())
