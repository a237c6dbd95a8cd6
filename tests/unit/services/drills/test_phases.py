"""A drill from its gate to its end: phases, verdicts, allowances, stops."""

from typing import Any

import pytest

from schemas.drill_plan import Allowance, Phase, PlannedLimit, PlannedProbe
from schemas.messages.drill_requests import ReleaseDrills, RunDrill, StopAllDrills, StopDrill
from schemas.messages.drills import DrillDeviated
from schemas.messages.operator import InjectFault
from schemas.site_readings import SiteQuery, SiteReading
from shared.engine.site import Site
from tests.support.drill_rig import (
    LIMIT,
    MINUTE,
    OCS,
    PROBE,
    DrillRig,
    all_is_well,
    faults,
    inject,
    plan,
    wait,
    without_faults,
)


def types(log: list[Any], *left_out: str) -> list[str]:
    return [one.type for one in log if one.source.startswith("drills@") and one.type not in left_out]


def test_a_drill_goes_through_its_phases_and_undoes_what_it_began() -> None:
    rig = DrillRig()
    log = rig.drill(plan(inject(), wait(10), allowances=(*plan().allowances, _allowed("settle", 5))))
    assert types(log, "ProbeChanged") == [
        "DrillBegun",
        "DrillPhaseBegun",
        "DrillPhaseBegun",
        "DrillOrder",
        "DrillStepEnded",
        "DrillStepEnded",
        "DrillPhaseBegun",
        "DrillPhaseBegun",
        "DrillOrder",
        "DrillPhaseBegun",
        "DrillEnded",
    ]
    ended = (
        log[-1].body if log[-1].type == "DrillEnded" else next(m.body for m in log if m.type == "DrillEnded")
    )
    assert (ended.status, ended.left) == ("completed", ())
    phases = [(m.body.phase, m.at_us // MINUTE) for m in log if m.type == "DrillPhaseBegun"]
    assert phases == [("gate", 1), ("method", 3), ("settle", 13), ("undo", 18), ("verify", 18)]
    lamps = {(lamp.phase, lamp.verdict) for lamp in rig.document().lamps}
    assert lamps == {
        ("gate", "passed"),
        ("method", "violated"),
        ("settle", "violated"),
        ("undo", "passed"),
        ("verify", "passed"),
    }
    assert not faults(rig.site).active
    assert [one.drill for one in faults(rig.site).ended.values()] == ["pod-0/drill-0"]


def _allowed(phase: Phase, minutes: int, probe: str = "no-fault") -> Allowance:
    return Allowance(probe=probe, phase=phase, for_us=minutes * MINUTE)


def test_a_violation_counts_from_one_reading_to_the_next_and_deviates_beyond_its_allowance() -> None:
    rig = DrillRig()
    rig.drill(plan(inject(lasts_us=20 * MINUTE), wait(30), allowances=(_allowed("method", 10),)))
    lamp = next(one for one in rig.document().lamps if one.phase == "method")
    assert (lamp.deviated, lamp.verdict) == (True, "passed")
    assert abs(lamp.violated_us - 20 * MINUTE) <= MINUTE
    (deviated,) = [m.body for m in rig.log if isinstance(m.body, DrillDeviated)]
    assert deviated.violated_us > deviated.allowed_us == 10 * MINUTE
    assert rig.document().status == "completed"
    assert rig.document().deviated


def test_within_its_allowance_nothing_deviates() -> None:
    rig = DrillRig()
    rig.drill(plan(inject(lasts_us=20 * MINUTE), wait(30), allowances=(_allowed("method", 25),)))
    assert not rig.document().deviated


def test_settle_ends_early_when_every_probe_passes() -> None:
    rig = DrillRig()
    log = rig.drill(plan(inject(lasts_us=5 * MINUTE), wait(10)))
    phases = {m.body.phase: m.at_us // MINUTE for m in log if m.type == "DrillPhaseBegun"}
    assert phases["undo"] == phases["settle"] == 13


@pytest.mark.parametrize("reading", [SiteReading(holds=False), SiteReading(problem="no such kind")])
def test_the_gate_ends_a_drill_before_its_first_step(reading: SiteReading) -> None:
    rig = DrillRig(lambda site, query: reading if query.what == "condition" else all_is_well(site, query))
    log = rig.drill(plan(inject()))
    assert "DrillOrder" not in types(log)
    assert (rig.document().status, rig.document().stopped) == ("cancelled", "gate")
    assert rig.document().steps[0].state == "cancelled"


@pytest.mark.parametrize(
    ("undo_minutes", "recovers_minutes", "deviated"), [(0, 3, True), (10, 3, False), (2, 3, True)]
)
def test_the_hypothesis_is_verified_when_the_site_has_recovered_from_the_undo(
    undo_minutes: int, recovers_minutes: int, deviated: bool
) -> None:
    """The hypothesis is true again 3 minutes after the end of the fault."""

    def slow(site: Site, query: SiteQuery) -> SiteReading:
        ended = [row.ended_us for row in faults(site).ended.values()]
        reading = without_faults(site, query)
        if reading.holds and ended:
            return SiteReading(holds=site.now_us >= max(ended) + recovers_minutes * MINUTE)
        return reading

    rig = DrillRig(slow)
    allowances = (*plan().allowances, _allowed("settle", 60))
    log = rig.drill(plan(inject(), wait(5), undo_us=undo_minutes * MINUTE, allowances=allowances))
    at = {m.body.phase: m.at_us for m in log if m.type == "DrillPhaseBegun"}
    ended = next(m for m in log if m.type == "DrillEnded")
    took_us, least_us = at["verify"] - at["undo"], min(undo_minutes, recovers_minutes) * MINUTE
    assert least_us <= took_us <= least_us + MINUTE + 1, "no longer than it takes"
    assert (ended.at_us - at["verify"]) // MINUTE == 3
    assert ended.body.deviated is deviated


def test_a_kill_switch_ends_the_recovery_from_the_undo_at_once() -> None:
    rig = DrillRig()
    broken = PlannedProbe(name="never", condition="count(cubes, health == unhealthy) > 99")
    before: tuple[Phase, ...] = ("gate", "method", "settle")
    made = plan(
        *(inject(), wait(5)),
        probes=(broken,),
        gate_us=0,
        undo_us=60 * MINUTE,
        allowances=tuple(_allowed(phase, 60, "never") for phase in before),
    )
    kill = StopAllDrills(fabric="pod-0", reason="x", hold=False)
    log = rig.run(60 * MINUTE, (MINUTE, RunDrill(plan=made)), (30 * MINUTE, kill))
    assert rig.document().status is not None
    ended = next(m for m in log if m.type == "DrillEnded")
    assert ended.at_us <= 30 * MINUTE + 1


def test_a_stop_condition_ends_the_method_and_undoes() -> None:
    rig = DrillRig()
    probe = PlannedProbe(name="no-fault", condition=PROBE.condition, is_stop=True)
    rig.drill(plan(inject(), wait(60), probes=(probe,), allowances=(_allowed("method", 5),)))
    document = rig.document()
    assert (document.status, document.stopped) == ("stopped", "stop-condition")
    assert [step.state for step in document.steps] == ["done", "cancelled"]
    assert document.ended_us < 20 * MINUTE
    assert not faults(rig.site).active


def test_a_step_above_a_predicted_limit_is_not_taken() -> None:
    rig = DrillRig(without_faults)
    log = rig.drill(plan(inject("one"), inject("two", "pod-0/ocs-2"), limits=(LIMIT,)))
    assert [m.body.step for m in log if m.type == "DrillOrder" and not m.body.is_undo] == ["one"]
    document = rig.document()
    assert (document.status, document.stopped) == ("stopped", "limit")
    assert document.reason == "step two would have 2 ocs out of use or disturbed; must be at most 1"
    assert [(one.what, one.used) for one in document.limits] == [("ocs", 1)]


def test_the_limit_of_faults_counts_those_of_the_drill() -> None:
    rig = DrillRig()
    log = rig.drill(
        plan(
            inject("one", "{ocs}", each="ocs"),
            targets=(OCS.model_copy(update={"choose": 2}),),
            limits=(PlannedLimit(what="faults", at_most=1),),
        )
    )
    assert "FaultBegan" not in [m.type for m in log]
    assert rig.document().stopped == "limit"


def test_a_limit_that_is_exceeded_during_the_drill_stops_it() -> None:
    rig = DrillRig()
    rig.run(
        200 * MINUTE,
        (MINUTE, RunDrill(plan=plan(inject(), wait(60), limits=(LIMIT,)))),
        (10 * MINUTE, InjectFault(kind="ocs", target="pod-0/ocs-3")),
    )
    assert rig.document().stopped == "limit"
    assert [fault.target for fault in faults(rig.site).active.values()] == ["pod-0/ocs-3"]


def test_a_refused_step_fails_the_drill_with_the_reason_of_the_service() -> None:
    rig = DrillRig()
    rig.drill(plan(inject(target="pod-0/ocs-99"), wait(5)))
    document = rig.document()
    assert (document.status, document.stopped) == ("failed", "step")
    assert [step.state for step in document.steps] == ["refused", "cancelled"]
    assert "ocs-99" in document.steps[0].reason


def test_a_step_on_a_fabric_that_is_not_there_fails() -> None:
    rig = DrillRig()
    rig.drill(plan(inject(target="pod-5/ocs-1")))
    assert rig.document().status == "failed"
    assert rig.document().steps[0].reason == "no service of pod-5 handles InjectFault"


def test_a_wait_that_is_not_met_fails_the_drill() -> None:
    rig = DrillRig()
    rig = DrillRig(
        lambda site, query: SiteReading(holds=False) if query.text == "never" else all_is_well(site, query)
    )
    until = wait(5).model_copy(update={"what": "wait-until", "condition": "never"})
    rig.drill(plan(until, inject()))
    document = rig.document()
    assert (document.status, document.steps[0].reason) == ("failed", "not true within 300000000 us: never")


def test_a_wait_ends_when_its_condition_is_true() -> None:
    rig = DrillRig()
    until = wait(60).model_copy(update={"what": "wait-until", "condition": "no fault"})
    log = rig.drill(plan(inject(lasts_us=10 * MINUTE), until))
    (ended,) = [m for m in log if m.type == "DrillStepEnded" and m.body.step == "wait"]
    assert ended.body.outcome == "done"
    assert 13 * MINUTE <= ended.at_us <= 15 * MINUTE


def test_repeats_come_in_time_with_jitter_that_the_seed_draws() -> None:
    step = inject(lasts_us=MINUTE, repeat=4, every_us=10 * MINUTE, jitter_us=5 * MINUTE)
    times = []
    for seed in (3, 3, 4):
        log = DrillRig().drill(plan(step), seed=seed)
        times.append([m.at_us for m in log if m.type == "FaultBegan"])
    assert times[0] == times[1] != times[2]
    assert len(times[0]) == 4
    begun = times[0][0] - times[0][0] % MINUTE
    for n, at_us in enumerate(times[0]):
        assert 3 * MINUTE + n * 10 * MINUTE <= at_us <= 8 * MINUTE + n * 10 * MINUTE + 10, (n, begun)


def test_a_background_step_lets_the_next_one_begin() -> None:
    first = inject("slow", lasts_us=MINUTE, repeat=3, every_us=10 * MINUTE, background=True)
    log = DrillRig().drill(plan(first, inject("fast", "pod-0/ocs-2")))
    begun = [(m.body.target, m.at_us // MINUTE) for m in log if m.type == "FaultBegan"]
    assert begun == [("pod-0/ocs-1", 3), ("pod-0/ocs-2", 3), ("pod-0/ocs-1", 13), ("pod-0/ocs-1", 23)]


def test_pauses_before_and_after_a_step_are_kept() -> None:
    first = inject("one", before_us=2 * MINUTE, after_us=3 * MINUTE)
    log = DrillRig().drill(plan(first, inject("two", "pod-0/ocs-2")))
    assert [m.at_us // MINUTE for m in log if m.type == "FaultBegan"] == [5, 8]


def test_targets_are_drawn_by_seed_and_name() -> None:
    def drawn(seed: int) -> tuple[str, ...]:
        rig = DrillRig()
        rig.drill(plan(inject("one", "{ocs}", each="ocs"), targets=(OCS,)), seed=seed)
        names: tuple[str, ...] = rig.document().targets[0].names
        return names

    found = {drawn(seed) for seed in range(8)}
    assert len(found) > 1
    assert drawn(5) == drawn(5)


def test_too_few_resources_of_a_target_fail_the_drill() -> None:
    rig = DrillRig()
    rig.drill(plan(inject(), targets=(OCS.model_copy(update={"choose": 4}),)))
    document = rig.document()
    assert (document.status, document.stopped) == ("failed", "gate")
    assert document.reason == "target ocs: 3 ocs match; must be at least 4"


def test_a_drill_is_stopped_by_request() -> None:
    rig = DrillRig()
    rig.run(
        200 * MINUTE,
        (MINUTE, RunDrill(plan=plan(inject(), wait(60)))),
        (10 * MINUTE, StopDrill(drill="pod-0/drill-0", reason="enough")),
    )
    document = rig.document()
    assert (document.status, document.stopped, document.reason) == ("stopped", "operator", "enough")
    assert document.phase == "verify"
    assert not faults(rig.site).active


@pytest.mark.parametrize(
    ("drill", "reason"),
    [
        ("pod-0/drill-0", "drill: 'pod-0/drill-0' has ended already"),
        ("pod-0/drill-7", "drill: 'pod-0/drill-7' has never begun"),
        ("pod-1/drill-0", "drill: 'pod-1/drill-0' is not allowed; must be a drill of pod-0"),
    ],
)
def test_what_cannot_be_stopped_is_refused(drill: str, reason: str) -> None:
    rig = DrillRig()
    rig.drill(plan())
    log = rig.run(400 * MINUTE, (310 * MINUTE, StopDrill(drill=drill, reason="no")))
    assert [m.body.reason for m in log if m.type == "DrillRefused"] == [reason]


def test_without_a_reader_nothing_is_measured() -> None:
    def unread(_site: Site, _query: SiteQuery) -> SiteReading:
        return SiteReading(problem="the runtime has not read the site")

    rig = DrillRig(unread)
    rig.drill(plan(inject()))
    assert rig.document().status == "cancelled"
    assert rig.document().lamps[0].verdict == "not-measured"


def test_the_kill_switch_holds_until_it_is_released() -> None:
    rig = DrillRig()
    run = RunDrill(plan=plan(inject(), wait(60)))
    log = rig.run(
        300 * MINUTE,
        (MINUTE, run),
        (10 * MINUTE, StopAllDrills(fabric="pod-0", reason="smoke", hold=True)),
        (20 * MINUTE, run),
        (30 * MINUTE, ReleaseDrills(fabric="pod-0", reason="clear")),
        (40 * MINUTE, run),
    )
    killed = next(m.at_us for m in log if m.type == "FaultEnded")
    assert 10 * MINUTE <= killed <= 10 * MINUTE + 1
    assert rig.document().stopped == "kill-switch"
    assert rig.document().phase == "undo"
    (refused,) = [m.body.reason for m in log if m.type == "DrillRefused"]
    assert refused == "no drill starts on pod-0: drills are held (smoke); release them first"
    assert rig.document("pod-0/drill-1").status == "completed"


def test_the_kill_switch_ends_the_drills_of_all_fabrics_of_a_site() -> None:
    rig = DrillRig(fabrics=("pod-0", "pod-1"))
    rig.run(MINUTE * 5, (MINUTE, RunDrill(plan=plan(inject(), wait(60)))))
    other = plan(inject(target="pod-1/ocs-2"), wait(60), probes=(), allowances=())
    rig.run(MINUTE * 9, (6 * MINUTE, RunDrill(plan=other)), fabric="pod-1")
    assert faults(rig.site).active
    assert faults(rig.site, "pod-1").active
    rig.run(11 * MINUTE, (10 * MINUTE, StopAllDrills(fabric="pod-0", reason="stop", hold=True)))
    assert not faults(rig.site).active
    assert not faults(rig.site, "pod-1").active
    assert rig.state("pod-1").hold is not None
    assert rig.document("pod-1/drill-0").status == "stopped"


def test_an_order_reaches_another_fabric_of_the_site() -> None:
    rig = DrillRig(fabrics=("pod-0", "pod-1"))
    rig.drill(plan(inject(target="pod-1/ocs-2"), wait(5)))
    (fault,) = faults(rig.site, "pod-1").ended.values()
    assert (fault.drill, fault.how) == ("pod-0/drill-0", "cleared")
    assert rig.document().status == "completed"
