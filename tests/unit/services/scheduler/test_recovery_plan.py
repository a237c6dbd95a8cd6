"""The recovery plan for slices that were hit together, as a pure function of its inputs."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from schemas.recovery_policy import CHOICES
from services.scheduler.recovery.recovery_costs import (
    RecoveryDelays,
    RecoveryInput,
    expected_costs,
    expected_left_us,
    free_after_us,
)
from services.scheduler.recovery.recovery_plan import recovery_plan

DELAYS = RecoveryDelays(decision_us=30, circuits_us=10, preflight_us=120, grace_us=40)
DEAD = RecoveryInput(
    slice=7,
    urgency=(1,),
    chips=256,
    idle_chips=192,
    cubes=1,
    moves=True,
    lost_us=1_000,
    startup_us=300,
    left_us=10**6,
    route_ppm=0,
    repair_us=86_400,
    ends=((600, 2), (1_200, 4)),
    cubes_short=1,
    box_us=None,
)
FIXED = replace(DEAD, moves=False, cubes_short=None, box_us=43_200)
CUT = replace(DEAD, idle_chips=256, cubes=0, moves=False, route_ppm=980_000, cubes_short=None)
COMMON = 256 * (1_000 + 300 + 30)


def test_a_dead_cube_costs_lost_work_a_restart_and_the_time_of_the_choice() -> None:
    assert expected_costs(DEAD, spares=1, warm_cubes=1, delays=DELAYS) == {
        "spare": COMMON + 256 * 10,
        "swap": COMMON + 256 * 130,
        "wait": COMMON + 192 * 86_400 + 256 * 130,
        "evict": COMMON + 256 * 130,
    }


def test_without_a_spare_the_healthy_chips_idle_until_the_first_cube_is_free() -> None:
    costs = expected_costs(DEAD, spares=0, warm_cubes=0, delays=DELAYS)
    assert costs == {
        "wait": COMMON + 192 * 600 + 256 * 130,
        "evict": COMMON + 256 * (130 + 40) + 128 * 600,
    }
    stuck = replace(DEAD, ends=(), cubes_short=1, choices=CHOICES)
    assert expected_costs(stuck, 0, 0, DELAYS)["evict"] == COMMON + 256 * (130 + 40) + 128 * 86_400


def test_without_cube_swaps_a_free_box_is_compared_with_the_repair() -> None:
    for spares in (0, 9):
        assert expected_costs(FIXED, spares, warm_cubes=1, delays=DELAYS) == {
            "wait": COMMON + 192 * 86_400 + 256 * 130,
            "evict": COMMON + 256 * (130 + 40) + 128 * 43_200,
        }


def test_a_link_costs_its_tax_until_it_is_repaired_or_the_work_is_done() -> None:
    tax_us = 86_400 * 10**6 // 980_000 - 86_400
    costs = expected_costs(CUT, spares=9, warm_cubes=0, delays=DELAYS)
    assert costs == {"route": COMMON + 256 * tax_us, "wait": COMMON + 256 * 86_400 + 256 * 130}
    soon = replace(CUT, left_us=100)
    assert expected_costs(soon, 9, 0, DELAYS)["route"] == COMMON + 256 * 2


def test_the_most_urgent_slice_gets_the_available_cubes() -> None:
    waits = replace(DEAD, cubes_short=None)
    first, second = replace(waits, slice=9, urgency=(0,)), replace(waits, slice=3)
    plan = recovery_plan([second, first], spares=1, warm_cubes=0, delays=DELAYS)
    assert [(decision.slice, decision.choice) for decision in plan] == [(9, "swap"), (3, "wait")]


def test_a_slice_that_needs_more_cubes_than_are_free_has_first_claim_on_them() -> None:
    """Otherwise, a slice that needs eight cubes would wait behind every slice that needs one."""
    second = replace(DEAD, cubes_short=None)
    first = replace(second, slice=9, urgency=(0,), cubes=3, idle_chips=64)
    plan = recovery_plan([first, second], spares=2, warm_cubes=0, delays=DELAYS)
    assert [decision.choice for decision in plan] == ["wait", "wait"]


def test_an_overdue_repair_is_expected_to_take_half_as_long_again() -> None:
    assert [expected_left_us(100, elapsed_us) for elapsed_us in (0, 40, 100, 400)] == [100, 60, 50, 200]


def test_cubes_come_free_as_other_slices_leave() -> None:
    ends = [(50, 1), (10, 2), (90, 4)]
    assert [free_after_us(ends, cubes) for cubes in (0, 2, 3, 7, 8)] == [0, 10, 50, 90, None]


hits = st.builds(
    RecoveryInput,
    slice=st.integers(0, 9),
    urgency=st.tuples(st.integers(0, 2)),
    chips=st.sampled_from([8, 64, 128, 512]),
    idle_chips=st.integers(0, 512),
    cubes=st.integers(0, 3),
    moves=st.booleans(),
    lost_us=st.integers(0, 10**6),
    startup_us=st.integers(0, 10**6),
    left_us=st.integers(0, 10**9),
    route_ppm=st.sampled_from([0, 500_000, 979_000, 10**6]),
    repair_us=st.integers(1, 10**9),
    ends=st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 4)), max_size=4).map(tuple),
    cubes_short=st.one_of(st.none(), st.integers(1, 8)),
    box_us=st.one_of(st.none(), st.integers(0, 10**9)),
)


@given(st.lists(hits, max_size=8, unique_by=lambda hit: hit.slice), st.integers(0, 6), st.integers(0, 3))
def test_every_slice_gets_the_cheapest_remaining_choice_and_no_cube_is_given_twice(
    hit: list[RecoveryInput], spares: int, warm_cubes: int
) -> None:
    plan = recovery_plan(hit, spares, warm_cubes, DELAYS)
    by_slice = {hit_slice.slice: hit_slice for hit_slice in hit}
    assert sorted(decision.slice for decision in plan) == sorted(by_slice)
    order = [(by_slice[decision.slice].urgency, decision.slice) for decision in plan]
    assert all(before < after for before, after in pairwise(order))
    for decision in plan:
        hit_slice = by_slice[decision.slice]
        costs = expected_costs(hit_slice, spares, warm_cubes, DELAYS)
        assert decision.costs == costs
        assert "wait" in costs
        cheapest = [choice for choice in CHOICES if costs.get(choice) == min(costs.values())]
        assert decision.choice == cheapest[0]
        if decision.choice == "spare":
            warm_cubes -= hit_slice.cubes
        elif decision.choice == "swap":
            spares -= hit_slice.cubes
        elif decision.choice == "wait" and hit_slice.moves and "swap" not in costs:
            spares = 0
        assert spares >= 0
        assert warm_cubes >= 0
