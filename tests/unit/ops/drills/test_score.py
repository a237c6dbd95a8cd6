"""The score of a drill, on hand-made logs."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ops.drills.document import read_drill
from ops.drills.score.advice import advice_for_probe
from ops.drills.score.chip_hours import MEANINGS, WORK, RunWithout
from ops.drills.score.figures import Category, DrillScore, Figure
from ops.drills.score.score import score_drill
from ops.drills.score_text import score_json
from ops.drills.suite_plan import STANDARD
from ops.drills.suite_scores import suite_json, suite_scores
from ops.drills.suite_text import suite_text
from schemas.body import Body
from schemas.config.pods import PodConfig
from schemas.drill_plan import (
    Allowance,
    DrillPlan,
    ExpectedMessage,
    Phase,
    PlannedLimit,
    PlannedProbe,
    PlannedTarget,
)
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import HostDown, HostUp
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import (
    DrawnTarget,
    DrillBegun,
    DrillDeviated,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillRefused,
    DrillStopped,
    DrillTargetsDrawn,
    ProbeChanged,
)
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.operator import ClearFault, InjectFault
from schemas.messages.repairs import RepairOpened
from schemas.messages.scheduler import SliceEvicted
from services.gateway.explain.drill_record import read_record
from services.scheduler.state import CHIP_USES
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR, US_PER_MIN, US_PER_S
from shared.models.fabric_plants import plant_of
from shared.models.jobs.goodput_categories import CATEGORIES
from tests.support.drill_log import DRILL as LOGGED
from tests.support.drill_log import deviated_drill

POD, DRILL, HOST = "pod-0", "pod-0/drill-1", "pod-0/cube-3/host-5"
PLANTS = {POD: plant_of("superpod", PodConfig())}
PLAN = DrillPlan(
    title="A host dies",
    document_sha256="0" * 64,
    probe_every_us=30 * US_PER_S,
    targets=(PlannedTarget(name="host", kind="hosts", fabric=POD),),
    probes=(
        PlannedProbe(name="healthy", condition="count(cubes, health == unhealthy) == 0"),
        PlannedProbe(name="queue", condition="count(slices, state == queued) <= 5", weight=3.0),
    ),
    allowances=(Allowance(probe="healthy", phase="settle", for_us=20 * US_PER_MIN),),
    limits=(PlannedLimit(what="hosts", at_most=1),),
    gate_us=60 * US_PER_S,
    settle_us=US_PER_HOUR,
    verify_us=60 * US_PER_S,
    lease_us=4 * US_PER_HOUR,
    expects=(ExpectedMessage(type="HostDown", of="{host}", within_us=60 * US_PER_S),),
)
GATE, METHOD, SETTLE, UNDO, VERIFY, END = (m * US_PER_MIN for m in (0, 1, 60, 90, 91, 100))


class Log:
    """A log under construction."""

    def __init__(self) -> None:
        self.messages: list[Envelope] = []

    def add(self, at_us: int, body: Body, cause: Envelope | None = None) -> Envelope:
        message = enclose(
            body,
            fabric=POD,
            at_us=at_us,
            cause=None if cause is None else cause.id,
            source=body.writer,
            seq=len(self.messages) + 1,
        )
        self.messages.append(message)
        return message


def begun(plan: DrillPlan = PLAN) -> tuple[Log, Envelope]:
    """A log whose drill has come to its method, and the order of its fault."""
    log = Log()
    request = log.add(GATE, RunDrill(plan=plan, seed=7))
    log.add(
        GATE,
        DrillBegun(
            drill=DRILL, title=plan.title, document_sha256=plan.document_sha256, seed=7, lease_ends_us=END
        ),
        request,
    )
    log.add(GATE, DrillTargetsDrawn(drill=DRILL, targets=(DrawnTarget(target="host", names=(HOST,)),)))
    log.add(GATE, DrillPhaseBegun(drill=DRILL, phase="gate"))
    for probe in plan.probes:
        log.add(GATE, ProbeChanged(drill=DRILL, phase="gate", probe=probe.name, verdict="passed"))
    log.add(METHOD, DrillPhaseBegun(drill=DRILL, phase="method"))
    order = log.add(
        METHOD,
        DrillOrder(
            drill=DRILL,
            step="the-host-dies",
            fabric=POD,
            request_type="InjectFault",
            request=InjectFault(kind="host", target=HOST),
            lease_ends_us=END,
        ),
    )
    return log, order


def fault(log: Log, order: Envelope | None, number: int = 1, target: str = HOST) -> Envelope:
    body = FaultBegan(
        fault=f"pod-0/fault-{number}",
        kind="host",
        target=target,
        injected=True,
        severity=None,
        expires_us=None,
    )
    return log.add(METHOD, body, order)


def opened(log: Log, at_us: int, target: str = HOST) -> Envelope:
    return log.add(at_us, RepairOpened(repair=f"pod-0/repair-{at_us}", kind="host", target=target))


def ended(log: Log, probes: Sequence[str] = ("healthy", "queue"), left: tuple[str, ...] = ()) -> None:
    """The drill goes through its other phases, with all these probes passed in the last one."""
    log.add(SETTLE, DrillPhaseBegun(drill=DRILL, phase="settle"))
    log.add(UNDO, DrillPhaseBegun(drill=DRILL, phase="undo"))
    for probe in probes:
        log.add(VERIFY, ProbeChanged(drill=DRILL, phase="verify", probe=probe, verdict="passed"))
    log.add(END, DrillEnded(drill=DRILL, status="completed", deviated=False, left=left))


def scored(log: Log, without: RunWithout | None = None) -> DrillScore:
    return score_drill(read_record(enumerate(log.messages), None, PLANTS), without)


def figure(score: DrillScore, category: Category, name: str) -> Figure:
    found = score.of(category)
    assert found is not None, score.no_score
    return next(one for one in found.figures if one.name == name)


# --- detection ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after_s", "expected", "measured"),
    [
        (59, 100.0, "after 59s, allowed 1m"),
        (60, 100.0, "after 1m, allowed 1m"),
        (240, 25.0, "after 4m, allowed 1m"),
    ],
)
def test_the_delay_of_an_expected_message(after_s: int, expected: float, measured: str) -> None:
    log, order = begun()
    fault(log, order)
    down = log.add(METHOD + after_s * US_PER_S, HostDown(cube=3, host=5, reason="host"))
    ended(log)
    found = figure(scored(log), "detection", f"HostDown of {HOST}")
    assert (found.score, found.measured, found.message) == (expected, measured, down.id)
    assert (found.helps is None) == (expected == 100.0)


def test_a_message_about_another_part_is_not_the_expected_one() -> None:
    log, order = begun()
    fault(log, order)
    log.add(METHOD + US_PER_S, HostDown(cube=3, host=6, reason="host"))
    log.add(METHOD - US_PER_S, HostDown(cube=3, host=5, reason="host"))
    ended(log)
    found = figure(scored(log), "detection", f"HostDown of {HOST}")
    assert (found.score, found.measured, found.message) == (0.0, "none within 1m", None)
    assert found.helps is not None
    assert "cubes.heartbeat_s" in found.helps


def test_a_message_before_the_first_order_detects_nothing() -> None:
    log, order = begun()
    log.messages.remove(order)
    log.add(METHOD + US_PER_S, HostDown(cube=3, host=5, reason="host"))
    log.messages.append(order)
    ended(log)
    assert figure(scored(log), "detection", f"HostDown of {HOST}").score == 0.0
    log.messages.remove(order)  # a drill without orders
    assert figure(scored(log), "detection", f"HostDown of {HOST}").score == 100.0


def test_a_message_that_still_had_time_when_the_drill_was_stopped_is_not_measured() -> None:
    log, order = begun()
    fault(log, order)
    at_us = METHOD + 10 * US_PER_S
    log.add(at_us, DrillStopped(drill=DRILL, cause="operator", reason="enough"))
    log.add(at_us, DrillEnded(drill=DRILL, status="stopped", deviated=False))
    found = figure(scored(log), "detection", f"HostDown of {HOST}")
    assert (found.score, found.measured) == (None, "none when the drill ended after 10s, before 1m")


# --- containment --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ups", "expected", "measured"),
    [
        ((30, 50), 100.0, "2 of 2, the last after 50m, allowed 55m"),
        ((30, 110), 50.0, "2 of 2, the last after 1h50m, allowed 55m"),
        ((30, None), 50.0, "1 of 2 within 55m"),
        ((5, 50), 50.0, "1 of 2 within 55m"),
    ],
    ids=["all in time", "one late", "one missing", "one before it"],
)
def test_a_message_that_must_follow_each_of_another_type(
    ups: tuple[int | None, ...], expected: float, measured: str
) -> None:
    """Host 5 and 6 go down after 10 minutes; each must come back."""
    follows = ExpectedMessage(type="HostUp", all_of="HostDown", within_us=55 * US_PER_MIN)
    log, _ = begun(PLAN.model_copy(update={"expects": (follows,)}))
    events: list[tuple[int, Body]] = [(10, HostDown(cube=3, host=host, reason="host")) for host in (5, 6)]
    events += [
        (minutes, HostUp(cube=3, host=host)) for host, minutes in zip((5, 6), ups, strict=True) if minutes
    ]
    for minutes, body in sorted(events, key=lambda pair: pair[0]):
        log.add(METHOD + minutes * US_PER_MIN, body)
    log.messages.sort(key=lambda message: message.at_us)
    log.add(2 * END, DrillEnded(drill=DRILL, status="completed", deviated=False, left=()))
    found = figure(scored(log), "detection", "HostUp after each HostDown")
    assert (found.score, found.measured) == (expected, measured)
    assert found.message is not None
    assert (found.helps is None) == (expected == 100.0)


def test_recovery_counts_from_the_undo_if_the_drill_ended_its_fault_itself() -> None:
    log, order = begun(PLAN.model_copy(update={"undo_us": 10 * US_PER_MIN}))
    fault(log, order)
    log.add(METHOD, ProbeChanged(drill=DRILL, phase="method", probe="healthy", verdict="violated"))
    log.add(SETTLE, DrillPhaseBegun(drill=DRILL, phase="settle"))
    log.add(SETTLE, ProbeChanged(drill=DRILL, phase="settle", probe="healthy", verdict="violated"))
    log.add(UNDO, DrillPhaseBegun(drill=DRILL, phase="undo"))
    clear = ClearFault(fault="pod-0/fault-1")
    log.add(
        UNDO,
        DrillOrder(
            drill=DRILL,
            step="the-host-dies",
            fabric=POD,
            request_type="ClearFault",
            request=clear,
            lease_ends_us=END,
            is_undo=True,
        ),
    )
    log.add(UNDO, ProbeChanged(drill=DRILL, phase="undo", probe="healthy", verdict="violated"))
    log.add(UNDO + 5, ProbeChanged(drill=DRILL, phase="undo", probe="healthy", verdict="passed"))
    log.add(END, DrillEnded(drill=DRILL, status="completed", deviated=False, left=()))
    found = figure(scored(log), "recovery", "probe healthy")
    assert (found.score, found.measured) == (100.0, "back after 5us, allowed 20m, in the phase undo")


def test_a_deviation_in_the_method_costs_containment_by_the_probes_weight() -> None:
    log, order = begun()
    fault(log, order)
    log.add(METHOD + 5, ProbeChanged(drill=DRILL, phase="method", probe="queue", verdict="violated"))
    log.add(METHOD + 9, ProbeChanged(drill=DRILL, phase="method", probe="queue", verdict="passed"))
    bad = log.add(
        METHOD + 10,
        DrillDeviated(drill=DRILL, phase="method", probe="queue", violated_us=120 * US_PER_S, allowed_us=0),
    )
    ended(log)
    found = figure(scored(log), "containment", "probe queue")
    assert (found.score, found.message, found.weight) == (0.0, bad.id, 3.0)
    assert found.measured == "violated for 2m in the method, allowed 0us"
    assert figure(scored(log), "containment", "probe healthy").score == 100.0
    containment = scored(log).of("containment")
    assert containment is not None
    # 100 × 1 for the other probe, 0 × 3, limits and evictions 100 each; chip-hours are not measured.
    assert containment.score == pytest.approx(300.0 / 6.0)


def test_evictions_count_beyond_those_of_the_run_without_the_drill() -> None:
    log, order = begun()
    fault(log, order)
    log.add(METHOD - 1, SliceEvicted(slice="pod-0/slice-1", reason="before the drill"))
    log.add(METHOD + 1, SliceEvicted(slice="pod-0/slice-2", reason="grace"))
    last = log.add(METHOD + 2, SliceEvicted(slice="pod-0/slice-3", reason="grace"))
    ended(log)
    found = figure(scored(log), "containment", "evictions")
    assert (round(found.score or 0, 1), found.message) == (33.3, last.id)
    same = RunWithout(productive_us=50, productive_us_without=50, evictions_without=2)
    assert figure(scored(log, same), "containment", "evictions").score == 100.0


def test_chip_hours_are_those_of_the_run_without_the_drill() -> None:
    log, order = begun()
    fault(log, order)
    ended(log)
    assert figure(scored(log), "containment", "chip-hours").score is None
    lost = RunWithout(3 * US_PER_HOUR, 4 * US_PER_HOUR, 0)
    found = figure(scored(log, lost), "containment", "chip-hours")
    assert (found.score, found.measured) == (75.0, "1.0 chip-hours lost of 4.0 without the drill")
    gained = figure(scored(log, RunWithout(5, 4, 0)), "containment", "chip-hours")
    assert gained.score == 100.0


def test_what_would_have_saved_chip_hours_follows_from_where_they_went() -> None:
    log, order = begun()
    fault(log, order)
    ended(log)

    def helps(more_us: dict[str, int]) -> str:
        lost = RunWithout(2 * US_PER_HOUR, 4 * US_PER_HOUR, 0, more_us)
        return str(figure(scored(log, lost), "containment", "chip-hours").helps)

    dark = helps({"lost": 3 * US_PER_HOUR // 2, "startup": US_PER_HOUR, "idle_unwanted": -US_PER_HOUR // 2})
    assert dark == (
        "1.5 in steps since the last checkpoint (shorter checkpoint intervals: --set "
        "workload.checkpoint_every_s=N), 1.0 in start-up of slices (a shorter start-up: --set "
        "workload.startup_s=N)"
    )
    assert helps({"unhealthy": 2 * US_PER_HOUR, "lost": 7}).startswith(
        "2.0 in unhealthy cubes (faster repairs"
    )
    assert helps({"idle_unwanted": 2 * US_PER_HOUR}) == (
        "2.0 in idle cubes that no slice wants (no parameter reduces it)"
    )
    assert helps({}) == "no category of the accounting took much of it"


def test_every_category_of_the_accounting_has_a_meaning() -> None:
    assert {*MEANINGS, *WORK} == {*CATEGORIES, *CHIP_USES} - {"allocated"}


def test_a_limit_that_stops_the_drill_costs_containment() -> None:
    log, order = begun()
    fault(log, order)
    stop = log.add(
        METHOD + 1, DrillStopped(drill=DRILL, cause="limit", reason="2 hosts, and at most 1 may be")
    )
    log.add(METHOD + 2, DrillPhaseBegun(drill=DRILL, phase="undo"))
    log.add(METHOD + 3, DrillEnded(drill=DRILL, status="stopped", deviated=False))
    found = figure(scored(log), "containment", "limits")
    assert (found.score, found.message) == (0.0, stop.id)


# --- recovery and undo --------------------------------------------------------------------------------------


def test_recovery_is_the_time_until_a_probe_is_true_for_good() -> None:
    log, order = begun()
    fault(log, order)
    log.add(METHOD + 1, ProbeChanged(drill=DRILL, phase="method", probe="healthy", verdict="violated"))
    log.add(SETTLE, DrillPhaseBegun(drill=DRILL, phase="settle"))
    log.add(SETTLE, ProbeChanged(drill=DRILL, phase="settle", probe="healthy", verdict="violated"))
    back = log.add(
        SETTLE + 25 * US_PER_MIN,
        ProbeChanged(drill=DRILL, phase="settle", probe="healthy", verdict="passed"),
    )
    ended(log)
    found = figure(scored(log), "recovery", "probe healthy")
    assert (found.score, found.measured, found.message) == (80.0, "back after 25m, allowed 20m", back.id)
    assert figure(scored(log), "recovery", "probe queue").measured == "true at the last step"


def test_a_probe_that_is_never_true_again_has_no_recovery() -> None:
    log, order = begun()
    fault(log, order)
    log.add(VERIFY, ProbeChanged(drill=DRILL, phase="verify", probe="healthy", verdict="violated"))
    ended(log, ["queue"])
    found = figure(scored(log), "recovery", "probe healthy")
    assert (found.score, found.measured) == (0.0, "not back after 40m, in the phase verify")


def test_what_the_drill_left_costs_undo() -> None:
    log, order = begun()
    began = fault(log, order)
    fault(log, order, 2, "pod-0/cube-3/host-6")
    fault(log, None, 3, "pod-0/cube-9/host-6")  # a natural one
    log.add(UNDO, FaultEnded(fault="pod-0/fault-2", kind="host", target="pod-0/cube-3/host-6", how="cleared"))
    ended(log)
    found = figure(scored(log), "undo", "everything ended")
    assert (found.score, found.measured, found.message) == (
        50.0,
        "1 of 2 ended; left: pod-0/fault-1",
        began.id,
    )


# --- attribution --------------------------------------------------------------------------------------------


def test_precision_recall_and_false_alarms() -> None:
    log, order = begun()
    fault(log, order)
    fault(log, order, 2, "pod-0/cube-4/host-1")
    opened(log, METHOD + 1)
    wrong = opened(log, METHOD + 2, "pod-0/cube-60/host-1")
    ended(log)
    score = scored(log)
    precision, recall = figure(score, "attribution", "precision"), figure(score, "attribution", "recall")
    assert (precision.score, precision.message) == (50.0, wrong.id)
    assert (recall.score, recall.measured) == (
        50.0,
        "1 of 2 faults had a repair opened; none for host pod-0/cube-4/host-1",
    )
    assert figure(score, "attribution", "false alarms").score == 50.0


def test_a_repair_long_after_its_fault_is_a_false_alarm() -> None:
    log, order = begun()
    fault(log, order)
    log.add(METHOD + 1, FaultEnded(fault="pod-0/fault-1", kind="host", target=HOST, how="cleared"))
    opened(log, METHOD + US_PER_HOUR + 2)
    ended(log)
    assert figure(scored(log), "attribution", "precision").score == 0.0


def test_a_drill_without_a_fault_has_no_false_alarms_and_nothing_to_undo() -> None:
    log, _ = begun()
    ended(log)
    score = scored(log)
    attribution, undo = score.of("attribution"), score.of("undo")
    assert attribution is not None
    assert [(one.name, one.score) for one in attribution.figures] == [
        ("precision", None),
        ("recall", None),
        ("false alarms", 100.0),
    ]
    assert undo is not None
    assert "everything ended" not in {one.name for one in undo.figures}


# --- drills without a score ---------------------------------------------------------------------------------


def test_a_drill_that_failed_to_run_has_no_score() -> None:
    log, _ = begun()
    log.add(END, DrillEnded(drill=DRILL, status="failed", deviated=False, reason="step x was refused"))
    score = scored(log)
    assert (score.score, score.categories, score.status) == (None, (), "failed")
    assert score.no_score == "failed: step x was refused"


def test_a_refused_drill_has_no_score() -> None:
    log = Log()
    request = log.add(GATE, RunDrill(plan=PLAN, seed=7))
    log.add(GATE, DrillRefused(subject=POD, reason="drills are held"), request)
    score = scored(log)
    assert (score.status, score.no_score) == ("refused", "refused: drills are held")


def test_a_log_without_the_drill() -> None:
    with pytest.raises(InvalidInput, match="the log has no drill"):
        read_record([], None, PLANTS)
    log, _ = begun()
    with pytest.raises(InvalidInput, match="no start of 'pod-0/drill-9'; must be one of pod-0/drill-1"):
        read_record(enumerate(log.messages), "pod-0/drill-9", PLANTS)


def test_a_suite_shows_classes_and_what_never_ran_or_is_stale(tmp_path: Path) -> None:
    for name in ("fresh", "changed", "new"):
        document = (STANDARD / "no-fault.yaml").read_text().replace("No fault at all", name)
        (tmp_path / f"{name}.yaml").write_text(document)
    kept = {}
    for name in ("fresh", "changed"):
        log, order = begun()
        fault(log, order)
        opened(log, METHOD, target="pod-0/cube-9")
        ended(log)
        plan = read_drill(tmp_path / f"{name}.yaml").plan
        sha256 = plan.document_sha256 if name == "fresh" else "0" * 64
        score = replace(scored(log), document_sha256=sha256)
        kept[name] = {"ran_s": time.time(), "score": score_json(score)}
    scores = tmp_path / "scores.txt"
    scores.write_text(json.dumps({"scores": kept}))
    rows = suite_scores(tmp_path, scores, (), 0)
    assert [(row.name, row.points, row.is_stale) for row in rows] == [
        ("changed", 75.0, True),
        ("fresh", 100.0, False),
        ("new", 0.0, False),
    ]
    report = suite_json(rows)
    assert (report["never_run"], report["stale"]) == (["new"], ["changed"])
    text = suite_text(rows)
    assert "never run: new\nstale: changed\nwhat may have helped:\n" in text
    (total,) = [line.split() for line in text.splitlines() if line.startswith("all ")]
    assert total[:3] == ["all", "3", "58"]
    assert "attribution, precision (0 of 1 repairs" in text


@pytest.mark.parametrize("scores", ["", "[]", "3", '{"new": 3}', '{"new": {"ran_s": 1, "score": {}}}'])
def test_a_file_without_scores_is_refused(tmp_path: Path, scores: str) -> None:
    (tmp_path / "new.yaml").write_text((STANDARD / "no-fault.yaml").read_text())
    file = tmp_path / "scores.txt"
    file.write_text(f'{{"scores": {scores}}}')
    with pytest.raises(InvalidInput, match=r"^--scores .*: is not a file of scores; must be one that"):
        suite_scores(tmp_path, file, (), 0)


# --- what was not measured ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_us", "phase", "category"),
    [(METHOD + 1, "method", "containment"), (END, "verify", "recovery"), (END, "verify", "undo")],
)
def test_a_probe_that_cannot_be_measured_any_more_has_no_figure(
    at_us: int, phase: Phase, category: Category
) -> None:
    """It passed before, which says nothing about later."""
    log, order = begun()
    fault(log, order)
    if phase == "method":
        log.add(METHOD, ProbeChanged(drill=DRILL, phase="method", probe="queue", verdict="passed"))
        log.add(at_us, ProbeChanged(drill=DRILL, phase="method", probe="queue", verdict="not-measured"))
    ended(log)
    last = log.messages.pop()
    if phase == "verify":
        log.add(at_us, ProbeChanged(drill=DRILL, phase="verify", probe="queue", verdict="not-measured"))
    log.messages.append(last)
    assert figure(scored(log), category, "probe queue").score is None
    assert figure(scored(log), category, "probe healthy").score == 100.0


def test_the_states_that_a_share_must_have_are_not_what_helps() -> None:
    record = read_record(deviated_drill().numbered(), LOGGED, {})
    share = "share(slices, state in [preflight, running, queued])"
    for condition in (f"{share} >= 0.9 and {share} <= 1", "count(slices, state=degraded) <= 5"):
        assert advice_for_probe(condition, record).startswith("faster repairs of what the drill broke")
    assert advice_for_probe("count(slices, state in [queued]) <= 5", record).startswith("free cubes")
