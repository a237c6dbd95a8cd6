"""Recovery policies of owners: allowed choices, their order, and the tolerated slowdown."""

import pytest

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceDegraded,
    SliceNoticed,
    SliceRecovering,
)
from schemas.recovery_policy import RecoveryPolicy, parse_recovery_policy
from shared.basics.units import US_PER_HOUR, US_PER_S
from tests.support.scheduler_model import Said, World

ONE_OCS_TAX = 0.02
"""For a slice one cube wide: 0.3 of a step × (16/15 − 1)."""


def choice_of(emitted: list[Said]) -> str | None:
    hits = [body for body in emitted if isinstance(body, SliceRecovering)]
    assert len(hits) == 1
    return hits[0].choice


def lose_ocs(world: World) -> list[Said]:
    world.ocs_out.add(7)
    world.feed(OcsDown(ocs=7))
    return world.change_links(down=(7, 23))


@pytest.mark.parametrize(
    ("recovery", "choice"),
    [
        (None, "swap"),
        ("wait,evict", "evict"),
        ("wait", "wait"),
        ("route,wait", "wait"),
        ("evict,swap", "evict"),
        ("swap,evict", "swap"),
        ("route", "evict"),
        ("spare", "evict"),
    ],
)
def test_the_cheapest_choice_that_the_owner_allows_is_taken(recovery: str | None, choice: str) -> None:
    """A dead cube next to idle ones: a restart on those costs as much as a swap."""
    world = World(cubes=8)
    name = world.start((4, 4, 8), recovery=None if recovery is None else parse_recovery_policy(recovery))
    assert choice_of(world.fail(0)) == choice
    world.check()
    assert world.status(name).recovery == (recovery or "spare,swap,route,wait,evict")


@pytest.mark.parametrize(("recovery", "goes_around"), [("wait,route:2%", True), ("wait,route:1.9%", False)])
def test_a_slice_reroutes_only_within_its_owners_tolerance(recovery: str, goes_around: bool) -> None:
    world = World(cubes=4)
    name = world.start((4, 4, 4), recovery=parse_recovery_policy(recovery))
    emitted = lose_ocs(world)
    assert choice_of(emitted) == ("route" if goes_around else "wait")
    assert isinstance(emitted[-1], SliceDegraded) == goes_around
    document = world.status(name)
    assert document.state == ("degraded" if goes_around else "recovering")
    world.check()
    if goes_around:
        (slow,) = [body for body in emitted if isinstance(body, SliceDegraded)]
        assert slow.speed_ppm == int(1_000_000 / (1 + ONE_OCS_TAX))


def test_a_slice_with_a_lower_tolerance_waits_in_the_queue_for_the_ocs() -> None:
    world = World(cubes=4)
    world.feed(OcsDown(ocs=7), 3_600 * US_PER_S)
    name, emitted = world.request((4, 4, 4), recovery=parse_recovery_policy("route:1%,wait"))
    assert emitted == []
    assert world.status(name).reason == (
        "waits for pod-0/ocs-7, expected back at 3d01:00:00: rerouted traffic would slow its steps by 2.0% "
        "(recovery route:1%,wait)"
    )
    world.check()
    assert SliceAdmitted in [type(body) for body in world.feed(OcsUp(ocs=7))]
    world.check()


def test_no_slice_reroutes_around_all_sixteen_ocses_of_a_dimension() -> None:
    world = World(cubes=4)
    for ocs in range(16):
        world.feed(OcsDown(ocs=ocs))
    name, emitted = world.request((4, 4, 4))
    assert emitted == []
    assert ": no route avoids them (recovery spare,swap,route,wait,evict)" in (
        world.status(name).reason or ""
    )
    assert SliceAdmitted in [type(body) for body in world.request((2, 2, 2))[1]]
    world.check()


OLD = SchedulerConfig(decision_s=0, preflight_s=0, production_waits_h=0.5, research_runs_h=1.0)


@pytest.mark.parametrize("tier", ["production", "research"])
def test_a_slice_that_lost_a_cube_preempts_as_if_it_were_first_in_line(tier: str) -> None:
    """It does not idle for hours on its remaining cubes. Unaffected research leaves for production after half
    an hour, and for older research after it has run for one hour."""
    world = World(cubes=4, policy=OLD)
    hit = world.start((4, 4, 12), tier="production" if tier == "production" else "research")
    victim = world.start((4, 4, 4))
    world.now_us += 7 * US_PER_HOUR
    emitted = world.fail(0)
    assert choice_of(emitted) == "wait"
    assert [body.slice for body in emitted if isinstance(body, SliceNoticed)] == [victim]
    world.check()
    swapped = [body for body in world.checkpoint(victim) if isinstance(body, CubeSwapped)]
    assert [(body.slice, body.left, body.spare) for body in swapped] == [(hit, 0, 3)]
    world.check()


def test_cubes_freed_for_a_slice_that_lost_a_cube_go_to_no_other() -> None:
    """A simultaneous request that is first in line does not get the cubes of the noticed slices."""
    world = World(cubes=4, policy=OLD)
    hit = world.start((4, 4, 12), tier="production")
    victim = world.start((4, 4, 4))
    world.now_us += 7 * US_PER_HOUR
    world.fail(0)
    preemptor, emitted = world.request((4, 4, 4), tier="production")
    assert emitted == []
    assert world.claims == {}
    swapped = [body for body in world.checkpoint(victim) if isinstance(body, CubeSwapped)]
    assert [(body.slice, body.left, body.spare) for body in swapped] == [(hit, 0, 3)]
    assert world.status(preemptor).state == "queued"
    world.check()


def test_noticed_slices_leave_for_others_if_the_waiting_slice_is_gone() -> None:
    world = World(cubes=4, policy=OLD)
    hit = world.start((4, 4, 12), tier="production")
    victim = world.start((4, 4, 4))
    world.now_us += 7 * US_PER_HOUR
    world.fail(0)
    world.release(hit)
    preemptor, _ = world.request((4, 4, 16), tier="production")
    world.heal(0)
    world.checkpoint(victim)
    assert world.held_cubes[preemptor] == (0, 1, 2, 3)
    world.check()


def test_no_slice_leaves_for_filler_or_for_a_slice_that_waits_for_the_repair_anyway() -> None:
    for tier, recovery in (("filler", None), ("production", RecoveryPolicy(choices=("wait",)))):
        world = World(cubes=4, policy=OLD)
        world.start((4, 4, 12), tier="filler" if tier == "filler" else "production", recovery=recovery)
        world.start((4, 4, 4))
        world.now_us += 7 * US_PER_HOUR
        emitted = world.fail(0)
        assert not any(isinstance(body, SliceNoticed) for body in emitted)
        world.check()
