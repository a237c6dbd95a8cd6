"""Plans of faults: from one seed, in bursts, every action before any comes again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.soak.fault_plan import WITHIN_S, PlannedFault, bursts_of, plan_faults, with_upgrade
from tests.soak.faults.catalog import FAULT_ACTIONS, SESSION_TIMEOUT_S, UPGRADE
from tests.soak.whole_twin import HISTORIAN, SINGLE_TARGETS, FaultTarget

TARGETS = [
    *(FaultTarget(name, "worker") for name in ("cubes-a", "ocs-a", "ocs-b", "repairs-a")),
    *(FaultTarget(name, "sequencer") for name in ("sequencer", "sequencer-b")),
    *(FaultTarget(name, "gateway") for name in ("gateway", "gateway-b")),
    FaultTarget(HISTORIAN, "historian"),
    *(FaultTarget(kind, kind) for kind in SINGLE_TARGETS),
]


def plan_of(seed: int, faults: int) -> list[PlannedFault]:
    return plan_faults(seed, FAULT_ACTIONS, TARGETS, faults)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    assert plan_of(1, 40) == plan_of(1, 40) != plan_of(2, 40)


@given(seed=st.integers(0, 2**32), faults=st.integers(0, 200))
def test_as_many_as_requested_in_bursts(seed: int, faults: int) -> None:
    plan = plan_of(seed, faults)
    assert [fault.number for fault in plan] == [*range(faults)]
    for number, burst in enumerate(bursts_of(plan)):
        assert {fault.burst for fault in burst} == {number}
        assert burst[0].after_s == 0
        assert all(0 < fault.after_s < WITHIN_S for fault in burst[1:])
        targets = [fault.target for fault in burst]
        assert len(targets) == len(set(targets)) <= 3
        assert len(burst) == 1 or not any(fault.fault_action.exclusive for fault in burst)
        for fault in burst:
            assert fault.target.kind == fault.fault_action.kind
            least, most = fault.fault_action.duration_s
            assert least <= fault.duration_s <= most


def test_bursts_are_of_one_two_and_three() -> None:
    assert {len(burst) for burst in bursts_of(plan_of(5, 100))} == {1, 2, 3}


@pytest.mark.parametrize("seed", range(10))
def test_the_first_ones_are_one_of_each_strike(seed: int) -> None:
    """Except some that come later, because they may not share a burst."""
    faults = plan_of(seed, len(FAULT_ACTIONS) + 10)
    assert {fault.fault_action for fault in faults} == {*FAULT_ACTIONS}


def test_in_a_long_plan_every_target_meets_every_strike() -> None:
    wanted = {
        (fault_action, target)
        for target in TARGETS
        for fault_action in FAULT_ACTIONS
        if fault_action.kind == target.kind
    }
    plan = plan_of(3, len(wanted))
    assert {(fault.fault_action, fault.target) for fault in plan} == wanted


def test_one_target_is_enough_for_a_plan() -> None:
    plan = plan_faults(1, FAULT_ACTIONS, [FaultTarget("ocs-a", "worker")], 30)
    assert len(plan) == 30


def test_every_strike_has_a_name_of_its_own_and_a_target() -> None:
    names = [fault_action.name for fault_action in FAULT_ACTIONS]
    assert len(names) == len(set(names))
    assert {fault_action.kind for fault_action in FAULT_ACTIONS} == {target.kind for target in TARGETS}


def test_a_worker_is_paused_past_its_session() -> None:
    (pause,) = [fault_action for fault_action in FAULT_ACTIONS if fault_action.name == "pause worker"]
    assert pause.duration_s[0] > SESSION_TIMEOUT_S


def test_draws_of_a_fault_are_its_own() -> None:
    first, second = plan_of(1, 2)
    assert first.between("cut", 1.0, 9.0) == first.between("cut", 1.0, 9.0)
    assert first.between("cut", 1.0, 9.0) != second.between("cut", 1.0, 9.0)
    assert 0 <= first.index("which", 3) < 3


@given(seed=st.integers(0, 2**32), faults=st.integers(1, 200))
def test_the_upgrade_is_alone_in_the_middle_and_changes_no_fault(seed: int, faults: int) -> None:
    before = plan_of(seed, faults)
    plan = with_upgrade(before, UPGRADE, FaultTarget("twin", "twin"))
    assert [fault.number for fault in plan] == [*range(faults + 1)]
    bursts = bursts_of(plan)
    assert [{fault.burst for fault in burst} for burst in bursts] == [{n} for n in range(len(bursts))]
    (place,) = [n for n, burst in enumerate(bursts) if burst[0].fault_action is UPGRADE]
    assert len(bursts[place]) == 1
    assert abs(len(bursts) // 2 - place) <= 1
    rest = [fault for fault in plan if fault.fault_action is not UPGRADE]
    unnumbered = [(fault.fault_action, fault.target, fault.after_s, fault.duration_s) for fault in rest]
    assert unnumbered == [
        (fault.fault_action, fault.target, fault.after_s, fault.duration_s) for fault in before
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("kill kafka", "kill redis", "pause worker", "pause sequencer", "pause gateway", "strays log"),
        *("fill disk kafka", "fill disk redis", "kill historian", "pause historian"),
    ],
)
def test_faults_that_no_soak_may_lack(name: str) -> None:
    assert name in {fault_action.name for fault_action in FAULT_ACTIONS}
