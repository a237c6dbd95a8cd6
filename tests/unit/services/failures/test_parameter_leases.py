"""Parameters that a drill changes have their values before when its lease ends, whoever ends it."""

import pytest

from schemas.config.parameter import ParameterSetting, ParameterValue
from schemas.documents.pods import ParametersDocument
from schemas.drill_plan import PlannedStep
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import DrillOrder
from schemas.messages.failures import ParametersChanged, ParametersRefused
from schemas.messages.operator import SetParameters
from schemas.messages.sequencer import FabricRetired
from services.failures.documents import document
from services.failures.service import SERVICE
from tests.support.drill_rig import MINUTE, DrillRig, faults, plan, wait
from tests.support.rig import Bench, bodies
from tests.unit.services.failures.test_parameter_changes import ONLY_HOSTS, request

HOSTS = "failures.host_per_day"
LEASE_END_US = 60 * MINUTE


def order(value: ParameterValue, drill: str = "pod-0/drill-0", *, is_undo: bool = False) -> DrillOrder:
    settings = (ParameterSetting(name=HOSTS, value=value),)
    return DrillOrder(
        drill=drill,
        step="rate",
        fabric="pod-0",
        request_type="SetParameters",
        request=SetParameters(settings=settings),
        lease_ends_us=LEASE_END_US,
        is_undo=is_undo,
    )


def rate(bench: Bench) -> float:
    found: float = bench.state("failures").config.host_per_day
    return found


def shown(bench: Bench) -> list[tuple[str | None, int | None]]:
    found = document(bench.state("failures"), ("parameters", "pod-0"))
    assert isinstance(found, ParametersDocument)
    return [(row.drill, row.expires_us) for row in found.changed]


@pytest.fixture
def bench() -> Bench:
    bench = Bench([SERVICE], ONLY_HOSTS)
    bench.say(order(0.0), MINUTE)
    assert (rate(bench), shown(bench)) == (0.0, [("pod-0/drill-0", LEASE_END_US)])
    return bench


def test_the_value_before_is_back_when_the_lease_ends_and_the_order_is_the_cause(bench: Bench) -> None:
    cause = bench.state("failures").leases[HOSTS].cause
    assert bench.run(LEASE_END_US - 1) == []
    ((changed, by),) = [
        (one.body, one.cause) for one in bench.run(LEASE_END_US) if isinstance(one.body, ParametersChanged)
    ]
    assert [(one.was, one.value) for one in changed.changes] == [(0.0, 0.01)]
    assert (by, rate(bench), shown(bench)) == (cause, 0.01, [])
    assert bench.state("failures").leases == {}


def test_the_undo_ends_the_lease(bench: Bench) -> None:
    bench.say(order(0.5), 2 * MINUTE)
    bench.say(order(0.0, is_undo=True), 3 * MINUTE)
    bench.say(order(0.01, is_undo=True), 3 * MINUTE + 1)
    assert bench.state("failures").leases == {}
    assert SERVICE.due(bench.state("failures")) != LEASE_END_US


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_the_value_that_an_operator_sets_meanwhile_stays(bench: Bench, value: float) -> None:
    bench.say(request(failures__host_per_day=value), 2 * MINUTE)
    assert shown(bench) == [(None, None)]
    bench.run(LEASE_END_US + MINUTE)
    assert rate(bench) == value


def test_two_drills_never_change_one_parameter(bench: Bench) -> None:
    (refused,) = bodies(bench.say(order(0.5, "pod-0/drill-1"), 2 * MINUTE))
    assert refused == ParametersRefused(
        fabric="pod-0", reason=f"{HOSTS}: is changed by pod-0/drill-0 until {LEASE_END_US} us"
    )
    assert rate(bench) == 0.0


def test_a_drill_whose_fabric_retires_leaves_no_parameter_of_another_changed() -> None:
    rig = DrillRig(fabrics=("pod-0", "pod-1"))
    template = f'{{"settings": [{{"name": "{HOSTS}", "value": 0.5}}]}}'
    step = PlannedStep(name="rate", what="request", verb="set", template=template, fabric="pod-1")
    made = plan(step, wait(30), probes=(), allowances=())
    was = _rate_of(rig)
    rig.run(10 * MINUTE, (MINUTE, RunDrill(plan=made)))
    rig.run(20 * MINUTE, (10 * MINUTE, FabricRetired()))
    assert _rate_of(rig) == 0.5
    rig.run(MINUTE + made.lease_us)
    assert _rate_of(rig) == was


def _rate_of(rig: DrillRig) -> object:
    """The rate of pod-1."""
    return vars(faults(rig.site, "pod-1").config)["host_per_day"]
