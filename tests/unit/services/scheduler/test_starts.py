"""The predicted start of a waiting slice, and the rule that delays it until then."""

import pytest

from schemas.api.explain import SliceExplanation
from schemas.config.scheduler import SchedulerConfig
from schemas.messages.ocs import OcsDown
from schemas.messages.scheduler import SliceNoticed
from schemas.names import Shape, Tier
from services.scheduler.explain.request_plan import plan_request
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.state import waits_for_ocs
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_HOUR
from shared.models.superpod.shapes import chips_of, parse_shape
from tests.support.scheduler_model import FABRIC, World
from tests.unit.services.scheduler.test_answers import request_for, state_now
from tests.unit.services.scheduler.test_swarm import long_life, play

CUBE: Shape = (4, 4, 4)
PAIR: Shape = (4, 4, 8)
TRIPLE: Shape = (4, 4, 12)
WHOLE: Shape = (4, 8, 8)


def explained(world: World, name: str) -> SliceExplanation:
    explanation = explain_slice(state_now(world), name)
    assert explanation is not None
    return explanation


def reason(explanation: SliceExplanation) -> str:
    assert explanation.start is not None
    return explanation.start.reason


def rules(explanation: SliceExplanation) -> list[str]:
    return [row.name for row in explanation.obstacles if row.kind == "rule"]


def test_the_largest_shape_is_the_one_that_this_slice_would_get() -> None:
    """Whether traffic may route around an OCS is drawn from the number of a slice. The next slice draws
    differently from the waiting one, for which no whole cube would help."""
    policy = SchedulerConfig(decision_s=0, preflight_s=0, route_around_share=0.5)
    world = World(cubes=4, policy=policy)
    world.feed(OcsDown(ocs=7))
    waiting = 0
    for number in range(16):
        name, _ = world.request(PAIR)
        if waits_for_ocs(world.state, world.state.slices[number]):
            waiting += 1
            largest = explained(world, name).largest_now
            assert largest is not None
            assert chips_of(parse_shape(largest)) < chips_of(CUBE), number
        world.release(name)
    assert 0 < waiting < 16


def test_the_first_in_line_without_a_promise_shows_when_research_leaves_for_it() -> None:
    world = World(cubes=4)
    world.start(PAIR, tier="production")
    world.start(PAIR)
    plan = plan_request(state_now(world), request_for(world, PAIR, tier="production"))
    name, _ = world.request(PAIR, tier="production")
    explanation = explained(world, name)
    assert plan.start == explanation.start
    assert reason(explanation) == (
        "it is unknown when enough cubes come free: 2 slices without an estimate have cubes; from "
        f"{format_time(world.now_us + US_PER_HOUR // 2)} it may preempt research"
    )


def test_a_slice_with_a_promise_shows_it_too() -> None:
    world = World(cubes=4)
    world.start(PAIR, estimate_us=5 * US_PER_HOUR)
    name, _ = world.request(WHOLE, tier="production")
    at_us = world.now_us + US_PER_HOUR // 2
    assert reason(explained(world, name)).endswith(f"; from {format_time(at_us)} it may preempt research")


def test_a_slice_that_needs_filler_cubes_starts_within_the_grace_period_of_its_promise() -> None:
    world = World(cubes=4)
    holder = world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    filler = world.start(PAIR, tier="filler")
    name, _ = world.request(WHOLE)
    promised_us = world.status(name).promised_us
    assert reason(explained(world, name)).endswith("; slices that it preempts then have 120 s to leave")
    assert promised_us is not None
    world.now_us = promised_us
    (notice,) = [body for body in world.release(holder) if isinstance(body, SliceNoticed)]
    assert (notice.slice, notice.until_us) == (filler, promised_us + 120_000_000)


