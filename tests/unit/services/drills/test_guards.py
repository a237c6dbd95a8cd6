"""Guards of drills when several things happen at once: limits, stops, drains of others, and sizes."""

from typing import Any

import pytest

from ops.drills.score.undo import undo_figures
from ops.invariants.drills import DrillChecker
from schemas.body import Body
from schemas.drill_plan import (
    CONDITION_MAX,
    Allowance,
    DrillPlan,
    PlannedLimit,
    PlannedProbe,
    PlannedStep,
    PlannedTarget,
)
from schemas.messages.drill_requests import RunDrill, StopAllDrills
from schemas.messages.drills import DrillDeviated, DrillPhaseBegun
from schemas.messages.operator import DrainCube
from schemas.messages.scheduler import SliceRefused
from schemas.messages.workload import SliceRequested
from schemas.site_readings import SiteQuery, SiteReading
from services.cubes.state import CubesState
from services.drills.answers import on_slice_refused
from services.drills.plan_checks import ORDERS_MAX, READ_MAX
from services.gateway.explain.drill_record import read_record
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

CUBE = "pod-0/cube-1"


def drain(lasts_us: int | None = None) -> PlannedStep:
    duration = "" if lasts_us is None else f', "duration_us": {lasts_us}'
    template = f'{{"cube": "{CUBE}"{duration}}}'
    return PlannedStep(name="drain", what="request", verb="drain", fabric="pod-0", template=template)


def invariants(rig: DrillRig) -> list[str]:
    checker = DrillChecker()
    return [problem for message in rig.log for problem in checker.see(message)]


@pytest.mark.parametrize("limit", [PlannedLimit(what="faults", at_most=1), LIMIT])
def test_two_steps_at_once_do_not_pass_a_limit_that_each_alone_keeps(limit: PlannedLimit) -> None:
    first = inject("first", "pod-0/ocs-1", background=True)
    second = inject("second", "pod-0/ocs-2", background=True)
    rig = DrillRig()
    log = rig.drill(plan(first, second, wait(5), limits=(limit,)))
    assert [m.body.target for m in log if m.type == "FaultBegan"] == ["pod-0/ocs-1"]
    assert rig.document().stopped == "limit"
    assert rig.document().reason.startswith("step second would have 2 ")
    assert not faults(rig.site).active


def test_a_stop_also_undoes_what_orders_under_way_begin() -> None:
    late = wait(3, "never", background=True).model_copy(update={"what": "wait-until", "condition": "never"})
    under_way = inject("late", before_us=3 * MINUTE + 1, background=True)

    def never(site: Site, query: SiteQuery) -> SiteReading:
        return SiteReading(holds=False) if query.text == "never" else without_faults(site, query)

    rig = DrillRig(never)
    log = rig.drill(plan(under_way, late, wait(60), probes=(), allowances=()))
    failed = next(m.at_us for m in log if m.type == "DrillStepEnded" and m.body.step == "never")
    assert [m.at_us for m in log if m.type == "FaultBegan"] == [failed]
    assert [m.at_us for m in log if m.type == "FaultEnded"] == [failed + 1]
    assert not faults(rig.site).active
    assert (rig.document().status, rig.document().left) == ("failed", ())
    assert invariants(rig) == []


@pytest.mark.parametrize(
    ("request_", "ends_us"),
    [
        ((10 * MINUTE, DrainCube(cube=CUBE)), None),
        ((10 * MINUTE, DrainCube(cube=CUBE, duration_us=100 * MINUTE)), 110 * MINUTE),
        ((5, DrainCube(cube=CUBE, duration_us=100 * MINUTE)), 100 * MINUTE + 5),
        ((5, DrainCube(cube=CUBE, duration_us=900 * MINUTE)), 900 * MINUTE + 5),
    ],
)
def test_the_undo_of_a_drain_leaves_the_drains_of_operators(
    request_: tuple[int, Body], ends_us: int | None
) -> None:
    rig = DrillRig()
    run = MINUTE, RunDrill(plan=plan(drain(), wait(30), probes=(), allowances=()))
    rig.run(60 * MINUTE, *sorted([request_, run], key=lambda pair: pair[0]))
    assert (rig.document().status, rig.document().left) == ("completed", ())
    assert _drained_until(rig) == (True, ends_us)
    figures = {one.name: one.score for one in undo_figures(read_record(enumerate(rig.log), None, {}))}
    assert figures.get("everything ended", 100.0) == 100.0


