"""Many faults at once: several cubes, a row of cubes with one power feed, three OCSes, and all of these. One
plan covers all slices that were hit, the most urgent first, and forgets none."""

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.scheduler import SliceRecovering, SliceRequeued
from schemas.recovery_policy import parse_recovery_policy
from services.scheduler.placement.cube_ranking import DOMAIN_CUBES
from shared.basics.units import US_PER_HOUR, US_PER_S
from tests.support.scheduler_model import Said, World, ends_of, ocs_of

AT_ONCE = SchedulerConfig(decision_s=30, preflight_s=120)


def choices(emitted: list[Said]) -> list[tuple[str, str | None]]:
    """(slice, choice) in the order of the plan, without undecided slices."""
    hits = [body for body in emitted if isinstance(body, SliceRecovering) and body.choice is not None]
    return [(body.slice, body.choice) for body in hits]


def decide(world: World, began_us: int) -> list[Said]:
    """Run until every slice that failed at `began_us` has a decision."""
    emitted: list[Said] = []
    while world.held.due_us is not None and world.held.due_us <= began_us + 30 * US_PER_S:
        emitted += world.tick()
        world.check()
    return emitted


def go_on(world: World, until_us: int) -> None:
    """Circuits are made, and everything due by then happens."""
    world.train()
    while world.held.due_us is not None and world.held.due_us <= until_us:
        world.tick()
        world.train()
        world.check()
    world.now_us = max(world.now_us, until_us)


def cubes_of(world: World, name: str) -> list[int]:
    return [int(cube.rpartition("-")[2]) for cube in world.status(name).cubes]


def lose_ocses(world: World, ocses: tuple[int, ...]) -> None:
    for ocs in ocses:
        world.ocs_out.add(ocs)
        world.feed(OcsDown(ocs=ocs))
    ends = [end for end in sorted(ends_of(world.made)) if ocs_of(end) in ocses]
    world.change_links(down=ends)
    world.check()


def test_five_failed_cubes_of_three_slices() -> None:
    """Two idle cubes replace five lost ones. Production gets them, and the other slices wait in order."""
    world = World(cubes=16, policy=AT_ONCE)
    research = [world.start((4, 4, 8), estimate_us=US_PER_HOUR), world.start((4, 4, 16))]
    production = world.start((4, 4, 8), tier="production")
    spared = world.start((4, 4, 24), tier="production", estimate_us=US_PER_HOUR)
    began_us = world.now_us
    few_cubes, many_cubes, all_of = [cubes_of(world, name) for name in (*research, production)]
    for cube in (*few_cubes[1:], *many_cubes[:2], *all_of):
        assert choices(world.fail(cube)) == []
    emitted = decide(world, began_us)
    assert choices(emitted) == [(production, "swap"), (research[1], "wait"), (research[0], "wait")]
    world.release(spared)
    go_on(world, world.now_us + 600 * US_PER_S)
    assert {world.status(name).state for name in (*research, production)} == {"running"}
    assert sum(world.status(name).swaps for name in (*research, production)) == 5


def test_a_row_of_cubes_loses_its_power_and_recovers() -> None:
    """All its slices stall at the same time. No other cube is healthy, so they continue in place."""
    world = World(cubes=2 * DOMAIN_CUBES, policy=AT_ONCE)
    names = [world.start((4, 4, 16), tier="production") for _ in range(4)]
    lost = range(DOMAIN_CUBES)
    on_it = [name for name in names if {f"pod-0/cube-{cube}" for cube in lost} & {*world.status(name).cubes}]
    began_us = world.now_us
    for cube in lost:
        world.fail(cube)
    decided = choices(decide(world, began_us))
    assert [name for name, _ in decided] == on_it
    assert {choice for _, choice in decided} == {"wait"}
    go_on(world, world.now_us + 3 * US_PER_HOUR)
    for cube in lost:
        world.heal(cube)
        world.check()
    go_on(world, world.now_us + 600 * US_PER_S)
    assert {world.status(name).state for name in names} == {"running"}


def test_three_failed_ocses_hit_all_slices_and_each_recovers_by_its_own_policy() -> None:
    world = World(cubes=8, policy=AT_ONCE)
    around = world.start((4, 4, 8))
    strict = world.start(
        (4, 4, 8), tier="production", recovery=parse_recovery_policy("swap,route:1%,wait,evict")
    )
    stays = world.start((4, 4, 4), recovery=parse_recovery_policy("swap,wait"))
    mesh = world.start((2, 4, 4))
    began_us = world.now_us
    lose_ocses(world, (3, 20, 44))
    emitted = decide(world, began_us)
    assert choices(emitted) == [(strict, "evict"), (around, "route"), (stays, "wait")]
    assert [body.slice for body in emitted if isinstance(body, SliceRequeued)] == [strict]
    states = [world.status(name).state for name in (around, strict, stays, mesh)]
    assert states == ["degraded", "queued", "recovering", "running"]
    assert "pod-0/ocs-3, expected back at" in (world.status(strict).reason or "")
    for ocs in (3, 20, 44):
        world.ocs_out.remove(ocs)
        world.feed(OcsUp(ocs=ocs))
        ends = [end for end in sorted(ends_of(world.made)) if ocs_of(end) == ocs]
        world.change_links(up=ends)
        world.check()
    go_on(world, world.now_us + 600 * US_PER_S)
    assert {world.status(name).state for name in (around, strict, stays, mesh)} == {"running"}


def test_cubes_and_ocses_fail_at_once_and_cubes_return_one_by_one() -> None:
    """However few cubes come free, each one goes to a waiting slice, and in the end the last slice runs."""
    world = World(cubes=12, policy=AT_ONCE)
    names = [
        world.start((4, 4, 12), tier="production"),
        world.start((4, 4, 12)),
        world.start((4, 4, 12)),
        world.start((4, 4, 12)),
    ]
    began_us = world.now_us
    for cube in (0, 1, 3, 4, 6, 7, 9, 10):
        world.fail(cube)
    lose_ocses(world, (3, 20, 44))
    assert choices(decide(world, began_us))[0][0] == names[0]
    for cube in (10, 9, 7, 6, 4, 3, 1, 0):
        go_on(world, world.now_us + US_PER_HOUR)
        world.heal(cube)
        world.check()
        assert world.idle == [] or all(world.status(name).state != "recovering" for name in names)
    go_on(world, world.now_us + 600 * US_PER_S)
    assert {world.status(name).state for name in names} == {"degraded"}
