"""Deployment against closed forms, a simulation of its own in small steps, and laws of order."""

import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.availability.deployment import ASSUMPTIONS, Rollout, deployed

STEADY = Rollout(late_days=0.0, faulty=0.0, crews=64.0)
ROLLOUTS = st.builds(
    Rollout,
    racks=st.sampled_from((16, 32)),
    racks_per_week=st.floats(1.0, 40.0),
    late_days=st.floats(0.0, 10.0),
    crews=st.sampled_from((1.0, 2.0, 5.0)),
    install_days=st.floats(0.0, 3.0),
    test_days=st.floats(0.0, 3.0),
    faulty=st.floats(0.0, 0.5),
    repair_days=st.floats(0.0, 5.0),
)


def test_racks_that_come_on_their_days_wait_as_computed_by_hand() -> None:
    """A single rack waits for its crew and its test. In a block of 16, it also waits 7.5 gaps in the mean for
    the last rack, and for the test of the whole block."""
    found = deployed(STEADY, 0)
    gap = 7.0 / STEADY.racks_per_week
    alone = STEADY.install_days + STEADY.test_days
    assert found.arrived == pytest.approx([gap * rack for rack in range(64)])
    assert found.mean_wait(found.by_rack) == pytest.approx(alone)
    assert found.mean_wait(found.by_block) == pytest.approx(alone + STEADY.test_days + 7.5 * gap)
    whole = deployed(STEADY, 0, 4_096)
    assert list(whole.by_block) == pytest.approx([63 * gap + alone + STEADY.test_days] * 64)


def test_chance_alone_keeps_a_block_as_long_as_the_last_of_sixteen_exponentials() -> None:
    """The last of n exponentials of mean m comes after m·(1 + 1/2 + … + 1/n), a rack after m."""
    at_once = replace(STEADY, racks=1_024, racks_per_week=1e9, crews=4_000.0, late_days=5.0)
    found = [deployed(at_once, seed) for seed in range(8)]
    harmonic = sum(1.0 / n for n in range(1, 17))
    waits = fmean(one.mean_wait(one.by_block) - one.mean_wait(one.by_rack) for one in found)
    # 512 blocks, whose last comes with a standard deviation of 5·√(Σ 1/n²) = 6.3 days.
    assert waits == pytest.approx(STEADY.test_days + 5.0 * (harmonic - 1.0), abs=3 * 6.3 / 512**0.5)


def test_tests_fail_as_often_and_repairs_last_as_long_as_assumed() -> None:
    racks = replace(STEADY, racks=4_096, faulty=0.25, repair_days=2.0, crews=4_096.0)
    waits = fmean(one.mean_wait(one.by_rack) for one in (deployed(racks, seed) for seed in range(4)))
    # 1 ÷ (1 − ¼) tests in the mean, and a repair after each but the last.
    mean = racks.install_days + 4 / 3 * racks.test_days + 1 / 3 * racks.repair_days
    assert waits == pytest.approx(mean, abs=0.06)


def put_up_by_walking(arrived: list[float], crews: int, days: int) -> list[int]:
    """The completion time of each rack, simulated day by day: a free crew takes the rack that arrived
    first."""
    waiting = sorted(range(len(arrived)), key=lambda rack: (arrived[rack], rack))
    left, at, day, stands = [0] * crews, [-1] * crews, 0, [0] * len(arrived)
    while waiting or any(left):
        for crew in range(crews):
            if left[crew] == 0 and waiting and arrived[waiting[0]] <= day:
                at[crew], left[crew] = waiting.pop(0), days
        for crew in range(crews):
            if left[crew]:
                left[crew] -= 1
                if left[crew] == 0:
                    stands[at[crew]] = day + 1
        day += 1
    return stands


@pytest.mark.parametrize(("crews", "days", "gap"), [(1, 1, 1), (2, 3, 1), (3, 2, 1), (5, 4, 1), (1, 3, 2)])
def test_crews_take_racks_as_they_come(crews: int, days: int, gap: int) -> None:
    found = deployed(Rollout(32, 7.0 / gap, 0.0, float(crews), float(days), test_days=0.0, faulty=0.0), 0)
    assert found.by_rack == pytest.approx(put_up_by_walking(list(found.arrived), crews, days))


@settings(max_examples=60, deadline=None)
@given(rollout=ROLLOUTS, seed=st.integers(0, 100))
def test_no_rack_is_of_use_before_it_came_or_later_than_its_block(rollout: Rollout, seed: int) -> None:
    found, whole = deployed(rollout, seed), deployed(rollout, seed, 64 * rollout.racks)
    for arrived, alone, block, last in zip(
        found.arrived, found.by_rack, found.by_block, whole.by_block, strict=True
    ):
        assert arrived + rollout.install_days + rollout.test_days <= alone + 1e-9
        assert alone + rollout.test_days <= block + 1e-9
        assert block <= last + 1e-9
    assert deployed(rollout, seed, 64).by_rack == found.by_rack


@settings(max_examples=40, deadline=None)
@given(rollout=ROLLOUTS, seed=st.integers(0, 100))
def test_more_crews_never_make_any_wait_longer(rollout: Rollout, seed: int) -> None:
    found, more = deployed(rollout, seed), deployed(replace(rollout, crews=rollout.crews + 1), seed)
    assert all(a <= b + 1e-9 for a, b in zip(more.by_rack, found.by_rack, strict=True))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"racks": 0}, "racks 0: must be between 1 and 4,096"),
        ({"racks_per_week": 0.0}, "racks_per_week 0.0: must be a finite number above 0"),
        ({"late_days": -1.0}, "late_days -1.0: must be a finite number of at least 0"),
        ({"crews": 1.5}, "crews: 1.5 is not allowed; must be a whole number of at least 1"),
        ({"faulty": 1.0}, "faulty: 1.0 is not allowed; must be at least 0 and below 1"),
    ],
)
def test_a_mistake_is_an_error_in_one_sentence(changed: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        replace(STEADY, **changed)  # type: ignore[arg-type]  # racks is the one whole number


@pytest.mark.parametrize("chips", [0, 100, 64 * 24])
def test_blocks_are_of_whole_racks_and_the_pod_of_whole_blocks(chips: int) -> None:
    with pytest.raises(InvalidInput, match=f"block_chips: {chips} is not allowed"):
        deployed(STEADY, 0, chips)


def test_every_assumption_has_a_reason_and_is_in_the_documentation() -> None:
    text = Path("docs/reference/availability.md").read_text(encoding="utf-8")
    for name, assumption in ASSUMPTIONS.items():
        assert len(assumption.reason.split()) >= 4, name
        unit = f" {assumption.unit}" if assumption.unit else ""
        assert f"| {name} | {assumption.value:,g}{unit} | {assumption.reason} |" in text, name
