"""Preemption: which slices leave for which others, with what notice, and the life of the claim on their
cubes."""

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import (
    LeaveCircuits,
    SliceAdmitted,
    SliceEvicted,
    SliceNoticed,
    SliceRefused,
    SliceRequeued,
)
from schemas.names import Shape, Tier
from shared.basics.units import US_PER_HOUR, US_PER_S
from tests.support.scheduler_model import Said, World

CUBE: Shape = (4, 4, 4)
PAIR: Shape = (4, 4, 8)
WHOLE: Shape = (4, 8, 8)
JOB = JobTerms(
    work_us=100 * US_PER_HOUR, checkpoint_every_us=US_PER_HOUR, write_us=US_PER_S, startup_us=300 * US_PER_S
)
SLOW_TO_WRITE = JOB.model_copy(update={"write_us": 600 * US_PER_S})


def noticed(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceNoticed)]


def admitted(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceAdmitted)]


@pytest.mark.parametrize(
    ("preemptor", "victim", "leaves_after_h"),
    [
        ("production", "filler", 0.0),
        ("research", "filler", 0.0),
        ("production", "research", 0.5),
        ("research", "research", None),
        ("filler", "filler", None),
        ("filler", "research", None),
        ("production", "production", None),
        ("research", "production", None),
    ],
)
def test_preemption_order_of_tiers(preemptor: Tier, victim: Tier, leaves_after_h: float | None) -> None:
    """The victims are older."""
    world = World(cubes=4)
    running = world.start(WHOLE, tier=victim)
    _, emitted = world.request(CUBE, tier=preemptor)
    if leaves_after_h is None:
        assert emitted == []
        assert world.held.due_us is None
        return
    if leaves_after_h:
        assert emitted == []
        assert world.held.due_us == world.now_us + leaves_after_h * US_PER_HOUR
        emitted = world.tick()
    assert noticed(emitted) == [running]
    world.check()


def test_waiting_research_takes_the_cubes_of_younger_research() -> None:
    world = World(cubes=4)
    world.start(PAIR, tier="production")
    older = world.start(CUBE)
    preemptor, _ = world.request(PAIR)
    younger = world.start(CUBE)  # the start of the first in line is unknown, so all may pass
    world.release(older, after_us=US_PER_HOUR)
    assert world.status(preemptor).state == "queued"
    assert world.held.due_us == world.status(preemptor).requested_us + 6 * US_PER_HOUR
    emitted = world.tick()
    assert noticed(emitted) == [younger]
    assert admitted(world.checkpoint(younger)) == [preemptor]
    world.check()


def test_a_preempted_slice_preempts_none_of_its_tier() -> None:
    """Otherwise, it would preempt the next slice, and so on through the whole pod."""
    world = World(cubes=4)
    runs = [world.start(CUBE, estimate_us=100 * US_PER_HOUR) for _ in range(4)]
    world.now_us += 7 * US_PER_HOUR
    preemptor, _ = world.request(CUBE, tier="production")
    (left,) = noticed(world.tick())
    assert left in runs
    emitted = world.checkpoint(left)
    assert admitted(emitted) == [preemptor]
    for _ in range(9):
        world.now_us += 10 * US_PER_HOUR
        assert noticed(world.request((1, 1, 1))[1]) == []
    world.check()


def test_a_slice_that_has_only_just_started_is_not_preempted() -> None:
    world = World(cubes=4)
    world.start((4, 4, 12), tier="production")
    blocker = world.start(CUBE)
    preemptor, _ = world.request(CUBE)
    late, _ = world.request(CUBE)
    world.now_us += 7 * US_PER_HOUR
    assert admitted(world.release(blocker)) == [preemptor]
    assert world.held.due_us is None  # the second in line is younger than the running slice
    world.release(preemptor)
    world.train()
    assert world.status(late).state == "running"


