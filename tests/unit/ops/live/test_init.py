"""Creation of a live twin that is killed at any step; the next attempt makes exactly what was planned."""

import asyncio
import random
from typing import Any

import pytest

from ops.live.init import NewTwin, make_twin, planned_twin
from ops.sites.site_plans import NewTwinOptions
from schemas.registry import decode
from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.live.kafka.records import open_record
from shared.runtimes.live.live_clock import read_epoch
from shared.runtimes.live.twin_record import find_twin
from shared.storage.store.memory_store import MemoryStore
from tests.support.live_swarm import FakeLog
from tests.support.memory_operations import MemoryOperations

OPTIONS = NewTwinOptions(pods=5, seed=7)
PODS = [f"pod-{number}" for number in range(5)]


def new(requested: NewTwinOptions = OPTIONS, **options: Any) -> NewTwin:
    return NewTwin(
        **{"sites": requested.sites(), "requested": requested, "partitions": 3, "speed": 60.0, **options}
    )


class Killed(BaseException):
    """The process is killed in the middle of a call."""


class KilledAfter:
    """Passes this many calls on to an object; the next one kills, before or after it is done."""

    def __init__(self, target: object, life: list[int], *, after: bool) -> None:
        self._target, self._life, self._after = target, life, after

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if not callable(attribute):
            return attribute
        if asyncio.iscoroutinefunction(attribute):

            async def awaited(*arguments: Any) -> Any:
                self._spend(before=True)
                answer = await attribute(*arguments)
                self._spend(before=False)
                return answer

            return awaited

        def call(*arguments: Any, **named: Any) -> Any:
            self._spend(before=True)
            answer = attribute(*arguments, **named)
            self._spend(before=False)
            return answer

        return call

    def _spend(self, *, before: bool) -> None:
        if before is self._after:
            return
        self._life[0] -= 1
        if self._life[0] < 0:
            raise Killed


class World:
    """An empty log, operations log and store."""

    def __init__(self) -> None:
        self.log = FakeLog(random.Random(0))
        self.operations = MemoryOperations()
        self.store = MemoryStore(wall_s=lambda: 0.0)

    def init(self, requested: NewTwin, life: int | None = None, *, after: bool = False) -> None:
        """Make a twin here; with a life, in a process that is killed after this many calls."""
        parts: list[Any] = [self.operations, self.store, self.log]
        if life is not None:
            left = [life]
            parts = [KilledAfter(part, left, after=after) for part in parts]
        operations, store, log = parts
        asyncio.run(make_twin(requested, operations, store, log, "t.log", "topic"))

    def check(self, pods: list[str] = PODS) -> None:
        """Check that the parts contain the planned twin, with each first message once."""
        plan = planned_twin(self.operations)
        twin = find_twin(self.store)
        assert plan is not None
        assert twin is not None
        assert (twin.twin, twin.partitions) == (plan.twin, 3)
        for partition in range(3):
            valid = [open_record(record, plan.twin) for record in self.log.records[partition]]
            assert [m.fabric for m in valid if m is not None] == pods[partition::3]
        assert list(self.store.fabrics()) == pods
        epoch = read_epoch(self.store)
        assert epoch is not None
        assert (epoch.speed, epoch.paused) == (60.0, False)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_killed_creation_is_finished_by_the_next(after: bool) -> None:
    life = 0
    while True:
        world = World()
        try:
            world.init(new(), life, after=after)
        except Killed:
            world.init(new())
            world.check()
            life += 1
            continue
        world.check()
        break
    assert life > 20


def test_a_creation_that_is_killed_repeatedly_is_finished() -> None:
    world = World()
    for life in range(40):
        try:
            world.init(new(), life % 17, after=bool(life % 2))
        except Killed:
            continue
    world.init(new())
    world.check()


def test_other_options_than_the_planned_ones_are_refused_by_name() -> None:
    world = World()
    with pytest.raises(Killed):
        world.init(new(), 12)
    for other, sentence in (
        (
            new(NewTwinOptions(pods=6, seed=7)),
            r"--pods 6: the twin has 5 sites: pod-0, .*; its creation has begun",
        ),
        (
            new(NewTwinOptions(pods=5, seed=8)),
            "--seed 8: pod-0 has 7; its creation has begun: omit the option",
        ),
        (new(partitions=4), "--partitions 4: the twin was planned with 3; omit the option"),
        (new(speed=1.5), "--speed 1.5: the twin was planned with 60; omit the option"),
        (new(paused=True), "--paused: the twin was planned without it; omit the option"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            world.init(other)
    plain = NewTwinOptions()
    world.init(NewTwin(plain.sites(), plain))
    world.check()


def test_two_concurrent_creations_make_the_same_twin() -> None:
    """The second begins while the first waits for each answer of the log."""

    class Slow(FakeLog):
        async def append(self, partition: int, entries: Any) -> list[int]:
            await asyncio.sleep(0)
            return await super().append(partition, entries)

        async def end(self, partition: int) -> int:
            end = await super().end(partition)
            await asyncio.sleep(0)
            return end

    world = World()
    world.log = Slow(random.Random(0))

    async def both() -> None:
        parts = (world.operations, world.store, world.log, "t.log", "topic")
        await asyncio.gather(make_twin(new(), *parts), make_twin(new(), *parts))

    asyncio.run(both())
    world.check()


def test_a_log_that_holds_a_twin_is_left_alone() -> None:
    world = World()
    world.init(new())
    stranger = World()
    stranger.log = world.log
    before = sum(map(len, world.log.records.values()))
    with pytest.raises(
        OperationFailed, match=r"topic t\.log: already holds a twin; rebuild its states with `lightwave live"
    ):
        stranger.init(new())
    assert sum(map(len, world.log.records.values())) == before
    assert planned_twin(stranger.operations) is None
    assert decode(world.log.records[0][0].value).fabric == "pod-0"
