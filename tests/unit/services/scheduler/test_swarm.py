"""Random requests, releases, failures, drains and delays. The invariants of every scheduler are checked at
every message with the accounting of the model around it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import CubeSwapped
from schemas.names import Shape, Tier
from schemas.recovery_policy import RecoveryPolicy
from services.scheduler.queue.order import chips_by_owner
from services.scheduler.state import waits_for_ocs
from shared.engine.state_codec import encode_state
from tests.support.scheduler_model import Said, World

Step = tuple[str, int, int, int]
"""(action, number of the shape, slice, cube or links, priority, delay before it in µs)."""

SHAPES: list[tuple[Shape, bool]] = [
    ((1, 1, 1), False),
    ((1, 2, 2), False),
    ((2, 2, 4), False),
    ((2, 4, 4), False),
    ((4, 4, 4), False),
    ((4, 4, 8), True),
    ((4, 4, 8), False),
    ((4, 8, 8), True),
    ((4, 4, 12), False),
    ((8, 8, 8), False),
    ((4, 4, 6), False),
    ((8, 8, 16), True),
]
ASKERS: list[tuple[Tier, int | None]] = [
    ("research", None),
    ("research", 600_000_000),
    ("filler", None),
    ("research", 7_200_000_000),
    ("production", 3_600_000_000),
    ("filler", 60_000_000),
    ("production", None),
]
"""(tier, estimate)."""
RECOVERIES = [
    None,
    RecoveryPolicy(choices=("swap",)),
    RecoveryPolicy(choices=("route", "wait"), tax_max_ppm=10_000),
    RecoveryPolicy(choices=("wait", "swap", "spare")),
    RecoveryPolicy(choices=("evict",)),
]
AFTER_US = st.sampled_from([0, 0, 1_000, 60_000_000, 1_900_000_000])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("request"), st.integers(0, len(SHAPES) - 1), st.sampled_from([0, 0, 0, -1, 5]), AFTER_US
        ),
        st.tuples(st.just("release"), st.integers(0, 30), st.just(0), AFTER_US),
        st.tuples(
            st.sampled_from(
                ["fail", "heal", "drain", "undrain", "complain", "lose_ocs", "return_ocs", "return_ocs"]
            ),
            st.integers(0, 7),
            st.just(0),
            AFTER_US,
        ),
        st.tuples(st.just("change_some_links"), st.integers(0, 1000), st.just(0), AFTER_US),
        st.tuples(st.just("train"), st.integers(1, 3), st.just(0), st.just(0)),
        st.tuples(st.just("checkpoint"), st.integers(0, 5), st.just(0), st.sampled_from([0, 1_000_000])),
    ),
    max_size=60,
)
POLICIES = st.builds(
    SchedulerConfig,
    queue_max=st.sampled_from([0, 3, 500]),
    backfill=st.sampled_from(["easy", "conservative", "none"]),
    grace_s=st.sampled_from([1, 120]),
    production_waits_h=st.sampled_from([0.0, 0.5]),
    research_waits_h=st.sampled_from([0.0, 1.0]),
    research_runs_h=st.sampled_from([0.0, 0.5]),
    retries_max=st.sampled_from([0, 1, 100]),
    decision_s=st.sampled_from([0, 30]),
    preflight_s=st.sampled_from([0, 120]),
    hot_spares=st.sampled_from([0, 1]),
    route_around_share=st.sampled_from([0.0, 0.95]),
    hold_back=st.sampled_from(["none", "none", "fixed", "availability"]),
    quotas=st.sampled_from(["", "team-1=64", "team-0=25%,team-1=0"]),
)
TABLES = (
    "slices promises suspects unhealthy "
    "module_failed_cubes ocs_down drained ocs_down_causes "
    "driver_boards_down bad_ends tickets queued chips_allocated next_preemption_us"
)
"""The scheduler's state of slices, and of faulty parts."""


def play(world: World, steps: Iterable[Step]) -> Iterator[list[Said]]:
    """Apply every step in turn, with the scheduler's own Ticks when they are due first; yield the emitted
    messages."""
    others: dict[str, Callable[[int], list[Said]]] = {
        "fail": world.fail,
        "heal": world.heal,
        "drain": world.drain,
        "undrain": world.undrain,
        "change_some_links": world.change_some_links,
        "complain": world.complain_of,
        "lose_ocs": world.lose_ocs,
        "return_ocs": world.return_ocs,
    }
    for action, number, priority, after_us in steps:
        until_us = world.now_us + after_us
        while world.held.due_us is not None and world.held.due_us <= until_us:
            yield world.tick()
        world.now_us = until_us
        if action == "request":
            # The requester and the duration follow from the values already drawn.
            requester = (number + 7 * priority + world.requested) % len(ASKERS)
            tier, estimate_us = ASKERS[requester]
            owner = f"team-{requester % 2}"
            yield world.request(
                *SHAPES[number],
                priority=priority,
                owner=owner,
                tier=tier,
                estimate_us=estimate_us,
                recovery=RECOVERIES[world.requested % len(RECOVERIES)],
            )[1]
        elif action == "checkpoint" and world.noticed:
            names = sorted(world.noticed)
            yield world.checkpoint(names[number % len(names)])
        elif action == "release" and world.state.slices:
            alive = sorted(world.state.slices)
            yield world.release(f"pod-0/slice-{alive[number % len(alive)]}")
        elif action == "train":
            yield world.train(most=number)
        elif action in others:
            yield others[action](number)


