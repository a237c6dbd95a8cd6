"""Held-back cubes: production and research leave them idle; filler and recovery use them."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import CubeSwapped, SliceAdmitted, SliceNoticed, SliceRefused
from schemas.names import Shape, Tier
from services.scheduler.placement.holdback import held_back
from shared.models.availability.promised_goodput import promised_goodput
from tests.support.scheduler_model import Said, World

CUBE: Shape = (4, 4, 4)
PAIR: Shape = (4, 4, 8)
TWO = SchedulerConfig(hold_back="fixed", hold_back_cubes=2)


def admitted(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceAdmitted)]


def test_firm_slices_leave_the_held_back_cubes_idle_and_filler_uses_them() -> None:
    world = World(cubes=4, policy=TWO)
    world.start(PAIR)
    waits, emitted = world.request(CUBE, tier="production")
    assert admitted(emitted) == []
    assert world.status(waits).reason == (
        "first in line; needs 1 healthy idle cube: of 4 cubes, 2 idle and 2 used; 2 are held back "
        "(scheduler.hold_back fixed)"
    )
    assert world.summary().chips_by_category["held_back"] == 128
    filler, emitted = world.request(PAIR, tier="filler")
    assert admitted(emitted) == [filler]
    assert world.summary().chips_by_category["held_back"] == 0
    world.check()


def test_a_slice_that_would_always_wait_for_the_reserve_is_refused() -> None:
    world = World(cubes=4, policy=SchedulerConfig(hold_back="fixed", hold_back_cubes=1, hot_spares=1))
    _, (emitted,) = world.request((4, 4, 12))
    assert isinstance(emitted, SliceRefused)
    assert emitted.reason == (
        "shape: 4x4x12 needs 3 cubes; must be at most 2 of 4, because the rest is reserved "
        "(scheduler.hold_back, scheduler.hot_spares)"
    )
    filler, said_of_filler = world.request((4, 4, 12), tier="filler")
    assert admitted(said_of_filler) == [filler]
    firm, said_of_firm = world.request(PAIR)
    assert [type(body) for body in said_of_firm] == [SliceNoticed]
    assert admitted(world.checkpoint(filler)) == [firm]
    world.check()


def test_a_failed_cube_is_swapped_for_a_held_back_one() -> None:
    world = World(cubes=4, policy=TWO)
    world.start(PAIR)
    emitted = [*world.fail(0), *world.tick()]
    assert CubeSwapped in [type(body) for body in emitted]
    world.check()


@pytest.mark.parametrize("slice_cubes", [1, 4])
def test_the_hold_back_is_the_closed_form_minus_the_missing_cubes(slice_cubes: int) -> None:
    policy = SchedulerConfig(hold_back="availability", hold_back_slice_cubes=slice_cubes)
    world = World(cubes=64, policy=policy)
    promised = promised_goodput(0.999, 64 * slice_cubes, "reconfigurable", target=0.97, cubes=64)
    assert held_back(world.state) == promised.held_back_cubes > 0
    world.fail(3)
    assert held_back(world.state) == promised.held_back_cubes - 1


TIERS = st.sampled_from(get_args(Tier))
SHAPES = st.sampled_from([(2, 4, 4), CUBE, PAIR, (4, 4, 12)])
ROWS = st.lists(st.tuples(SHAPES, TIERS, st.integers(0, 9)), max_size=14)


@settings(deadline=None, max_examples=150)
@given(ROWS, st.integers(0, 4))
def test_no_firm_slice_takes_a_held_back_cube_and_none_waits_without_need(
    rows: list[tuple[Shape, Tier, int]], cubes: int
) -> None:
    policy = SchedulerConfig(hold_back="fixed", hold_back_cubes=cubes, backfill="none")
    world = World(cubes=6, policy=policy)
    for shape, tier, released in rows:
        name, _ = world.request(shape, tier=tier)
        for victim in sorted(world.noticed):
            world.checkpoint(victim)
        world.check()
        firm = {c for holder, on in world.held_cubes.items() if world.tiers[holder] != "filler" for c in on}
        assert len(firm) <= 6 - cubes
        if shape != (2, 4, 4) and tier == "production" and world.status(name).queue_position == 1:
            assert len(firm) + shape[2] // 4 > 6 - cubes
        alive = sorted(world.held_cubes)
        if released < len(alive):
            world.release(alive[released])
