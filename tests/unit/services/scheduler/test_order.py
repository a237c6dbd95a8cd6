"""The queue order: tier, fair share, priority, age."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.sites.configuration import superpod_config
from schemas.config.quotas import parse_quotas
from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import SliceAdmitted
from schemas.names import Tier
from services.scheduler.queue.order import borrowed_chips
from shared.basics.errors import InvalidInput
from tests.support.scheduler_model import Said, World

CUBE = (4, 4, 4)
WHOLE = (4, 8, 8)


def admitted(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceAdmitted)]


def served(world: World, running: str, count: int) -> list[str]:
    """The next slices. Each one takes the whole pod when the previous one is released."""
    order = []
    for _ in range(count):
        (running,) = admitted(world.release(running))
        order.append(running)
    return order


def test_the_tier_precedes_all_other_criteria() -> None:
    world = World(cubes=4)
    running = world.start(WHOLE, tier="production")
    tiers: tuple[Tier, ...] = ("research", "filler", "production", "research")
    names = [world.request(WHOLE, tier=tier, priority=9 - at)[0] for at, tier in enumerate(tiers)]
    first, second, third = served(world, running, 3)
    assert [first, second, third] == [names[2], names[0], names[3]]
    assert admitted(world.release(third)) == [names[1]]


def test_owners_within_quota_precede_borrowers_of_any_priority() -> None:
    world = World(cubes=8, policy=SchedulerConfig(quotas="small=128,large=384"))
    running = [world.start((4, 4, 8), owner="small"), world.start((4, 8, 12), owner="large")]
    borrower, _ = world.request((4, 4, 8), owner="small", priority=5)
    within, _ = world.request((4, 4, 8), owner="large")
    assert world.status(borrower).queue_position == 1
    assert world.status(within).reason == (
        "needs 2 healthy idle cubes: of 8 cubes, 0 idle and 8 used; "
        "large has 384 chips of a quota of 384; owners below their quota go first"
    )
    assert admitted(world.release(running[1])) == [within, borrower]


def test_the_borrower_with_the_least_use_comes_first() -> None:
    world = World(cubes=8, policy=SchedulerConfig(quotas="a=0,b=0"))
    for owner, cubes in (("a", 3), ("b", 1), ("c", 4)):
        world.start((4, 4, 4 * cubes), owner=owner)
    of_a, _ = world.request(CUBE, owner="a", priority=3)
    of_b, _ = world.request(CUBE, owner="b")
    assert [world.status(name).queue_position for name in (of_b, of_a)] == [1, 2]


def test_without_quotas_all_requesting_owners_have_equal_shares() -> None:
    world = World(cubes=4)
    running = [world.start(CUBE, owner="busy") for _ in range(4)]
    busy, _ = world.request(CUBE, owner="busy")
    other_slice, _ = world.request(CUBE, owner="other")
    assert admitted(world.release(running[0])) == [other_slice]
    assert world.status(busy).queue_position == 1


@given(st.integers(0, 4096), st.integers(0, 4096))
def test_an_owner_below_its_quota_borrows_nothing(used_chips: int, quota: int) -> None:
    assert (borrowed_chips(used_chips, quota) == 0) == (used_chips < quota)
    assert borrowed_chips(used_chips + 1, quota) >= borrowed_chips(used_chips, quota)


def test_quotas_are_chips_or_shares() -> None:
    assert parse_quotas("", 64) == {}
    assert parse_quotas("team-1=1024, team-2=25%", 64) == {"team-1": 1024, "team-2": 1024}
    assert (
        superpod_config(["scheduler.quotas=team-1=1024,team-2=25%"]).scheduler.quotas
        == "team-1=1024,team-2=25%"
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("team-1", "'team-1' is not allowed; must be owner=chips or owner=share%, as team-1=25%"),
        ("Team=1", "'Team=1' is not allowed; must be owner=chips or owner=share%, as team-1=25%"),
        ("a=-1", "'a=-1' is not allowed; must be owner=chips or owner=share%, as team-1=25%"),
        ("a=5000", "'a=5000' is more than the pod has; must be at most a=4096"),
        ("a=101%", "'a=101%' is more than the pod has; must be at most a=100%"),
        ("a=1,a=2", "a is given twice; leave one of them out"),
        ("a=60%,b=50%", "4,505 chips in all are more than the pod has; must be at most 4,096"),
    ],
)
def test_an_invalid_quota_is_refused_in_one_sentence(text: str, error: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        superpod_config([f"scheduler.quotas={text}"])
    assert str(refusal.value) == f"--set scheduler.quotas: {error}"