def check_no_needless_wait(world: World) -> None:
    """The first in line, and filler, wait only for missing cubes. The missing cubes are counted chip by chip
    from the messages, and from the cubes reserved for others."""
    state, in_use = world.state, world.chips_in_use()
    reserved = set(state.warm_cubes) | {cube for claim in world.claims.values() for cube in claim.cubes}
    reserved |= {move.spare for move in world.moves.values()}
    fit = [cube for cube in range(state.cubes) if cube not in world.unhealthy | world.drained | reserved]
    chips = {cube: {chip for chip in in_use if chip[0] == cube} for cube in fit}
    for number, row in state.slices.items():
        is_first = row.tier != "filler" and world.status(f"pod-0/slice-{number}").queue_position == 1
        if row.state != "queued" or number in world.claims or waits_for_ocs(state, row):
            continue
        if row.tier != "filler" and not (is_first and state.config.hold_back == "none"):
            continue
        if row.chips >= 64:
            assert row.chips // 64 > sum([not used for used in chips.values()])
        else:
            corners = list(product(*(range(0, 4, side) for side in row.shape)))
            assert not any(
                chips[cube].isdisjoint(world.chips(row.shape, (cube,), (x, y, z)))
                for cube in fit
                for x, y, z in corners
            )


@settings(max_examples=150, deadline=None)
@given(STEPS, POLICIES)
def test_invariants_are_true_after_every_message(steps: list[Step], policy: SchedulerConfig) -> None:
    world = World(cubes=8, policy=policy)
    for _ in play(world, steps):
        world.check()
        check_no_needless_wait(world)
        assert world.cycle_again() == []


@settings(max_examples=60, deadline=None)
@given(STEPS, POLICIES)
def test_a_decoded_state_behaves_as_the_original(steps: list[Step], policy: SchedulerConfig) -> None:
    original, decoded = World(cubes=8, policy=policy), World(cubes=8, policy=policy, stored=True)
    for emitted, from_decoded in zip(play(original, steps), play(decoded, steps), strict=True):
        assert emitted == from_decoded
    assert encode_state(original.state) == encode_state(decoded.state)


def long_life(seed: int, count: int) -> tuple[list[Step], SchedulerConfig]:
    """A long random life of one pod with its policy; busier than the ones hypothesis tends to draw."""
    random = Random(seed)
    policy = SchedulerConfig(
        queue_max=random.choice([0, 3, 500]),
        backfill=random.choice(["easy", "conservative", "none"]),
        grace_s=random.choice([1, 120]),
        production_waits_h=random.choice([0.0, 0.5]),
        research_waits_h=random.choice([0.0, 1.0]),
        research_runs_h=random.choice([0.0, 0.5]),
        retries_max=random.choice([0, 0, 1, 100]),
        decision_s=random.choice([0, 30]),
        preflight_s=random.choice([0, 120]),
        hot_spares=random.choice([0, 0, 1]),
        route_around_share=random.choice([0.0, 0.95]),
    )
    actions = (
        ["request"] * 9 + ["release"] * 4 + ["checkpoint"] * 2 + ["train"] * 5 + ["fail"] * 2 + ["heal"] * 3
    )
    actions += ["drain", "undrain", "undrain"] + ["change_some_links"] * 3
    actions += ["complain", "heal", "lose_ocs", "return_ocs", "return_ocs"]
    steps: list[Step] = []
    for _ in range(count):
        action = random.choice(actions)
        maximum = {"request": len(SHAPES) - 1, "release": 30, "train": 3, "change_some_links": 999}.get(
            action, 7
        )
        after_us = random.choice([0, 0, 1_000, 60_000_000, 1_900_000_000])
        steps.append((action, random.randint(0, maximum), random.choice([0, 0, 0, -1, 5]), after_us))
    return steps, policy


@pytest.mark.slow("long lives of a scheduler")
def test_invariants_are_true_over_long_busy_lives() -> None:
    happened: Counter[str] = Counter()
    for seed in range(25):
        steps, policy = long_life(seed, 250)
        world = World(cubes=8, policy=policy)
        for emitted in play(world, steps):
            world.check()
            assert world.cycle_again() == []
            happened.update(type(body).__name__ for body in emitted)
            swaps = [body for body in emitted if isinstance(body, CubeSwapped)]
            happened.update(f"{swap.reason} corner" if swap.corner else swap.reason for swap in swaps)
    for event in ("failed", "drained", "failed corner", "drained corner"):
        assert happened[event] > 10, event
    for event in (
        "SliceRecovering",
        "SliceEvicted",
        "SliceCompleted",
        "SliceRefused",
        "SliceRestored",
        "SliceDegraded",
        "SliceNoticed",
        "SliceRequeued",
        "SliceOverran",
    ):
        assert happened[event] > 10, event


@settings(max_examples=60, deadline=None)
@given(STEPS, POLICIES)
def test_a_healthy_pod_without_slices_is_empty_again(steps: list[Step], policy: SchedulerConfig) -> None:
    world = World(cubes=8, policy=policy)
    for _ in play(world, steps):
        pass
    for cube in range(8):
        world.heal(cube)
        world.undrain(cube)
    for ocs in range(3):
        world.return_ocs(ocs)
    while world.state.slices:
        world.train()
        world.release(f"pod-0/slice-{min(world.state.slices)}")
    world.check()
    assert not any(name for name, _, _ in world.north.values())
    assert world.idle == [cube for cube in range(8) if cube not in world.state.warm_cubes]
    assert len(world.state.warm_cubes) <= policy.hot_spares
    assert chips_by_owner(world.state) == {}
    if world.state.suspects:  # of a cube that a job reported although it was healthy
        world.tick()
    assert {name: left for name in TABLES.split() if (left := getattr(world.state, name))} == {}
    assert world.held.due_us is None