def test_a_preempted_slice_checkpoints_first_and_returns_to_its_place_in_the_queue() -> None:
    world = World(cubes=4)
    victim = world.start(WHOLE, tier="filler", job=JOB)
    preemptor, emitted = world.request(PAIR)
    until_us = world.now_us + 120 * US_PER_S
    assert emitted == [SliceNoticed(slice=victim, why="preempted", until_us=until_us)]
    assert world.status(preemptor).reason == f"gets cube-0, cube-1 when {victim} has left"
    assert world.status(victim).state == "running"
    world.check()
    emitted = world.checkpoint(victim, after_us=10 * US_PER_S)
    assert [type(body) for body in emitted[:3]] == [LeaveCircuits, SliceRequeued, SliceAdmitted]
    assert admitted(emitted) == [preemptor]
    document = world.status(victim)
    assert (document.state, document.restarts, document.cubes) == ("queued", 1, ())
    world.check()
    younger, _ = world.request(WHOLE, tier="filler")
    assert world.status(victim).queue_position == 1
    world.train()
    assert admitted(world.release(preemptor)) == [victim]
    assert world.status(younger).state == "queued"
    assert world.train() != []
    assert world.status(victim).state == "running"
    world.check()


def test_the_cubes_are_taken_when_the_grace_period_expires() -> None:
    world = World(cubes=4)
    victim = world.start(WHOLE, tier="filler", job=SLOW_TO_WRITE)
    preemptor, emitted = world.request(WHOLE)
    (notice,) = emitted
    assert isinstance(notice, SliceNoticed)
    assert world.held.due_us == notice.until_us
    emitted = world.tick()
    assert admitted(emitted) == [preemptor]
    assert SliceRequeued(slice=victim, reason=f"preempted by research slice {preemptor}") in emitted
    world.check()


def test_a_returning_slice_reports_the_work_since_its_checkpoint_as_lost() -> None:
    for keeps in (True, False):
        world = World(cubes=4)
        victim = world.start(WHOLE, tier="filler", job=SLOW_TO_WRITE)
        begun_us = world.now_us + SLOW_TO_WRITE.startup_us
        world.request(WHOLE, after_us=600 * US_PER_S)
        emitted = world.checkpoint(victim) if keeps else world.tick()
        (requeued,) = [body for body in emitted if isinstance(body, SliceRequeued)]
        assert requeued.lost_chip_us == (0 if keeps else 256 * (world.now_us - begun_us))


def test_a_claim_ends_with_its_slice_and_leaves_no_state() -> None:
    world = World(cubes=4)
    victim = world.start(WHOLE, tier="filler", job=JOB)
    preemptor, _ = world.request(PAIR)
    assert [type(body) for body in world.release(preemptor)] == [SliceRefused]
    world.check()
    assert world.claims == {}
    emitted = world.checkpoint(victim)
    assert admitted(emitted) == [victim]  # the noticed slice leaves anyway, and finds the pod empty
    world.check()


def test_no_other_slice_gets_claimed_cubes() -> None:
    world = World(cubes=4)
    first = world.start(PAIR, tier="filler", job=JOB)
    second = world.start(PAIR, tier="filler", job=JOB)
    preemptor, emitted = world.request(WHOLE)
    assert noticed(emitted) == [first, second]
    world.checkpoint(first)
    late, emitted = world.request(CUBE, tier="production")
    assert emitted == []
    assert world.status(late).state == "queued"
    world.check()
    assert admitted(world.checkpoint(second)) == [preemptor]


def test_a_claim_on_a_failed_cube_is_dropped_and_made_again() -> None:
    world = World(cubes=4)
    filler = [world.start(CUBE, tier="filler", job=JOB) for _ in range(4)]
    preemptor, emitted = world.request(PAIR)
    assert noticed(emitted) == filler[:2]
    world.checkpoint(filler[0])
    emitted = world.fail(0)
    assert noticed(emitted) == filler[2:3]
    world.check()
    assert world.claims[4].cubes == (1, 2)
    world.checkpoint(filler[1])
    assert admitted(world.checkpoint(filler[2])) == [preemptor]
    world.check()


def test_research_has_limited_lives_and_filler_has_unlimited_ones() -> None:
    world = World(cubes=4, policy=SchedulerConfig(retries_max=1, production_waits_h=0.0))
    lives: dict[Tier, int] = {"research": 2, "filler": 5}
    for tier, count in lives.items():
        victim = world.start(WHOLE, tier=tier)
        for life in range(count):
            preemptor, emitted = world.request(WHOLE, tier="production")
            assert noticed(emitted) == [victim]
            emitted = world.checkpoint(victim)
            evicted = [body for body in emitted if isinstance(body, SliceEvicted)]
            assert len(evicted) == (tier == "research" and life == 1)
            world.train()
            world.release(preemptor)
            world.train()
            world.check()
    (evicted_for_good,) = [body for body in world.ended.values() if isinstance(body, SliceEvicted)]
    assert evicted_for_good.reason == (
        "preempted by production slice pod-0/slice-2; it was already requeued 1 times (scheduler.retries_max)"
    )


