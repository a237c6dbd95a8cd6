"""Batches of a worker's pump: whole where nothing more comes, bounded, of one assignment of partitions."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from shared.runtimes.live.worker import faust_pump


class CountingQueue(asyncio.Queue[SimpleNamespace]):
    """A queue that counts the checks for emptiness."""

    looks = 0

    def empty(self) -> bool:
        self.looks += 1
        return super().empty()


class FakeStream:
    """A stream as Faust's, of numbers that arrive several at once."""

    def __init__(self) -> None:
        self.queue = CountingQueue()
        self.channel = self.queue
        self.current_event: SimpleNamespace | None = None

    def arrive(self, generation: int, numbers: range) -> None:
        for number in numbers:
            self.queue.put_nowait(
                SimpleNamespace(number=number, message=SimpleNamespace(generation_id=generation))
            )

    async def __aiter__(self) -> AsyncIterator[None]:
        while True:
            self.current_event = await self.queue.get()
            yield


async def batches_of(stream: Any, count: int) -> list[list[int]]:
    found: list[list[int]] = []
    async for events in faust_pump._batches(stream):
        found.append([event.number for event in events])  # type: ignore[attr-defined]  # of the fake
        if len(found) == count:
            break
    return found


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is, only a message ends a batch."""
    monkeypatch.setattr(faust_pump, "WITHIN_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_a_batch_is_all_that_has_come_up_to_a_bound() -> None:
    async def run() -> list[list[int]]:
        stream = FakeStream()
        stream.arrive(1, range(faust_pump.BATCH + 3))
        return await batches_of(stream, 2)

    full, rest = asyncio.run(run())
    assert full == [*range(faust_pump.BATCH)]
    assert rest == [*range(faust_pump.BATCH, faust_pump.BATCH + 3)]


@pytest.mark.usefixtures("patient")
def test_messages_within_the_pause_join_the_same_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faust_pump, "PAUSE_S", 0.2)

    async def run() -> list[list[int]]:
        stream = FakeStream()
        stream.arrive(1, range(2))
        asyncio.get_running_loop().call_later(0.02, stream.arrive, 1, range(2, 4))
        return await batches_of(stream, 1)

    assert asyncio.run(run()) == [[0, 1, 2, 3]]


def test_a_batch_that_has_filled_for_long_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faust_pump, "WITHIN_S", 0.0)

    async def run() -> list[list[int]]:
        stream = FakeStream()
        stream.arrive(1, range(3))
        return await batches_of(stream, 3)

    assert asyncio.run(run()) == [[0], [1], [2]]


@pytest.mark.usefixtures("patient")
def test_records_read_before_a_reassignment_are_left_to_be_read_again() -> None:
    async def run() -> list[list[int]]:
        stream = FakeStream()
        stream.arrive(1, range(2))
        stream.arrive(2, range(3))
        return await batches_of(stream, 1)

    assert asyncio.run(run()) == [[0, 1, 2]]


@pytest.mark.usefixtures("patient")
def test_where_nothing_comes_nothing_is_looked_at() -> None:
    async def run() -> int:
        stream = FakeStream()
        waiting = asyncio.ensure_future(batches_of(stream, 1))
        await asyncio.sleep(0.05)
        waiting.cancel()
        return stream.queue.looks

    assert asyncio.run(run()) == 1, "by the queue itself, before it waits"
