"""The fair limit: shares are never exceeded, and no slot stays free while an eligible request waits. A client
that requests everything delays the others by no more than the running requests."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.http.fair_limit import FairLimit, Lane, Shares
from shared.basics.errors import RateLimited

SHARES = Shares("questions", total=3, per_name=2, per_lane=1, waiting=4, wait_s=60.0)
LANES: list[Lane] = [(name, group) for name in ("ann", "ben", None) for group in ("links", "cubes")]


async def settle() -> None:
    """Run the event loop until nothing more can run."""
    for _ in range(5):
        await asyncio.sleep(0)


class Clients:
    """Requests in order of arrival, each of which runs until it is ended."""

    def __init__(self, shares: Shares = SHARES) -> None:
        self.limit = FairLimit(shares)
        self.running: list[Lane] = []
        self.waiting: list[Lane] = []
        self.refused: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, lane: Lane) -> asyncio.Task[None]:
        async def request() -> None:
            self.waiting.append(lane)
            try:
                await self.limit.enter(lane)
            except RateLimited as error:
                self.refused.append(str(error))
                return
            finally:
                self.waiting.remove(lane)
            self.running.append(lane)

        task = asyncio.create_task(request())
        self.tasks.append(task)
        await settle()
        return task

    async def end(self, lane: Lane) -> None:
        self.running.remove(lane)
        self.limit.leave(lane)
        await settle()

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def check_shares(clients: Clients, shares: Shares) -> None:
    of_name = Counter(name for name, _ in clients.running)
    of_lane = Counter(clients.running)
    assert len(clients.running) <= shares.total
    assert max(of_name.values(), default=0) <= shares.per_name
    assert max(of_lane.values(), default=0) <= shares.per_lane
    assert max(Counter(name for name, _ in clients.waiting).values(), default=0) <= shares.waiting
    if len(clients.running) < shares.total:
        startable = [
            lane
            for lane in clients.waiting
            if of_name[lane[0]] < shares.per_name and of_lane[lane] < shares.per_lane
        ]
        assert startable == []


@given(
    st.lists(st.tuples(st.sampled_from(["ask", "end", "cancel"]), st.integers(0, 11)), max_size=60),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 2),
)
def test_shares_are_kept_and_no_slot_stays_free(
    steps: list[tuple[str, int]], total: int, per_name: int, per_lane: int
) -> None:
    shares = Shares("questions", total, per_name, per_lane, waiting=4, wait_s=60.0)

    async def drive() -> None:
        clients = Clients(shares)
        for act, number in steps:
            if act == "ask":
                await clients.ask(LANES[number % len(LANES)])
            elif act == "end" and clients.running:
                await clients.end(clients.running[number % len(clients.running)])
            elif act == "cancel" and (pending := [task for task in clients.tasks if not task.done()]):
                pending[number % len(pending)].cancel()
                await settle()
            check_shares(clients, shares)
        while clients.running:
            await clients.end(clients.running[0])
            check_shares(clients, shares)
        assert clients.waiting == []
        await clients.close()

    asyncio.run(drive())


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(steps)


def test_a_client_that_requests_everything_delays_others_by_one_request() -> None:
    async def drive() -> None:
        clients = Clients()
        for group in ("a", "b", "c", "d", "e", "f"):
            await clients.ask(("ann", group))
        assert clients.running == [("ann", "a"), ("ann", "b")]
        await clients.ask(("ben", "a"))
        assert clients.running[-1] == ("ben", "a")
        await clients.ask((None, "a"))
        await clients.end(("ann", "a"))
        assert clients.running == [("ann", "b"), ("ben", "a"), (None, "a")]
        await clients.close()

    run(drive())


def test_requests_of_one_lane_run_in_order_of_arrival() -> None:
    async def drive() -> None:
        limit, order = FairLimit(SHARES), list[int]()
        await limit.enter(("ann", "links"))

        async def request(number: int) -> None:
            await limit.enter(("ann", "links"))
            order.append(number)
            limit.leave(("ann", "links"))

        tasks = [asyncio.create_task(request(number)) for number in range(4)]
        await settle()
        limit.leave(("ann", "links"))
        await asyncio.gather(*tasks)
        assert order == [0, 1, 2, 3]

    run(drive())


def test_requests_beyond_the_waiting_limit_are_refused_at_once() -> None:
    async def drive() -> None:
        clients = Clients()
        for _ in range(6):
            await clients.ask(("ann", "links"))
        assert (len(clients.running), len(clients.waiting)) == (1, 4)
        assert clients.refused == [
            "concurrent questions of ann must be at most 2, and 3 of all clients; try again later"
        ]
        await clients.close()

    run(drive())


def test_a_request_that_waits_too_long_is_refused_and_leaves_its_lane() -> None:
    async def drive() -> None:
        limit = FairLimit(Shares("questions", 1, 1, 1, waiting=4, wait_s=0.0))
        await limit.enter((None, "links"))
        with pytest.raises(RateLimited, match="at most 1, and 1 of all clients") as refusal:
            await limit.enter((None, "cubes"))
        assert refusal.value.retry_after_s > 0
        limit.leave((None, "links"))
        await limit.enter((None, "cubes"))

    run(drive())
