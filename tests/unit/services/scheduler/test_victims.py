"""The choice of victims, against every possible choice."""

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.structures.preemption_choice import VictimGroup, cheapest_groups, cheapest_place


def leavers_of(rows: list[tuple[int, int]]) -> list[VictimGroup]:
    """Leavers from (cubes, lost)."""
    return [VictimGroup((number,), cubes, lost) for number, (cubes, lost) in enumerate(rows)]


rows = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9)), max_size=8)


@given(rows, st.integers(0, 16))
def test_no_choice_loses_less_or_takes_fewer(rows: list[tuple[int, int]], needed: int) -> None:
    leavers = leavers_of(rows)
    victims = cheapest_groups(leavers, needed)
    choices = chain.from_iterable(combinations(leavers, size) for size in range(len(leavers) + 1))
    enough = [choice for choice in choices if sum(leaver.cubes for leaver in choice) >= needed]
    assert (victims is None) == (not enough)
    if victims is not None:
        assert sum(leaver.cubes for leaver in victims) >= needed
        assert cost(victims) == min(cost(choice) for choice in enough)


@given(rows, st.integers(1, 16))
def test_no_victim_is_taken_whose_cubes_are_not_needed(rows: list[tuple[int, int]], needed: int) -> None:
    victims = cheapest_groups(leavers_of(rows), needed) or ()
    for victim in victims:
        assert sum(remaining.cubes for remaining in victims if remaining is not victim) < needed


def cost(choice: tuple[VictimGroup, ...]) -> tuple[int, int]:
    return sum(leaver.lost for leaver in choice), len(choice)


def test_the_meshes_of_a_cube_leave_together() -> None:
    meshes, slice_ = VictimGroup((1, 2, 3), 1, 30), VictimGroup((4,), 1, 31)
    assert cheapest_groups([slice_, meshes], 1) == (meshes,)
    assert cheapest_groups([slice_, meshes], 2) == (slice_, meshes)


def test_a_place_with_a_slice_that_may_stay_is_no_choice() -> None:
    places = [frozenset({1, 9}), frozenset({2, 3}), frozenset({4}), frozenset({5})]
    assert cheapest_place(places, {1: 0, 2: 4, 3: 4, 4: 8, 5: 8}) == frozenset({4})
    assert cheapest_place(places, {1: 0, 2: 3, 3: 4, 4: 8, 5: 8}) == frozenset({2, 3})
    assert cheapest_place(places, {1: 0}) is None
