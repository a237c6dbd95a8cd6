"""The ranking of suitable cubes."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from schemas.messages.repairs import RepairCancelled, RepairOpened
from services.scheduler.placement.cube_ranking import DOMAIN_CUBES, rank_cubes, spread_repair_domains
from services.scheduler.structures.slice_record import Slice
from tests.support.scheduler_model import World


def test_a_slice_is_spread_over_repair_domains() -> None:
    world = World(cubes=32)
    name, _ = world.request((4, 8, 16))
    cubes = world.held_cubes[name]
    assert spread_repair_domains(cubes) == 2
    assert {cube // DOMAIN_CUBES for cube in cubes} == {0, 1, 2, 3}


def test_cubes_with_open_tickets_are_taken_last() -> None:
    world = World(cubes=4)
    for repair, cube in ((0, 0), (1, 1)):
        world.feed(
            RepairOpened(repair=f"pod-0/repair-{repair}", kind="link", target=f"pod-0/cube-{cube}/+x/3")
        )
    world.feed(RepairOpened(repair="pod-0/repair-2", kind="ocs", target="pod-0/ocs-3"))
    first, _ = world.request((4, 4, 8))
    assert world.held_cubes[first] == (2, 3)
    world.release(first)
    world.feed(RepairCancelled(repair="pod-0/repair-0", target="pod-0/cube-0/+x/3"))
    second, _ = world.request((4, 4, 8))
    assert world.held_cubes[second] == (0, 2)


def test_a_port_that_waits_for_repair_counts_for_the_cube_behind_it() -> None:
    """Otherwise, a slice whose links fail their preflight there would get the same cubes again."""
    world = World(cubes=4)
    for repair, port in enumerate(("N1", "S5", "N9")):  # of cubes 0 and 2, and a spare
        world.feed(RepairOpened(repair=f"pod-0/repair-{repair}", kind="port", target=f"pod-0/ocs-17/{port}"))
    name, _ = world.request((4, 4, 8))
    assert world.held_cubes[name] == (1, 3)


def test_a_cube_with_existing_loops_goes_to_a_slice_of_one_cube() -> None:
    world = World(cubes=8)
    world.state.leftover_circuits.update({3 * 5 + dimension: 5 for dimension in range(3)})
    world.state.leftover_circuits.update({3 * 0 + dimension: 0 for dimension in range(3)})
    pair, _ = world.request((4, 4, 8))
    assert world.held_cubes[pair] == (1, 2)
    single, _ = world.request((4, 4, 4))
    assert world.held_cubes[single] == (0,)


def test_a_slice_goes_where_an_equal_shape_has_left_its_circuits() -> None:
    world = World(cubes=8)
    first = world.start((4, 4, 4))
    pair = world.start((4, 4, 8))
    joins = world.state.placement.joins((4, 4, 8), False, (1, 2))
    world.release(pair)
    world.release(first)
    world.state.leftover_circuits.update({3 * north + dimension: south for dimension, north, south in joins})
    second_slice, _ = world.request((4, 4, 8))
    assert world.held_cubes[second_slice] == (1, 2)


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11), min_size=1))
def test_no_cube_ranks_better_for_a_slice_of_one(
    ticketed: set[int], looped: set[int], idle: set[int]
) -> None:
    """Against every choice; cubes 0 to 7 and 8 to 11 are two domains."""
    world = World(cubes=12)
    for cube in set(range(12)) - idle:
        world.fail(cube)
    world.state.tickets.update(dict(enumerate(sorted(ticketed))))
    loops = {3 * cube + d: cube for cube in looped for d in range(3)}
    world.state.leftover_circuits.update(loops)
    name, _ = world.request((4, 4, 4))
    world.state.leftover_circuits.update(loops)  # as they were at the decision
    row: Slice = world.state.slices[0]
    scores = [rank_cubes(world.state, row, choice) for choice in combinations(sorted(idle), 1)]
    assert rank_cubes(world.state, row, world.held_cubes[name])[:3] == min(scores)[:3]
