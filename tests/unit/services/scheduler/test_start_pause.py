"""The pause of starts in a pod whose preflights all fail, and its end."""

from dataclasses import fields, make_dataclass
from typing import get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.repairs import RepairCompleted
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceStarted,
    StartsPaused,
    StartsResumed,
)
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.service import SERVICE
from services.scheduler.state import SchedulerState, slices_in
from services.scheduler.structures.start_pause import (
    NO_PAUSE,
    PAUSE_AFTER,
    StartPause,
    is_failed_attempt,
    next_pause,
    pause_after_repair,
    pause_us,
    starts_must_pause,
)
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S
from shared.engine.state import State
from shared.engine.state_codec import decode_state, encode_state
from shared.engine.state_layout import state_layout
from shared.engine.upgrade_refusals import migrate_fields
from tests.support.scheduler_model import Said, World

CONFIG = SchedulerConfig()
POLICY = SchedulerConfig(decision_s=0, preflight_s=120, preflight_tries=0, route_around_share=0)
CUBE = (4, 4, 4)
LAYOUT_OF_RULES_5 = "cac694efd031c20d"


def test_starts_pause_after_six_slices_that_back_off_and_pauses_double() -> None:
    assert not starts_must_pause(StartPause(failed=PAUSE_AFTER - 1))
    assert starts_must_pause(StartPause(failed=PAUSE_AFTER))
    assert not starts_must_pause(StartPause(failed=PAUSE_AFTER, pauses=1))
    pause, now_us, pauses_s = StartPause(failed=PAUSE_AFTER), 7, []
    for _ in range(6):
        pause = next_pause(pause, CONFIG, now_us)
        assert pause.stops_starts
        assert pause.until_us is not None
        pauses_s.append((pause.until_us - now_us) // US_PER_S)
        now_us = pause.until_us
    assert pauses_s == [300, 600, 1_200, 2_400, 3_600, 3_600]


def test_only_the_slice_that_tries_makes_a_pause_longer() -> None:
    assert not is_failed_attempt(NO_PAUSE, 3)
    assert not is_failed_attempt(StartPause(failed=6, pauses=1, until_us=9), 3)
    trying = StartPause(failed=6, pauses=1, attempt=2)
    assert trying.stops_starts
    assert not is_failed_attempt(trying, 3)
    assert is_failed_attempt(trying, 2)
    nobody_tries = StartPause(failed=6, pauses=1)
    assert not nobody_tries.stops_starts
    assert is_failed_attempt(nobody_tries, 3)


@given(pauses=st.integers(0, 10**6), minimum_s=st.integers(1, 86_400), maximum_s=st.integers(1, 864_000))
def test_no_pause_is_shorter_than_the_one_before_or_out_of_bounds(
    pauses: int, minimum_s: int, maximum_s: int
) -> None:
    config = SchedulerConfig(preflight_backoff_s=minimum_s, preflight_backoff_max_s=maximum_s)
    first, second = pause_us(pauses, config), pause_us(pauses + 1, config)
    assert minimum_s * US_PER_S <= first <= second <= max(minimum_s, maximum_s) * US_PER_S


def test_a_repair_shortens_a_pause_and_never_makes_it_longer() -> None:
    long = StartPause(failed=6, pauses=5, until_us=3_600 * US_PER_S)
    assert pause_after_repair(long, CONFIG, US_PER_S).until_us == 301 * US_PER_S
    assert pause_after_repair(long, CONFIG, 3_599 * US_PER_S) is long
    assert pause_after_repair(NO_PAUSE, CONFIG, 0) is NO_PAUSE


def fail_preflights(world: World, dark_ends: int = 96, ticks: int = 1_000) -> list[Said]:
    """Let every command lead to cubes with this many dark ends, until starts pause; return the last emitted
    messages."""
    emitted: list[Said] = []
    while ticks and not any(isinstance(body, StartsPaused) for body in emitted):
        ticks -= 1
        dark = [command for command in world.commands if command[1]]
        for name, _ in dark:
            cubes = world.held_cubes[name]
            world.train(
                down=tuple(end for cube in cubes for end in range(96 * cube, 96 * cube + dark_ends)), most=1
            )
        emitted = world.tick()
    return emitted


def paused_world() -> tuple[World, list[str], list[Said]]:
    """A pod whose first six slices backed off after failed preflights, and one more slice that waits."""
    world = World(cubes=12, policy=POLICY)
    names = [world.request(CUBE)[0] for _ in range(PAUSE_AFTER)]
    emitted = fail_preflights(world)
    late, answer = world.request(CUBE)
    assert answer == []
    world.check()
    return world, [*names, late], emitted


def test_no_slice_of_whole_cubes_starts_while_starts_pause_and_its_reason_says_why() -> None:
    world, names, emitted = paused_world()
    (pause,) = [body for body in emitted if isinstance(body, StartsPaused)]
    assert pause == StartsPaused(until_us=world.now_us + 300 * US_PER_S, slices=PAUSE_AFTER)
    assert world.idle
    row = world.status(names[-1])
    assert (row.state, row.queue_position) == ("queued", len(slices_in(world.state, "backing-off")) + 1)
    assert row.reason == (
        f"one slice tries again at {format_time(pause.until_us)}: the last 6 slices that got whole cubes of "
        "pod-0 failed their preflights (scheduler.preflight_backoff_s)"
    )
    explained = explain_slice(world.state, names[-1])
    assert explained is not None
    assert [(obstacle.kind, obstacle.name) for obstacle in explained.obstacles] == [
        ("rule", "scheduler.preflight_backoff_s 300")
    ]
    assert explained.start is not None
    assert explained.start.basis == "unknown"
    mesh, answer = world.request((2, 2, 2))
    assert isinstance(answer[0], SliceAdmitted)
    assert world.status(mesh).state == "running"
    world.check()


def test_slices_that_miss_few_links_back_off_alone() -> None:
    world = World(cubes=12, policy=POLICY)
    for _ in range(PAUSE_AFTER):
        world.request(CUBE)
    fail_preflights(world, dark_ends=16, ticks=60)
    failures = [row.preflight_failures for row in world.state.slices.values()]
    assert sum(one.failed for one in failures if one is not None) > 2 * PAUSE_AFTER
    assert world.state.start_pause is None
    world.check()


def admitted_until(world: World, until_us: int) -> list[str]:
    """Tick up to a time; return the slices that got cubes."""
    names: list[str] = []
    while world.held.due_us is not None and world.held.due_us <= until_us:
        emitted = world.tick()
        assert not any(isinstance(body, CubeSwapped) for body in emitted)
        names += [body.slice for body in emitted if isinstance(body, SliceAdmitted)]
        world.check()
    return names


def test_one_slice_tries_after_the_pause_and_the_next_pause_is_twice_as_long() -> None:
    world, _, _ = paused_world()
    pause_s = 300
    for _ in range(3):
        until_us = world.state.start_pause.until_us if world.state.start_pause is not None else None
        assert until_us is not None
        assert admitted_until(world, until_us - 1) == []
        (tries,) = admitted_until(world, until_us)
        waiting, answer = world.request(CUBE)
        assert answer == []
        assert f"waits for the preflight of {tries}: " in (world.status(waiting).reason or "")
        emitted = fail_preflights(world)
        (pause,) = [body for body in emitted if isinstance(body, StartsPaused)]
        pause_s *= 2
        assert pause.until_us == world.now_us + pause_s * US_PER_S
        assert pause.slices >= PAUSE_AFTER
        world.check()


def test_a_slice_that_runs_ends_the_pause_and_all_backoffs() -> None:
    world, names, _ = paused_world()
    pause = world.state.start_pause
    assert pause is not None
    assert pause.until_us is not None
    (tries,) = admitted_until(world, pause.until_us)
    world.train()
    emitted: list[Said] = []
    while SliceStarted(slice=tries) not in emitted:
        emitted = world.tick()
    assert [body for body in emitted if isinstance(body, StartsResumed)] == [StartsResumed(slice=tries)]
    assert emitted.index(SliceStarted(slice=tries)) < emitted.index(StartsResumed(slice=tries))
    assert world.state.start_pause is None
    assert slices_in(world.state, "backing-off") == []
    assert {body.slice for body in emitted if isinstance(body, SliceAdmitted)} == {*names} - {tries} - {
        name for name in names if world.status(name).state == "recovering"
    }
    world.check()


def test_another_slice_tries_if_the_one_that_tries_leaves() -> None:
    world, _, _ = paused_world()
    pause = world.state.start_pause
    assert pause is not None
    assert pause.until_us is not None
    world.request(CUBE)
    (tries,) = admitted_until(world, pause.until_us)
    emitted = world.release(tries)
    (other,) = [body.slice for body in emitted if isinstance(body, SliceAdmitted)]
    after = world.state.start_pause
    assert after is not None
    assert (after.pauses, after.attempt) == (1, int(other.rpartition("-")[2]))
    world.check()


def test_a_repair_or_the_return_of_an_ocs_shortens_the_pause() -> None:
    world, _, _ = paused_world()
    pause = world.state.start_pause
    assert pause is not None
    world.state.start_pause = StartPause(pause.failed, 5, world.now_us + 3_600 * US_PER_S, None)
    repaired = RepairCompleted(
        repair="pod-0/repair-0", target="pod-0/cube-0/+x/0", technician=0, waited_us=0, took_us=1
    )
    soon = StartsPaused(until_us=world.now_us + 300 * US_PER_S, slices=PAUSE_AFTER)
    assert world.feed(repaired) == [soon]
    assert world.held.due_us is not None
    assert world.held.due_us <= soon.until_us
    assert world.feed(repaired) == []
    world.state.start_pause = StartPause(pause.failed, 5, world.now_us + 3_600 * US_PER_S, None)
    world.feed(OcsDown(ocs=3))
    assert soon in world.feed(OcsUp(ocs=3))


def test_states_of_rules_5_get_no_pause() -> None:
    """Their layout was that of all other fields."""
    hints = get_type_hints(SchedulerState)
    before = [
        (one.name, hints[one.name], one)
        for one in fields(SchedulerState)
        if one.name != "start_pause" and one.name not in {field.name for field in fields(State)}
    ]
    earlier = make_dataclass("SchedulerState", before, bases=(State,))
    assert state_layout(earlier) == LAYOUT_OF_RULES_5
    state = World(cubes=4).state
    stored = {name: value for name, value in encode_state(state).items() if name != "start_pause"}
    migrated = migrate_fields(SERVICE, LAYOUT_OF_RULES_5, stored)
    assert decode_state(SchedulerState, migrated, None).start_pause is None
    assert migrated == encode_state(state)
