"""Plans and explanations of the scheduler come true."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

import pytest

from schemas.api.explain import SlicePlan
from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import (
    ConnectCircuits,
    SchedulerBody,
    SliceAdmitted,
    SliceNoticed,
    SliceRecovering,
    SliceRefused,
)
from schemas.messages.workload import SliceRequested
from schemas.names import Shape, Tier
from services.scheduler.explain.dry_run import copy_of
from services.scheduler.explain.request_plan import plan_request
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.recovery.recovery import next_decision_us
from services.scheduler.state import SchedulerState, slices_in
from services.scheduler.structures.slice_record import interruption_of
from shared.engine.state_codec import encode_state
from shared.models.superpod.shapes import chips_of, legal_shapes, parse_shape, shape_text
from tests.support.scheduler_model import FABRIC, Said, World
from tests.unit.services.scheduler.test_swarm import ASKERS, SHAPES, long_life, play


def request_for(
    world: World,
    shape: Shape,
    *,
    twisted: bool = False,
    tier: Tier = "research",
    estimate_us: int | None = None,
    owner: str = "team",
) -> SliceRequested:
    """The next request, as `World.request` would make it."""
    return SliceRequested(
        slice=f"{FABRIC}/slice-{world.requested}",
        owner=owner,
        tier=tier,
        shape=shape,
        twisted=twisted,
        priority=0,
        duration_us=None,
        job=None,
        estimate_us=estimate_us,
        requested_by="operator",
    )


def state_now(world: World) -> SchedulerState:
    """The state as a query at the current time sees it."""
    state = copy_of(world.state)
    state.now_us = world.now_us
    return state


def lives(seeds: int, steps: int = 120, every: int = 9) -> Iterator[tuple[World, Random]]:
    """Random lives of pods, sampled now and then."""
    for seed in range(seeds):
        life, policy = long_life(seed, steps)
        world, random = World(cubes=8, policy=policy), Random(seed)
        for number, _ in enumerate(play(world, life)):
            if number % every == 0:
                yield world, random


BodyT = TypeVar("BodyT", bound=SchedulerBody)


def bodies_of(kind: type[BodyT], emitted: Sequence[SchedulerBody], name: str) -> BodyT | None:
    return next(
        (body for body in emitted if isinstance(body, kind) and getattr(body, "slice", None) == name), None
    )


def check_came_true(world: World, answer: SlicePlan, name: str, emitted: list[Said]) -> None:
    """The answer matches what happened."""
    admitted, refused = bodies_of(SliceAdmitted, emitted, name), bodies_of(SliceRefused, emitted, name)
    assert (admitted is not None) == (answer.decision == "placed")
    assert (refused is not None) == (answer.decision == "refused")
    if refused is not None:
        assert answer.reason == refused.reason
        return
    row = world.state.slices[int(name.rpartition("-")[2])]
    assert (row.number in world.claims) == (answer.decision == "claims")
    if answer.decision == "waits":
        document = world.status(name)
        assert (document.reason, document.queue_position) == (answer.reason, answer.queue_position)
        if document.promised_us is not None:
            assert answer.start is not None
            assert (answer.start.basis, answer.start.at_us) == ("promise", document.promised_us)
    if answer.decision == "claims":
        leavers = {leaver.slice for leaver in answer.leavers}
        newly = {leaver.slice for leaver in answer.leavers if not leaver.already_leaving}
        assert newly == {body.slice for body in emitted if isinstance(body, SliceNoticed)}
        for victim in sorted(leavers):
            if int(victim.rpartition("-")[2]) in world.notices:
                emitted += world.checkpoint(victim)
        admitted = bodies_of(SliceAdmitted, emitted, name)
    if admitted is not None:
        assert tuple([f"{FABRIC}/cube-{cube}" for cube in admitted.cubes]) == answer.cubes
        assert admitted.corner == answer.corner
        connected = bodies_of(ConnectCircuits, emitted, name)
        joins = connected.joins if connected is not None else ()
        assert answer.circuits_kept + answer.circuits_made == len(answer.circuits) == 32 * len(joins)


def test_a_request_is_carried_out_as_planned() -> None:
    happened: Counter[str] = Counter()
    for world, random in lives(25):
        shape, twisted = random.choice(SHAPES)
        tier, estimate_us = random.choice(ASKERS)
        before = encode_state(world.state)
        plan = plan_request(
            state_now(world), request_for(world, shape, twisted=twisted, tier=tier, estimate_us=estimate_us)
        )
        assert encode_state(world.state) == before
        leftover_before = {(key[0], a, b) for key, (owner, a, b) in world.north.items() if not owner}
        name, emitted = world.request(shape, twisted, tier=tier, estimate_us=estimate_us)
        connected = bodies_of(ConnectCircuits, emitted, name)
        if connected is not None:
            assert plan.circuits_kept == 32 * len(leftover_before & set(connected.joins))
        check_came_true(world, plan, name, emitted)
        happened[plan.decision] += 1
    assert min(happened[decision] for decision in ("placed", "claims", "waits", "refused")) > 5, happened


def test_the_predicted_recovery_is_the_one_decided() -> None:
    decided: Counter[str] = Counter()
    for seed in range(60):
        life, policy = long_life(seed, 80)
        slow = SchedulerConfig(**policy.model_dump() | {"decision_s": 30})
        world = World(cubes=8, policy=slow)
        for _ in play(world, life):
            due_us = next_decision_us(world.state)
            if due_us is None or due_us != world.held.due_us or due_us < world.now_us:
                continue
            state = copy_of(world.state)
            state.now_us = due_us
            predictions = {
                row.number: explain_slice(state, f"{FABRIC}/slice-{row.number}")
                for row in slices_in(state, "recovering")
                if interruption_of(row).choice is None
            }
            if len(slices_in(state, "recovering")) != 1 or len(predictions) != 1:
                continue
            ((number, prediction),) = predictions.items()
            recovering = bodies_of(SliceRecovering, world.tick(), f"{FABRIC}/slice-{number}")
            if recovering is None:
                continue
            assert prediction is not None
            assert prediction.recovery is not None
            assert prediction.recovery.cheapest_now == recovering.choice
            assert prediction.recovery.costs_chip_us == recovering.costs_chip_us
            decided[str(recovering.choice)] += 1
    assert len(decided) > 2, decided
    assert decided.total() > 20, decided


@pytest.mark.slow("tries every shape at many times")
def test_no_larger_shape_fits_than_the_largest_one_reported() -> None:
    outcomes: Counter[bool] = Counter()
    for world, _ in lives(8, every=25):
        plan = plan_request(state_now(world), request_for(world, (4, 4, 4), estimate_us=600_000_000))
        largest = 0 if plan.largest_now is None else chips_of(parse_shape(plan.largest_now))
        outcomes[largest > 0] += 1
        for shape in legal_shapes(8):
            fits = plan_request(state_now(world), request_for(world, shape, estimate_us=600_000_000)).decision
            if chips_of(shape) > largest:
                assert fits in ("waits", "refused"), shape
            elif chips_of(shape) == largest and plan.largest_now == shape_text(shape):
                assert fits in ("placed", "claims"), shape
    assert min(outcomes.values()) > 2
    assert len(outcomes) == 2
