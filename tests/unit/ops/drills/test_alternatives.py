"""Runs of a drill with other parameters: what they change, and which of them count as a help."""

from collections.abc import Sequence

import pytest

from ops.drills import alternatives
from ops.drills.alternatives import ALTERNATIVES, TriedAlternative, tried_text, try_alternatives
from ops.drills.document import Drill
from ops.drills.lab_run import LabDrill
from ops.drills.lab_runs import LabScore
from ops.drills.score.chip_hours import RunWithout
from ops.drills.score.figures import DrillScore
from ops.sites.site_plans import single_fabric_sites
from schemas.config.runtime_parameters import RUNTIME_PARAMETERS, parameter_or
from shared.basics.units import US_PER_HOUR
from tests.support.drill_plans import ocs_drill

PARAMETERS = [name for settings in ALTERNATIVES.values() for name in settings]


def lab_drill(*pairs: str, kind: str = "superpod") -> LabDrill:
    (site,) = single_fabric_sites(1, pairs=[*pairs], seed=1, kind=kind)
    return LabDrill(Drill(ocs_drill("pod-0").plan, "pod-0", "test"), site, 1, US_PER_HOUR)


def values(plan: LabDrill) -> dict[str, float]:
    config = plan.site.fabrics["pod-0"]
    return {name: parameter_or(config, name, -1.0) for name in PARAMETERS}


def cost(hours: float, work_hours: float = 1000.0) -> RunWithout:
    """A drill that cost these chip-hours of those in 2,000 chip-hours."""
    work_us, lost_us = round(work_hours * US_PER_HOUR), round(hours * US_PER_HOUR)
    return RunWithout(work_us - lost_us, work_us, 0, {}, 2_000 * US_PER_HOUR)


def fake_runs(monkeypatch: pytest.MonkeyPatch, costs: Sequence[RunWithout | None]) -> list[LabDrill]:
    """Replace the lab: its runs cost this in turn. The plans that it receives."""
    received: list[LabDrill] = []
    none = DrillScore("pod-0/drill-0", "test", "0" * 64, 1, (), "completed", deviated=False)

    def run(plans: Sequence[LabDrill], _jobs: int) -> list[LabScore]:
        received.extend(plans)
        return [LabScore(none, 1, 1, "", one) for _, one in zip(plans, costs, strict=True)]

    monkeypatch.setattr(alternatives, "run_lab_drills", run)
    return received


def test_each_alternative_changes_its_parameters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    received = fake_runs(monkeypatch, [cost(1)] * len(ALTERNATIVES))
    plan = lab_drill("repairs.technicians=3")
    before = values(plan)
    assert set(PARAMETERS) <= set(RUNTIME_PARAMETERS)
    try_alternatives([plan], [cost(7)], 1)
    changes = [
        {name: one for name, one in values(other).items() if one != before[name]} for other in received
    ]
    assert changes == [
        {"scheduler.hot_spares": 4},
        {"repairs.technicians": 6, "repairs.fibre_technicians": 4},
        {"workload.checkpoint_every_s": 900},
        {"repairs.ocs_repair_h": 18.0},
        {"repairs.host_repair_h": 6.0},
    ]
    assert {other.drill.plan for other in received} == {plan.drill.plan}


def test_a_pod_without_a_parameter_is_not_run_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    received = fake_runs(monkeypatch, [cost(1)] * (len(ALTERNATIVES) - 1))
    try_alternatives([lab_drill(kind="static-pod")], [cost(7)], 1)
    assert len(received) == len(ALTERNATIVES) - 1  # a static pod has no OCSes


def test_drills_that_cost_nothing_are_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    received = fake_runs(monkeypatch, [])
    assert try_alternatives([lab_drill()] * 3, [cost(0), None, cost(-5)], 1) == [None, None, None]
    assert received == []


def test_only_what_saves_enough_has_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_runs(monkeypatch, [cost(100), cost(96), cost(40, 950), None, cost(95)])
    (tried,) = try_alternatives([lab_drill()], [cost(100)], 1)
    assert tried is not None
    assert [one.has_helped for one in tried] == [False, False, True, True]
    assert [one.price_us for one in tried] == [0, 0, 50 * US_PER_HOUR, 0]
    assert tried_text(tried) == (
        "100.0 chip-hours lost; less with checkpoints 4 times as often (40.0, and 50.0 fewer without the "
        "drill), host repairs 4 times as fast (95.0); not with 4 more spare cubes, twice the technicians"
    )


def test_a_pod_that_does_less_work_has_less_to_lose() -> None:
    lost, before, price = 30 * US_PER_HOUR, 100 * US_PER_HOUR, 66 * US_PER_HOUR
    assert not TriedAlternative("spares", lost, before, price).has_helped
    assert TriedAlternative("spares", lost, before, price - US_PER_HOUR).has_helped
    assert TriedAlternative("repairs", lost, before, -price).has_helped


def test_that_nothing_would_have_helped_is_a_result() -> None:
    tried = [TriedAlternative(name, 10 * US_PER_HOUR, 10 * US_PER_HOUR) for name in ("spares", "repairs")]
    assert tried_text(tried) == (
        "10.0 chip-hours lost; none of those tried would have helped: spares, repairs"
    )
