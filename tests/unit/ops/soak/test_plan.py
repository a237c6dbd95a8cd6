"""Plans of faults: from one seed, spread over the time, every kind of fault of every kind of process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.soak.plan import ACTIONS, REST_S, SESSION_TIMEOUT_S, Target, plan_faults

TARGETS = [
    *(Target(name, "worker") for name in ("cubes-a", "ocs-a", "ocs-b", "repairs-a")),
    Target("sequencer", "sequencer"),
    Target("gateway", "gateway"),
    Target("kafka", "kafka"),
    Target("redis", "redis"),
]


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    plan = plan_faults(1, TARGETS, 40, 600)
    assert plan == plan_faults(1, TARGETS, 40, 600)
    assert plan != plan_faults(2, TARGETS, 40, 600)


@given(seed=st.integers(0, 2**32), faults=st.integers(0, 90), seconds=st.floats(1_800, 3_600))
def test_as_many_as_asked_for_in_order_within_the_time(seed: int, faults: int, seconds: float) -> None:
    plan = plan_faults(seed, TARGETS, faults, seconds)
    assert [fault.number for fault in plan] == [*range(faults)]
    times = [fault.at_s for fault in plan]
    assert times == sorted(times)
    assert all(0 <= at_s <= seconds for at_s in times)


@given(seed=st.integers(0, 2**32), seconds=st.floats(60, 3_600))
def test_no_process_is_struck_before_its_last_fault_is_over(seed: int, seconds: float) -> None:
    free_at_s: dict[str, float] = {}
    for fault in plan_faults(seed, TARGETS, 60, seconds):
        assert fault.at_s >= free_at_s.get(fault.target.name, 0.0)
        free_at_s[fault.target.name] = fault.at_s + fault.lasts_s + REST_S


@pytest.mark.parametrize("seed", range(10))
def test_the_first_ones_are_one_of_each_kind(seed: int) -> None:
    wanted = {(action, kind) for kind, actions in ACTIONS.items() for action in actions}
    faults = plan_faults(seed, TARGETS, len(wanted), 3_600)
    assert {(fault.action, fault.target.kind) for fault in faults} == wanted


def test_in_a_long_plan_every_process_meets_every_fault() -> None:
    wanted = {(action, target) for target in TARGETS for action in ACTIONS[target.kind]}
    plan = plan_faults(3, TARGETS, len(wanted), 3_600)
    assert {(fault.action, fault.target) for fault in plan} == wanted
    assert plan[-1].at_s < 3_600


def test_a_worker_is_paused_past_its_session_and_only_a_rollback_cuts() -> None:
    for fault in plan_faults(4, TARGETS, 100, 7_200):
        if fault.action == "pause" and fault.target.kind == "worker":
            assert fault.lasts_s > SESSION_TIMEOUT_S
        assert (fault.cut_bytes > 0) == (fault.action == "roll back")
        assert (fault.lasts_s > 0) or fault.action in ("kill", "restart")
