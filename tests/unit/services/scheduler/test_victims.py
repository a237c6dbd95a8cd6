"""Who makes room, against every choice there is."""

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.structures.preemption_choice import VictimGroup, cheapest_groups, cheapest_place


def leavers_of(rows: list[tuple[int, int]]) -> list[VictimGroup]:
    """From (cubes, lost)."""
    return [VictimGroup((number,), cubes, lost) for number, (cubes, lost) in enumerate(rows)]


rows = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9)), max_size=8)


@given(rows, st.integers(0, 16))
def test_no_choice_loses_less_or_takes_fewer(rows: list[tuple[int, int]], needed: int) -> None:
    leavers = leavers_of(rows)
    found = cheapest_groups(leavers, needed)
    choices = chain.from_iterable(combinations(leavers, size) for size in range(len(leavers) + 1))
    enough = [choice for choice in choices if sum(one.cubes for one in choice) >= needed]
    assert (found is None) == (not enough)
    if found is not None:
        assert sum(one.cubes for one in found) >= needed
        assert cost(found) == min(cost(choice) for choice in enough)


@given(rows, st.integers(1, 16))
def test_none_leaves_whose_cubes_are_not_needed(rows: list[tuple[int, int]], needed: int) -> None:
    found = cheapest_groups(leavers_of(rows), needed) or ()
    for one in found:
        assert sum(other.cubes for other in found if other is not one) < needed


def cost(choice: tuple[VictimGroup, ...]) -> tuple[int, int]:
    return sum(one.lost for one in choice), len(choice)


def test_the_meshes_of_a_cube_leave_together() -> None:
    meshes, slice_ = VictimGroup((1, 2, 3), 1, 30), VictimGroup((4,), 1, 31)
    assert cheapest_groups([slice_, meshes], 1) == (meshes,)
    assert cheapest_groups([slice_, meshes], 2) == (slice_, meshes)


def test_a_place_on_which_one_lies_that_may_stay_is_none() -> None:
    places = [frozenset({1, 9}), frozenset({2, 3}), frozenset({4}), frozenset({5})]
    assert cheapest_place(places, {1: 0, 2: 4, 3: 4, 4: 8, 5: 8}) == frozenset({4})
    assert cheapest_place(places, {1: 0, 2: 3, 3: 4, 4: 8, 5: 8}) == frozenset({2, 3})
    assert cheapest_place(places, {1: 0}) is None