def test_a_drain_of_a_drill_does_not_shorten_that_of_an_operator() -> None:
    rig = DrillRig()
    run = MINUTE, RunDrill(plan=plan(drain(5 * MINUTE), wait(30), probes=(), allowances=()))
    rig.run(60 * MINUTE, (5, DrainCube(cube=CUBE, duration_us=100 * MINUTE)), run)
    assert _drained_until(rig) == (True, 100 * MINUTE + 5)


def test_an_undo_gives_a_cube_back_whose_earlier_drain_would_be_over() -> None:
    rig = DrillRig()
    run = MINUTE, RunDrill(plan=plan(drain(), wait(30), probes=(), allowances=()))
    rig.run(60 * MINUTE, (5, DrainCube(cube=CUBE, duration_us=10 * MINUTE)), run)
    assert _drained_until(rig) == (False, None)


def _drained_until(rig: DrillRig) -> tuple[bool, int | None]:
    state = rig.site.instance("pod-0", "cubes").state
    assert isinstance(state, CubesState)
    planned = state.planned_drains.get(1)
    return bool(state.drained[1]), None if planned is None else planned.until_us


@pytest.mark.parametrize("after_us", [2, MINUTE])
def test_a_kill_switch_in_the_undo_or_later_says_that_the_drill_did_not_complete(after_us: int) -> None:
    """Each phase begins once, and the log tells who stopped it: the hypothesis was not verified."""
    rig = DrillRig()
    made = plan(inject(), wait(10), settle_us=0, undo_us=10 * MINUTE, verify_us=10 * MINUTE)
    undo_us = next(
        m.at_us for m in DrillRig().drill(made) if m.type == "DrillPhaseBegun" and m.body.phase == "undo"
    )
    stop = undo_us + after_us, StopAllDrills(fabric="pod-0", reason="enough")
    log = rig.run(60 * MINUTE, (MINUTE, RunDrill(plan=made, seed=3)), stop)
    assert [(m.body.cause, m.body.reason) for m in log if m.type == "DrillStopped"] == [
        ("kill-switch", "enough")
    ]
    assert rig.document().status == "stopped"
    assert invariants(rig) == []


def test_a_violation_counts_until_the_end_of_its_phase() -> None:
    """Also if the next reading would be later than that."""
    allowed = (Allowance(probe="no-fault", phase="method", for_us=20 * MINUTE),)
    rig = DrillRig()
    rig.drill(plan(inject(), wait(70), probe_every_us=30 * MINUTE, allowances=allowed, settle_us=0))
    method = next(one for one in rig.document().lamps if one.phase == "method")
    assert method.deviated
    assert method.violated_us > 39 * MINUTE

    rig = DrillRig()
    rig.drill(plan(inject(), wait(55), probe_every_us=30 * MINUTE, allowances=allowed, settle_us=0))
    found = [(m.at_us, m.body) for m in rig.log if isinstance(m.body, DrillDeviated)]
    ((at_us, deviated),) = [(at, body) for at, body in found if body.phase == "method"]
    phases = {m.body.phase: m.at_us for m in rig.log if isinstance(m.body, DrillPhaseBegun)}
    assert at_us == phases["settle"]
    assert 24 * MINUTE < deviated.violated_us < 26 * MINUTE


def test_a_stop_condition_that_is_no_longer_measured_ends_the_drill() -> None:
    def gone(site: Site, query: SiteQuery) -> SiteReading:
        if query.what == "condition" and site.now_us > 10 * MINUTE:
            return SiteReading(problem="slice pod-0/slice-3: is not there")
        return all_is_well(site, query)

    rig = DrillRig(gone)
    rig.drill(plan(inject(), wait(60), probes=(PROBE.model_copy(update={"is_stop": True}),)))
    document = rig.document()
    assert document.stopped == "stop-condition"
    assert document.reason == "probe no-fault is not measured (slice pod-0/slice-3: is not there)"
    assert not faults(rig.site).active


