"""Backfill: every slice that does not delay the first in line may pass it, and no other."""

from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import SliceAdmitted, SliceOverran
from schemas.names import Shape
from shared.basics.units import US_PER_HOUR
from tests.support.scheduler_model import Said, World

CUBE: Shape = (4, 4, 4)
PAIR: Shape = (4, 4, 8)
TRIPLE: Shape = (4, 4, 12)
HALF: Shape = (2, 4, 4)
WHOLE: Shape = (4, 8, 8)
PATIENT = {"research_waits_h": 10_000.0, "production_waits_h": 10_000.0}


def admitted(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceAdmitted)]


def test_the_first_in_line_gets_a_promise_and_only_slices_that_end_before_it_pass() -> None:
    world = World(cubes=4)
    world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    head, _ = world.request(WHOLE)
    promised_us = world.state.slices[0].ends_us
    assert (world.status(head).promised_us, world.status(head).queue_position) == (promised_us, 1)
    long, emitted = world.request(CUBE, estimate_us=3 * US_PER_HOUR)
    assert emitted == []
    assert world.status(long).reason == f"would delay {head}, the first in line (scheduler.backfill easy)"
    short, emitted = world.request(CUBE, estimate_us=US_PER_HOUR)
    assert admitted(emitted) == [short]
    assert world.status(head).promised_us == promised_us
    world.check()


def test_a_slice_that_needs_no_promised_cube_passes_whatever_its_run_time() -> None:
    world = World(cubes=4)
    world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    head, _ = world.request(TRIPLE)
    endless, emitted = world.request(CUBE)
    assert admitted(emitted) == [endless]
    late, emitted = world.request(CUBE)
    assert emitted == []
    assert world.status(late).reason == f"would delay {head}, the first in line (scheduler.backfill easy)"


def test_a_mesh_passes_into_a_cube_that_is_not_free_by_the_promise_anyway() -> None:
    world = World(cubes=4)
    world.start(HALF, estimate_us=9 * US_PER_HOUR)
    world.start(TRIPLE, estimate_us=US_PER_HOUR)
    head, _ = world.request(TRIPLE)
    promised_us = world.status(head).promised_us
    passer, emitted = world.request(HALF)
    assert admitted(emitted) == [passer]
    assert world.status(head).promised_us == promised_us


def test_the_first_fitting_slice_in_order_passes() -> None:
    """The first slice of team a is too long to pass. So the slice of team b comes before the second one of
    team a."""
    world = World(cubes=4)
    world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    leaves, _ = world.start(CUBE, estimate_us=US_PER_HOUR), world.start(CUBE, estimate_us=US_PER_HOUR)
    world.request(WHOLE, owner="team-c")
    world.request(CUBE, owner="team-a", estimate_us=9 * US_PER_HOUR)
    second, _ = world.request(CUBE, owner="team-b", estimate_us=US_PER_HOUR)
    third, emitted = world.request(CUBE, owner="team-a", estimate_us=US_PER_HOUR)
    assert emitted == []
    assert admitted(world.release(leaves)) == [second]
    assert admitted(world.release(second)) == [third]
    world.check()


def test_no_slice_blocks_a_pod_for_ever_even_if_none_passes() -> None:
    world = World(cubes=4, policy=SchedulerConfig(backfill="none"))
    world.start(PAIR)  # without an estimate: its end is unknown
    world.request(WHOLE)
    _, emitted = world.request(CUBE)
    assert [type(body) for body in emitted[:1]] == [SliceAdmitted]
    world.check()


def test_without_backfilling_none_passes() -> None:
    world = World(cubes=4, policy=SchedulerConfig(backfill="none"))
    world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    head, _ = world.request(WHOLE)
    short, emitted = world.request(CUBE, estimate_us=1)
    assert emitted == []
    reason = f"may not pass {head}, the first in line (scheduler.backfill none)"
    assert world.status(short).reason == reason


def test_conservative_backfilling_delays_no_promise() -> None:
    """A pair runs for two hours and one cube for five. The first in line starts after two hours on the pair
    and the idle cube; the next one starts on the remaining cubes."""
    world = World(cubes=4, policy=SchedulerConfig(backfill="conservative"))
    world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    world.start(CUBE, estimate_us=5 * US_PER_HOUR)
    first, _ = world.request(TRIPLE, estimate_us=US_PER_HOUR)
    second, _ = world.request(WHOLE, estimate_us=US_PER_HOUR)
    ends_us = [world.state.slices[number].ends_us for number in (0, 1)]
    assert [world.status(name).promised_us for name in (first, second)] == ends_us
    delays_second, emitted = world.request(CUBE, estimate_us=6 * US_PER_HOUR)
    assert emitted == []
    assert world.status(delays_second).promised_us is not None
    passes, emitted = world.request(CUBE, estimate_us=US_PER_HOUR)
    assert admitted(emitted) == [passes]
    world.check()


