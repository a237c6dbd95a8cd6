"""Plans of faults: from one seed, in volleys, every strike before any comes again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.soak.plan import WITHIN_S, Fault, Target, plan_faults, volleys
from ops.soak.strikes.table import SESSION_TIMEOUT_S, STRIKES
from ops.soak.twin import WHOLE

TARGETS = [
    *(Target(name, "worker") for name in ("cubes-a", "ocs-a", "ocs-b", "repairs-a")),
    *(Target(name, "sequencer") for name in ("sequencer", "sequencer-b")),
    *(Target(name, "gateway") for name in ("gateway", "gateway-b")),
    *(Target(kind, kind) for kind in WHOLE),
]


def plan_of(seed: int, faults: int) -> list[Fault]:
    return plan_faults(seed, STRIKES, TARGETS, faults)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    assert plan_of(1, 40) == plan_of(1, 40) != plan_of(2, 40)


@given(seed=st.integers(0, 2**32), faults=st.integers(0, 200))
def test_as_many_as_asked_for_in_volleys(seed: int, faults: int) -> None:
    plan = plan_of(seed, faults)
    assert [fault.number for fault in plan] == [*range(faults)]
    for number, volley in enumerate(volleys(plan)):
        assert {fault.volley for fault in volley} == {number}
        assert volley[0].after_s == 0
        assert all(0 < fault.after_s < WITHIN_S for fault in volley[1:])
        targets = [fault.target for fault in volley]
        assert len(targets) == len(set(targets)) <= 3
        assert len(volley) == 1 or not any(fault.strike.alone for fault in volley)
        for fault in volley:
            assert fault.target.kind == fault.strike.kind
            least, most = fault.strike.lasts_s
            assert least <= fault.lasts_s <= most


def test_volleys_are_of_one_two_and_three() -> None:
    assert {len(volley) for volley in volleys(plan_of(5, 100))} == {1, 2, 3}


@pytest.mark.parametrize("seed", range(10))
def test_the_first_ones_are_one_of_each_strike(seed: int) -> None:
    """But for some that are put off, for they may not share a volley."""
    faults = plan_of(seed, len(STRIKES) + 10)
    assert {fault.strike for fault in faults} == {*STRIKES}


def test_in_a_long_plan_every_target_meets_every_strike() -> None:
    wanted = {(strike, target) for target in TARGETS for strike in STRIKES if strike.kind == target.kind}
    plan = plan_of(3, len(wanted))
    assert {(fault.strike, fault.target) for fault in plan} == wanted


def test_one_target_is_enough_for_a_plan() -> None:
    plan = plan_faults(1, STRIKES, [Target("ocs-a", "worker")], 30)
    assert len(plan) == 30


def test_every_strike_has_a_name_of_its_own_and_a_target() -> None:
    names = [strike.name for strike in STRIKES]
    assert len(names) == len(set(names))
    assert {strike.kind for strike in STRIKES} == {target.kind for target in TARGETS}


def test_a_worker_is_paused_past_its_session() -> None:
    (pause,) = [strike for strike in STRIKES if strike.name == "pause worker"]
    assert pause.lasts_s[0] > SESSION_TIMEOUT_S


def test_draws_of_a_fault_are_its_own() -> None:
    first, second = plan_of(1, 2)
    assert first.between("cut", 1.0, 9.0) == first.between("cut", 1.0, 9.0)
    assert first.between("cut", 1.0, 9.0) != second.between("cut", 1.0, 9.0)
    assert 0 <= first.index("which", 3) < 3