def test_a_blast_radius_that_can_no_longer_be_counted_ends_the_drill() -> None:
    def gone(site: Site, query: SiteQuery) -> SiteReading:
        if query.what == "impact" and site.now_us > 10 * MINUTE:
            return SiteReading(problem="pod-0 has retired")
        return all_is_well(site, query)

    rig = DrillRig(gone)
    rig.drill(plan(inject(), wait(60), limits=(LIMIT,)))
    assert rig.document().stopped == "limit"
    assert rig.document().reason == "the blast radius cannot be counted: pod-0 has retired"


def test_a_wait_for_many_resources_is_measured_in_several_conditions() -> None:
    names = tuple(f"pod-0/ocs-{number}" for number in range(200))
    condition = "ocs.{ocs}.state == up"
    asked: set[str] = set()

    def read(site: Site, query: SiteQuery) -> SiteReading:
        if query.what == "condition":
            asked.add(query.text)
            return SiteReading(holds=len(query.text) <= CONDITION_MAX)
        return all_is_well(site, query)

    rig = DrillRig(read)
    up = wait(60, "up").model_copy(update={"what": "wait-until", "condition": condition, "each": "ocs"})
    target = OCS.model_copy(update={"choose": "all", "names": names})
    rig.drill(plan(up, targets=(target,), probes=(), allowances=()))
    assert rig.document().status == "completed"
    assert max(map(len, asked)) <= CONDITION_MAX
    parts = [part.strip("()") for text in asked for part in text.split(" and ")]
    assert sorted(parts) == sorted(condition.replace("{ocs}", name) for name in names)


MANY = tuple(f"pod-0/ocs-{number}" for number in range(500))
LONG = PlannedProbe(name="long", condition="count(ocs) == 0" + " " * 500, each="ocs")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"steps": (inject("many", "{ocs}", each="ocs", repeat=11, every_us=1),)},
            "the steps send 5,500 requests in all; must be at most 5,000",
        ),
        (
            {"probes": (LONG,)},
            (
                "the conditions of all probes and waits, one for each resource, have 257,500 characters; "
                "must have at most 50,000"
            ),
        ),
    ],
)
@pytest.mark.parametrize("is_drawn", [False, True])
def test_a_drill_that_would_flood_its_site_does_not_begin(
    fields: dict[str, Any], reason: str, *, is_drawn: bool
) -> None:
    def many(site: Site, query: SiteQuery) -> SiteReading:
        return SiteReading(names=MANY) if query.what == "names" else all_is_well(site, query)

    target = drawn_from(None if is_drawn else MANY)
    made = DrillPlan.model_validate(vars(plan(targets=(target,), allowances=())) | fields)
    rig = DrillRig(many)
    log = rig.drill(made)
    if is_drawn:
        assert rig.document().status == "failed"
        assert rig.document().reason == reason
    else:
        assert [m.body.reason for m in log if m.type == "DrillRefused"] == [reason]
    assert not [m for m in log if m.type == "DrillOrder"]
    assert (ORDERS_MAX, READ_MAX) == (5_000, 50_000)


def drawn_from(names: tuple[str, ...] | None) -> PlannedTarget:
    return OCS.model_copy(update={"choose": "all", "names": names})


def test_a_refused_slice_is_of_its_own_step_alone() -> None:
    def ask(name: str) -> PlannedStep:
        template = '{"shape": [4, 4, 4]}'
        fields = {"name": name, "what": "request", "verb": "request", "fabric": "pod-0"}
        return PlannedStep.model_validate({**fields, "template": template, "background": True})

    rig = DrillRig()
    made = plan(ask("first"), ask("second"), wait(5), probes=(), allowances=())
    rig.run(3 * MINUTE + 1, (MINUTE, RunDrill(plan=made)))
    state = rig.state()
    (refused,) = [one.name for one in state.running[0].effects if one.step == "second"]
    message = next(m for m in rig.log if isinstance(m.body, SliceRequested) and m.body.slice == refused)
    on_slice_refused(state, SliceRefused(slice=refused, reason="quota"), message)
    assert {one.step: one.refusal for one in state.orders.values()} == {"first": None, "second": "quota"}