def test_an_overrun_doubles_the_estimate_and_moves_the_promise() -> None:
    world = World(cubes=4)
    runs = world.start(PAIR, estimate_us=US_PER_HOUR)
    head, _ = world.request(WHOLE)
    ends_us = world.status(head).promised_us
    assert ends_us is not None
    assert ends_us + 1 == world.held.due_us  # a slice that ends exactly then has not overrun
    (emitted,) = world.tick()
    assert emitted == SliceOverran(slice=runs, estimate_us=2 * US_PER_HOUR, ends_us=ends_us + US_PER_HOUR)
    assert world.status(head).promised_us == ends_us + US_PER_HOUR
    assert world.status(runs).estimate_us == 2 * US_PER_HOUR
    world.check()


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_cubes_in_use_are_never_promised_for_now(
    backfill: Literal["easy", "conservative"],
) -> None:
    """At the very microsecond at which a slice should end, it has not ended yet."""
    world = World(cubes=4, policy=SchedulerConfig(backfill=backfill))
    runs = world.start(PAIR, estimate_us=US_PER_HOUR)
    head, _ = world.request(WHOLE, estimate_us=US_PER_HOUR)
    ends_us = world.status(head).promised_us
    assert ends_us is not None
    _, emitted = world.request(CUBE, after_us=ends_us - world.now_us, estimate_us=US_PER_HOUR)
    assert (emitted, world.now_us) == ([], ends_us)
    assert world.status(head).promised_us == ends_us + 1
    assert admitted(world.release(runs)) == [head]
    world.check()


SHAPES = st.sampled_from([HALF, CUBE, PAIR, TRIPLE])
HOURS = st.sampled_from([1, 2, 5, 9, None])
ROWS = st.lists(st.tuples(SHAPES, HOURS), max_size=10)
WHOLE_CUBES = st.lists(st.tuples(st.sampled_from([CUBE, PAIR, TRIPLE]), HOURS), max_size=10)


def us(hours: int | None) -> int | None:
    return None if hours is None else hours * US_PER_HOUR


@settings(deadline=None, max_examples=150)
@example([(HALF, 1), (HALF, 2), (HALF, 1)], WHOLE, [(CUBE, 1), (CUBE, None)], "easy")
@example([(HALF, hours) for hours in (1, 2, 1, 1, 1)], TRIPLE, [], "easy")
@example([(HALF, 2), (HALF, 5), (TRIPLE, 1), (HALF, 2)], WHOLE, [], "conservative")
@given(ROWS, st.sampled_from([PAIR, TRIPLE, WHOLE]), ROWS, st.sampled_from(["easy", "conservative", "none"]))
def test_the_promise_of_the_first_in_line_is_kept_if_estimates_are_exact(
    before: list[tuple[Shape, int | None]],
    promised_request: Shape,
    after: list[tuple[Shape, int | None]],
    policy: str,
) -> None:
    """Every slice runs for exactly its estimate, and no later request may move the first in line. Meshes that
    are noticed move at the last possible time."""
    world = World(cubes=5, policy=SchedulerConfig.model_validate({"backfill": policy, **PATIENT}))
    for shape, hours in before:
        world.request(shape, estimate_us=us(hours))
    head, emitted = world.request(promised_request, priority=9, estimate_us=US_PER_HOUR)
    if admitted(emitted):
        return
    promised_us = world.status(head).promised_us
    for shape, hours in after:
        world.request(shape, estimate_us=us(hours))
        assert world.status(head).promised_us == promised_us
        world.check()
    if promised_us is None:
        return
    while world.status(head).state == "queued":
        state = world.state
        moves = [(notice.until_us, number) for number, notice in world.notices.items()]
        ends = [(row.ends_us, row.number) for row in state.slices.values() if row.ends_us is not None]
        world.now_us, number = min(moves + ends)
        name = f"pod-0/slice-{number}"
        if (world.now_us, number) in moves:
            world.checkpoint(name)
        else:
            world.release(name)
        assert world.now_us <= promised_us
    world.check()


@settings(deadline=None, max_examples=100)
@given(WHOLE_CUBES, WHOLE_CUBES)
def test_all_conservative_promises_are_kept_if_estimates_are_exact(
    before: list[tuple[Shape, int | None]], after: list[tuple[Shape, int | None]]
) -> None:
    """No two slices end at the same time. Otherwise, a slice that waits for both would wait a little
    longer."""
    world = World(
        cubes=5, policy=SchedulerConfig.model_validate({"backfill": "conservative", **PATIENT, "grace_s": 1})
    )
    for number, (shape, hours) in enumerate((*before, *after)):
        earlier = dict(world.state.promises)
        world.request(shape, estimate_us=None if hours is None else hours * US_PER_HOUR + 2**number)
        assert earlier.items() <= world.state.promises.items()
    promised = dict(world.state.promises)
    while any(row.ends_us is not None for row in world.state.slices.values()):
        ends = [(row.ends_us, row.number) for row in world.state.slices.values() if row.ends_us is not None]
        world.now_us, number = min(ends)
        world.release(f"pod-0/slice-{number}")
        for waiting, at_us in promised.items():
            row = world.state.slices.get(waiting)
            assert row is None or row.cubes or at_us >= world.now_us
    world.check()
