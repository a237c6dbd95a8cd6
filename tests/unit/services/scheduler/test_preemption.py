"""Who makes room for whom, with what notice, and what becomes of the claim on their cubes."""

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


def test_research_that_has_waited_takes_the_cubes_of_younger_research() -> None:
    world = World(cubes=4)
    world.start(PAIR, tier="production")
    older = world.start(CUBE)
    preemptor, _ = world.request(PAIR)
    younger = world.start(CUBE)  # nobody knows when the first in line can start: all may pass
    world.release(older, after_us=US_PER_HOUR)
    assert world.status(preemptor).state == "queued"
    assert world.held.due_us == world.status(preemptor).requested_us + 6 * US_PER_HOUR
    emitted = world.tick()
    assert noticed(emitted) == [younger]
    assert admitted(world.checkpoint(younger)) == [preemptor]
    world.check()


def test_one_that_had_to_leave_drives_out_none_of_its_kind() -> None:
    """Or that one would drive out the next, and so on through the whole pod."""
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


def test_none_leaves_who_has_only_just_got_its_cubes() -> None:
    world = World(cubes=4)
    world.start((4, 4, 12), tier="production")
    blocker = world.start(CUBE)
    preemptor, _ = world.request(CUBE)
    late, _ = world.request(CUBE)
    world.now_us += 7 * US_PER_HOUR
    assert admitted(world.release(blocker)) == [preemptor]
    assert world.held.due_us is None  # the second in line is younger than who runs
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


def test_when_the_grace_is_over_the_cubes_are_taken() -> None:
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


def test_a_claim_goes_with_its_slice_and_leaves_nothing_behind() -> None:
    world = World(cubes=4)
    victim = world.start(WHOLE, tier="filler", job=JOB)
    preemptor, _ = world.request(PAIR)
    assert [type(body) for body in world.release(preemptor)] == [SliceRefused]
    world.check()
    assert world.claims == {}
    emitted = world.checkpoint(victim)
    assert admitted(emitted) == [victim]  # whoever was told to leave does, and finds the pod empty
    world.check()


def test_no_other_gets_the_cubes_of_a_claim() -> None:
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


def test_a_claim_on_a_cube_that_fails_is_given_up_and_made_again() -> None:
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


def test_research_has_a_bounded_number_of_lives_and_filler_has_not() -> None:
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
def test_no_fewer_would_have_done_and_none_is_refused_that_could_be_had(
    rows: list[tuple[Shape, Tier]], wanted: Shape, production: bool
) -> None:
    """Production that need not wait may take research, research only filler; against every choice."""
    world = World(cubes=6, policy=SchedulerConfig(production_waits_h=0.0))
    cubes: dict[str, int] = {}
    tiers: dict[str, Tier] = {}
    for shape, tier in sorted(rows, key=lambda row: row[1] == "filler"):  # filler last: nobody is evicted yet
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
        if idle + sum(cubes[name] for name in choice) >= wanted[2] // 4 * (wanted[1] // 4)
    ]
    _, emitted = world.request(wanted, tier="production" if production else "research")
    told = noticed(emitted)
    assert bool(told or admitted(emitted)) == bool(choices)
    if choices:
        research = min(sum(tiers[name] == "research" for name in choice) for choice in choices)
        assert sum(tiers[name] == "research" for name in told) <= len(told)
        assert idle + sum(cubes[name] for name in told) >= wanted[2] // 4 * (wanted[1] // 4)
        for name in told:  # and each of them is needed
            left = idle + sum(cubes[other] for other in told if other != name)
            assert left < wanted[2] // 4 * (wanted[1] // 4)
        if not research:
            assert all(tiers[name] == "filler" for name in told)
    world.check()


def test_what_a_victim_has_written_in_its_grace_counts_when_it_comes_back() -> None:
    """Half an hour, of which five minutes are its start-up; then it writes for a second, and leaves."""
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


def test_one_that_has_written_nothing_by_the_end_of_its_grace_comes_back_as_it_was() -> None:
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