ROWS = st.lists(
    st.tuples(
        st.sampled_from([CUBE, PAIR, (4, 4, 12)]), st.sampled_from(["filler", "research", "production"])
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=150)
@given(ROWS, st.sampled_from([CUBE, PAIR, (4, 4, 12), WHOLE, (4, 4, 24)]), st.booleans())
def test_the_fewest_victims_leave_and_no_possible_preemption_is_missed(
    rows: list[tuple[Shape, Tier]], requested_cubes: Shape, production: bool
) -> None:
    """Production with zero hours of wait preempts research, and research only filler (all choices)."""
    world = World(cubes=6, policy=SchedulerConfig(production_waits_h=0.0))
    cubes: dict[str, int] = {}
    tiers: dict[str, Tier] = {}
    # filler last: nothing is evicted yet
    for shape, tier in sorted(rows, key=lambda row: row[1] == "filler"):
        name, emitted = world.request(shape, tier=tier)
        assert noticed(emitted) == [] or tier == "production"
        if admitted(emitted) == [name]:
            cubes[name], tiers[name] = shape[2] // 4, tier
    if world.state.queued:
        return
    idle = 6 - sum(cubes.values())
    may = [name for name in cubes if tiers[name] == "filler" or (production and tiers[name] == "research")]
    choices = [
        choice
        for choice in chain.from_iterable(combinations(may, size) for size in range(len(may) + 1))
        if idle + sum(cubes[name] for name in choice) >= requested_cubes[2] // 4 * (requested_cubes[1] // 4)
    ]
    _, emitted = world.request(requested_cubes, tier="production" if production else "research")
    victims = noticed(emitted)
    assert bool(victims or admitted(emitted)) == bool(choices)
    if choices:
        research = min(sum(tiers[name] == "research" for name in choice) for choice in choices)
        assert sum(tiers[name] == "research" for name in victims) <= len(victims)
        assert idle + sum(cubes[name] for name in victims) >= requested_cubes[2] // 4 * (
            requested_cubes[1] // 4
        )
        for name in victims:  # and each victim is needed
            left = idle + sum(cubes[victim] for victim in victims if victim != name)
            assert left < requested_cubes[2] // 4 * (requested_cubes[1] // 4)
        if not research:
            assert all(tiers[name] == "filler" for name in victims)
    world.check()


def test_checkpoints_written_in_the_grace_period_count_on_return() -> None:
    """Half an hour of run time includes five minutes of start-up. Then the slice writes for a second and
    leaves."""
    world = World(cubes=4)
    victim = world.start(WHOLE, tier="filler", job=JOB, estimate_us=10 * US_PER_HOUR)
    started_us = world.now_us
    preemptor, _ = world.request(PAIR, after_us=US_PER_HOUR // 2)
    emitted = world.checkpoint(victim, after_us=US_PER_S)
    (requeued,) = [body for body in emitted if isinstance(body, SliceRequeued)]
    assert requeued.lost_chip_us == 0
    kept_us = world.now_us - US_PER_S - started_us - JOB.startup_us
    assert _kept_us(world, victim) == kept_us
    world.release(preemptor)
    row = world.state.slices[int(victim.rpartition("-")[2])]
    assert row.ends_us == world.now_us + 10_000 + 10 * US_PER_HOUR - kept_us


def test_a_victim_without_a_checkpoint_in_its_grace_period_returns_as_it_was() -> None:
    world = World(cubes=4)
    victim = world.start(WHOLE, tier="filler", job=JOB, estimate_us=10 * US_PER_HOUR)
    world.request(PAIR, after_us=US_PER_HOUR // 2)
    (requeued,) = [body for body in world.tick() if isinstance(body, SliceRequeued)]
    assert requeued.lost_chip_us > 0
    assert _kept_us(world, victim) == 0


def _kept_us(world: World, name: str) -> int:
    progress = world.state.slices[int(name.rpartition("-")[2])].progress
    assert progress is not None
    return progress.kept_us
