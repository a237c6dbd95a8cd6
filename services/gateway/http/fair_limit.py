"""Shares a few slots fairly between clients: a request beyond a client's share waits, without a thread, while
those of other clients pass."""

import asyncio
import threading
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field

from shared.basics.errors import RateLimited

RETRY_AFTER_S = 2
Lane = tuple[str | None, str]
"""(name of the client, group of its requests); requests of one lane run in the order in which they came."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many requests of a kind run at once: `total` of all clients, `per_name` of one client, `per_lane`
    of one lane. Of each name `waiting` more wait, for at most `wait_s` seconds of wall time.

    `what`: the kind, in the plural.
    """

    what: str
    total: int
    per_name: int
    per_lane: int
    waiting: int
    wait_s: float


@dataclass(slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    has_slot: bool = False


class FairLimit:
    """Gives out the slots of `Shares`. A free slot goes to the waiting client that runs the fewest requests,
    and to its lane that was served longest ago. Safe to use from several event loops."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self._lock = threading.Lock()
        self._running: Counter[Lane] = Counter()
        self._waiting: OrderedDict[Lane, deque[_Waiter]] = OrderedDict()

    async def enter(self, lane: Lane) -> None:
        """Take a slot, perhaps after a wait; raise RateLimited if too many of this name wait already, or if
        none becomes free in time."""
        with self._lock:
            if lane not in self._waiting and self._has_room(lane):
                self._running[lane] += 1
                return
            if self._waiting_of(lane[0]) >= self.shares.waiting:
                raise self._refusal(lane[0])
            waiter = _Waiter(asyncio.get_running_loop())
            self._waiting.setdefault(lane, deque()).append(waiter)
        try:
            await asyncio.wait_for(waiter.turn.wait(), self.shares.wait_s)
        except TimeoutError:
            if not self._gave_up(lane, waiter):
                raise self._refusal(lane[0]) from None
        except asyncio.CancelledError:
            if self._gave_up(lane, waiter):
                self.leave(lane)
            raise

    def leave(self, lane: Lane) -> None:
        """Return a slot, and give the free ones to those that wait."""
        with self._lock:
            self._running[lane] -= 1
            if not self._running[lane]:
                del self._running[lane]
            while startable := [waiting for waiting in self._waiting if self._has_room(waiting)]:
                self._grant(min(startable, key=lambda waiting: self._running_of(waiting[0])))

    def _grant(self, lane: Lane) -> None:
        """Start the first waiting request of a lane; the lane is the last of the next round."""
        waiter = self._waiting[lane].popleft()
        self._waiting.move_to_end(lane)
        if not self._waiting[lane]:
            del self._waiting[lane]
        self._running[lane] += 1
        waiter.has_slot = True
        waiter.loop.call_soon_threadsafe(waiter.turn.set)

    def _gave_up(self, lane: Lane, waiter: _Waiter) -> bool:
        """Whether a request that waits no longer has a slot all the same; otherwise it leaves its lane."""
        with self._lock:
            if not waiter.has_slot:
                self._waiting[lane].remove(waiter)
                if not self._waiting[lane]:
                    del self._waiting[lane]
            return waiter.has_slot

    def _has_room(self, lane: Lane) -> bool:
        return (
            self._running.total() < self.shares.total
            and self._running_of(lane[0]) < self.shares.per_name
            and self._running[lane] < self.shares.per_lane
        )

    def _running_of(self, name: str | None) -> int:
        return sum(count for (other, _), count in self._running.items() if other == name)

    def _waiting_of(self, name: str | None) -> int:
        return sum(len(waiters) for (other, _), waiters in self._waiting.items() if other == name)

    def _refusal(self, name: str | None) -> RateLimited:
        shares = self.shares
        whose = f"of {name} " if name else ""
        return RateLimited(
            f"concurrent {shares.what} {whose}must be at most {shares.per_name}, and {shares.total} of all "
            "clients; try again later",
            RETRY_AFTER_S,
        )