@pytest.mark.parametrize(
    ("tier", "runs_h", "rule"),
    [
        ("production", 1.0, "scheduler.production_waits_h 0.5"),
        ("research", 1.0, "scheduler.research_waits_h 6"),
        ("research", 9.0, "scheduler.research_runs_h 9"),
    ],
)
def test_the_explanation_names_the_rule_of_the_start(tier: Tier, runs_h: float, rule: str) -> None:
    """A younger slice of research occupies the cubes for as long as the older one waits."""
    world = World(cubes=4, policy=SchedulerConfig(decision_s=0, preflight_s=0, research_runs_h=runs_h))
    world.start(TRIPLE, tier="production")
    preemptor, _ = world.request(PAIR, tier=tier)
    world.start(CUBE)
    explanation = explained(world, preemptor)
    assert rules(explanation) == [rule]
    (why,) = [row.why for row in explanation.obstacles if row.kind == "rule"]
    assert world.held.due_us is not None
    assert why == f"it may preempt more slices from {format_time(world.held.due_us)}"


def test_a_slice_behind_a_preempting_one_is_not_promised_a_start_now() -> None:
    """The first in line takes the cube of research when the others end; the plan of starts does not know
    that."""
    world = World(cubes=4)
    world.start(PAIR, tier="production", estimate_us=2 * US_PER_HOUR)
    world.start(CUBE)
    head, _ = world.request(WHOLE, tier="production")
    world.tick()
    assert world.status(head).promised_us is not None
    behind, emitted = world.request(CUBE, tier="production")
    assert emitted == []
    start = explained(world, behind).start
    assert start is not None
    assert (start.at_us, start.basis) == (None, "unknown")
    rule = f"would delay {head}, the first in line (scheduler.backfill easy)"
    assert start.reason == f"cubes are free now, but it {rule}"


def test_without_backfill_no_slice_starts_before_those_in_front_of_it() -> None:
    world = World(cubes=4, policy=SchedulerConfig(decision_s=0, preflight_s=0, backfill="none"))
    world.start(PAIR, estimate_us=2 * US_PER_HOUR)
    head, _ = world.request(WHOLE, estimate_us=US_PER_HOUR)
    behind, _ = world.request(CUBE, estimate_us=60_000_000)
    start = explained(world, behind).start
    promised_us = world.status(head).promised_us
    assert start is not None
    assert start.at_us is not None
    assert promised_us is not None
    assert start.at_us >= promised_us


def test_a_slice_that_lacks_broken_cubes_is_not_explained_by_other_slices() -> None:
    world = World(cubes=4)
    world.fail(0)
    name, _ = world.request(WHOLE)
    assert reason(explained(world, name)) == (
        "it is unknown when enough cubes come free: 1 cube is unhealthy or drained"
    )


def test_a_slice_behind_one_without_an_estimate_names_that_one() -> None:
    world = World(cubes=4)
    world.start(WHOLE, estimate_us=2 * US_PER_HOUR)
    world.request(WHOLE)
    behind, _ = world.request((1, 1, 1))
    assert reason(explained(world, behind)) == (
        "it is unknown when enough cubes come free: 1 slice ahead in line has no estimate "
        "(only the first in line has a promise)"
    )
    assert str(world.status(behind).reason).startswith("needs room for 1 chip in one healthy cube")


def test_a_single_held_back_cube_is_in_the_singular() -> None:
    settings = {"hold_back": "fixed", "hold_back_cubes": 1}
    world = World(
        cubes=4, policy=SchedulerConfig.model_validate({"decision_s": 0, "preflight_s": 0, **settings})
    )
    world.start(TRIPLE, tier="production")
    name, _ = world.request(CUBE)
    explanation = explained(world, name)
    assert [row.why for row in explanation.obstacles if row.name == "scheduler.hold_back fixed"] == [
        "1 healthy cube is reserved for slices that lose one"
    ]
    assert str(explanation.reason).endswith("; 1 is held back (scheduler.hold_back fixed)")


def test_no_waiting_slice_is_promised_a_start_now() -> None:
    """If it could start now, it would have started."""
    explained_starts = 0
    for seed in range(12):
        life, policy = long_life(seed, 120)
        world = World(cubes=8, policy=policy)
        for number, _ in enumerate(play(world, life)):
            if number % 9:
                continue
            for row in world.state.slices.values():
                if row.state == "queued" and row.number not in world.claims:
                    start = explained(world, f"{FABRIC}/slice-{row.number}").start
                    assert start is not None
                    assert start.at_us is None or start.at_us > world.now_us
                    explained_starts += 1
    assert explained_starts > 100
