"""The loop of a living twin in one process: requests and due Ticks of every site, paced by the clock.

In this runtime the loop itself is the sequencer. It outlives a store that goes away, file descriptors that
are all taken, and a log that somebody moved: simulated time stands still, and when all are to be had again
every site is recovered from what the store holds.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from schemas.body import Body
from shared.basics.errors import LogMoved, OperationFailed, OutOfFileDescriptors, StoreUnreachable
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.site_runner import Fenced, SiteRunner
from shared.storage.inbox.request_inbox import Inbox, InboxReceipt
from shared.storage.store.redis_store import RedisStore

RECHECK_S = 0.5
"""Wall time after which the loop looks at the inbox even if nobody woke it."""
BACKOFF_S_MAX = 2.0
ANSWER_S_MAX = 10.0
"""Wall time in which the loop comes to a quiet moment."""
REQUESTS_AT_ONCE = 100
"""Requests of one site taken before the next look at the others."""

TRANSIENT_ERRORS = (Fenced, LogMoved, OutOfFileDescriptors, StoreUnreachable)
"""What the loop holds time still for, and tries again."""

AnswerT = TypeVar("AnswerT")

log = logging.getLogger("lightwave.twin")


class EmbeddedTwin:
    """Several sites, one clock, one store. `ensure_store` is called before a new try to reach the store."""

    def __init__(
        self,
        sites: Sequence[SiteRunner],
        inbox: Inbox,
        clock: EmbeddedClock,
        ensure_store: Callable[[], None],
    ) -> None:
        self.sites = list(sites)
        self.clock = clock
        self.recoveries = 0
        self.problem: str | None = None
        """Why simulated time stands still, or None."""
        self._inbox = inbox
        self._ensure_store = ensure_store
        self._wake = threading.Event()
        self._has_requests = {site.partition: True for site in sites}
        self._stop = threading.Event()
        self._callbacks: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()

    def wake(self, partition: int) -> None:
        """Something was put into this partition's inbox."""
        self._has_requests[partition] = True
        self._wake.set()

    def run_when_quiet(self, callback: Callable[[], AnswerT]) -> AnswerT:
        """What a question answers that the loop puts between two of its steps: every site is quiet, and none
        moves meanwhile. OperationFailed where the loop stands still for something that failed, or does not
        come to it."""
        answer: Future[AnswerT] = Future()
        self._callbacks.put((callback, answer))
        self._wake.set()
        try:
            return answer.result(ANSWER_S_MAX)
        except TimeoutError:
            answer.cancel()
            why = self.problem or f"it did not come to a quiet moment within {ANSWER_S_MAX:g} s"
            raise OperationFailed(f"the twin cannot be looked at between two steps: {why}") from None

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def start(self, at_us: int = 0) -> None:
        """Recover every site; the clock goes on from where they stopped, or from `at_us` if it had come
        further than the last message."""
        for site in self.sites:
            folded = site.recover()
            if folded:
                log.info("%s: %d messages of the log folded again", site.name, folded)
        self.clock.start(self._processed_us, max([at_us, *(site.site.now_us for site in self.sites)]))

    def run(self) -> None:
        """Until `stop`. Raises what nobody but a person can mend: a damaged log, a full disk, a service's
        bug.
        """
        checked_s = sampled_s = time.monotonic()
        while not self._stop.is_set():
            now_s = time.monotonic()
            recheck = now_s - checked_s > RECHECK_S
            if recheck:
                checked_s = now_s
                self._has_requests = dict.fromkeys(self._has_requests, True)
            if now_s - sampled_s > 0.1:
                sampled_s = now_s
                self.clock.sample()
            self._run_callbacks()
            try:
                if recheck:
                    for site in self.sites:
                        site.check_log()
                if not self.step():
                    self._wait()
            except TRANSIENT_ERRORS as error:
                self._recover(error)

    def step(self) -> bool:
        """Take the requests that wait, then the earliest due Tick; False if there is nothing to do now."""
        clock_us = self.clock.clock_us()
        taken = [
            self._take_requests(site, clock_us) for site in self.sites if self._has_requests[site.partition]
        ]
        ready = [
            (due_us, n)
            for n, site in enumerate(self.sites)
            if (due_us := site.due_us()) is not None and due_us <= clock_us
        ]
        if ready:
            self.sites[min(ready)[1]].step(None, clock_us)
        return bool(ready) or any(taken)

    def _take_requests(self, site: SiteRunner, clock_us: int) -> bool:
        """Let the oldest requests of a site have their place; False if none waits."""
        self._has_requests[site.partition] = False
        waiting = self._inbox.waiting(site.partition, REQUESTS_AT_ONCE)
        if waiting:
            site.check_store()
        for request in waiting:
            while not site.step(request, clock_us):
                pass  # a Tick that was due went first
        self._has_requests[site.partition] |= len(waiting) == REQUESTS_AT_ONCE
        return bool(waiting)

    def _run_callbacks(self) -> None:
        """Put the questions that wait. What one raises is its asker's."""
        while not self._callbacks.empty():
            callback, answer = self._callbacks.get()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(callback())
            except Exception as error:  # noqa: BLE001 -- raised again by the thread that asked
                answer.set_exception(error)

    def _processed_us(self, clock_us: int) -> int:
        return min((site.processed_us(clock_us) for site in self.sites), default=clock_us)

    def _wait(self) -> None:
        """Sleep until the next Tick is due, somebody asks, or the clock changes."""
        first = min((due for site in self.sites if (due := site.due_us()) is not None), default=None)
        wait_s = RECHECK_S
        if first is not None:
            wait_s = min(wait_s, self.clock.wall_s_until(first))
        if wait_s > 0:
            self._wake.wait(wait_s)
        self._wake.clear()

    def _recover(self, error: Exception) -> None:
        """Hold time still until what failed is there again, then load what the store holds and fold the log's
        tail."""
        delay_s = 0.05
        self.problem = str(error)
        log.warning("%s; simulated time stands still", error)
        at_us = self.clock.show().now_us
        while not self._stop.is_set():
            try:
                self._ensure_store()
                for site in self.sites:
                    site.recover()
                break
            except TRANSIENT_ERRORS as again:
                self.problem = str(again)
                self._stop.wait(delay_s)
                delay_s = min(2 * delay_s, BACKOFF_S_MAX)
        else:
            return
        self.problem = None
        self.recoveries += 1
        self._has_requests = dict.fromkeys(self._has_requests, True)
        self.clock.start(self._processed_us, at_us)
        log.info("what failed is there again; simulated time goes on")


# The Redis of a twin in one process, which wakes its loop when somebody asks for something.


class WakeOnPut:
    """Mixed into an inbox: `wake` is told in which partition a request waits now; until there is a loop,
    nobody is."""

    wake: Callable[[int], None] | None = None

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        received: InboxReceipt = super().put(partition, fabric, body)  # type: ignore[misc]  # the inbox's
        if self.wake is not None:
            self.wake(partition)
        return received


class WakingRedisStore(WakeOnPut, RedisStore):
    """The store of a twin in one process."""
