"""The loop of a living twin in one process: processes requests and due Ticks of every site, paced by the
clock.

In this runtime the loop itself is the sequencer. While Ticks are due, a site commits several of them at once.
It commits before the loop waits, before callbacks run, and before a change of the clock returns.

The loop survives an unreachable store, a lack of file
descriptors, and a log that was moved. Simulated time then stands still; when all are available again, every
site recovers from the store.
"""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from schemas.body import Body
from shared.basics.errors import (
    LogMoved,
    OperationFailed,
    OutOfFileDescriptors,
    StateRefused,
    StoreUnreachable,
)
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.site_runner import Fenced, SiteRunner
from shared.storage.inbox.request_inbox import Inbox, InboxReceipt
from shared.storage.store.redis_store import RedisStore

RECHECK_S = 0.5
"""Wall time after which the loop checks the inbox without a notification."""
BACKOFF_S_MAX = 2.0
ANSWER_S_MAX = 10.0
"""Wall time within which the loop must reach a quiet point."""
REQUESTS_AT_ONCE = 100
"""Requests of one site taken before the loop turns to the other sites."""

TRANSIENT_ERRORS = (Fenced, LogMoved, OutOfFileDescriptors, StateRefused, StoreUnreachable)
"""Errors for which the loop stops time and retries. After StateRefused, a site rebuilds its states."""

AnswerT = TypeVar("AnswerT")

log = logging.getLogger("lightwave.twin")


class EmbeddedTwin:
    """Several sites, one clock, one store. `ensure_store` is called before each retry of the store."""

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
        self._is_running = False
        clock.on_change = self._wait_for_commit

    def wake(self, partition: int) -> None:
        """A request was put into this partition's inbox."""
        self._has_requests[partition] = True
        self._wake.set()

    def run_when_quiet(self, callback: Callable[[], AnswerT]) -> AnswerT:
        """Run a callback between two steps of the loop, when every site is quiet and committed, and none
        moves; returns its result. OperationFailed if the loop is stopped by an error or too busy."""
        answer: Future[AnswerT] = Future()
        self._callbacks.put((callback, answer))
        self._wake.set()
        try:
            return answer.result(ANSWER_S_MAX)
        except TimeoutError:
            answer.cancel()
            why = self.problem or f"it did not reach a quiet point within {ANSWER_S_MAX:g} s"
            raise OperationFailed(f"the twin cannot be queried between two steps: {why}") from None

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def start(self, at_us: int = 0) -> None:
        """Recover every site. The clock continues from the last message, or from `at_us` if that is later."""
        for site in self.sites:
            folded = site.recover()
            if folded:
                log.info("%s: folded %d messages of the log again", site.name, folded)
        self._start_clock(at_us)

    def run(self) -> None:
        """Run until `stop`. Raises errors that need a person: a damaged log, a full disk, a bug in a
        service."""
        self._is_running = True
        try:
            self._run()
            with contextlib.suppress(*TRANSIENT_ERRORS):
                self._commit()
        finally:
            self._is_running = False

    def _run(self) -> None:
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
            try:
                self._run_callbacks()
                if recheck:
                    for site in self.sites:
                        site.check_log()
                if not self.step():
                    self._wait()
            except TRANSIENT_ERRORS as error:
                self._recover(error)

    def step(self) -> bool:
        """Take the waiting requests, then the earliest due Tick; commit the sites that have nothing due, or
        whose roots have waited long enough. False if there is nothing to do now."""
        clock_us = self.clock.clock_us()
        taken = [
            self._take_requests(site, clock_us) for site in self.sites if self._has_requests[site.partition]
        ]
        ready = [
            (due_us, n)
            for n, site in enumerate(self.sites)
            if (due_us := site.next_due_us()) is not None and due_us <= clock_us
        ]
        if ready:
            self.sites[min(ready)[1]].step(None, clock_us)
        for site in self.sites:
            if (due_us := site.next_due_us()) is None or due_us > clock_us or site.is_overdue():
                site.commit()
        return bool(ready) or any(taken)

    def _take_requests(self, site: SiteRunner, clock_us: int) -> bool:
        """Process the oldest requests of a site; False if none waits."""
        self._has_requests[site.partition] = False
        waiting = self._inbox.waiting(site.partition, REQUESTS_AT_ONCE)
        if waiting:
            site.check_store()
        for request in waiting:
            while not site.step(request, clock_us):
                pass  # a due Tick came first
        self._has_requests[site.partition] |= len(waiting) == REQUESTS_AT_ONCE
        return bool(waiting)

    def _commit(self) -> None:
        for site in self.sites:
            site.commit()

    def _wait_for_commit(self) -> None:
        """Wait until the loop has committed what is processed now; not if an error stops it."""
        is_committed = all(site.is_committed() for site in self.sites)
        if not is_committed and self._is_running and self.problem is None:
            with contextlib.suppress(OperationFailed):
                self.run_when_quiet(lambda: None)

    def _run_callbacks(self) -> None:
        """Commit, then run the waiting callbacks; their errors go to the caller."""
        if not self._callbacks.empty():
            self._commit()
        while not self._callbacks.empty():
            callback, answer = self._callbacks.get()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(callback())
            except Exception as error:  # noqa: BLE001 -- raised again in the calling thread
                answer.set_exception(error)

    def _processed_us(self, clock_us: int) -> int:
        return min((site.processed_us(clock_us) for site in self.sites), default=clock_us)

    def _reached_us(self, clock_us: int) -> int:
        return min((site.reached_us(clock_us) for site in self.sites), default=clock_us)

    def _start_clock(self, at_us: int) -> None:
        """Continue from this time, or from the last message if that is later."""
        last_us = max([at_us, *(site.site.now_us for site in self.sites)])
        self.clock.start(self._processed_us, last_us, self._reached_us)

    def _wait(self) -> None:
        """Sleep until the next Tick is due, a request arrives, or the clock changes."""
        first = min((due for site in self.sites if (due := site.due_us()) is not None), default=None)
        wait_s = RECHECK_S
        if first is not None:
            wait_s = min(wait_s, self.clock.wall_s_until(first))
        if wait_s > 0:
            for site in self.sites:
                site.finish_telemetry()
            self._wake.wait(wait_s)
        self._wake.clear()

    def _recover(self, error: Exception) -> None:
        """Stop time until the failed resource is available, then load the stored states and fold the tail of
        the log."""
        delay_s = 0.05
        self.problem = str(error)
        log.warning("%s; simulated time stands still", error)
        at_us = self.clock.reached_us()
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
        self._start_clock(at_us)
        log.info("storage is available again; simulated time continues")


class WakeOnPut:
    """Inbox mixin: calls `wake` with the partition of each new request, if it is set."""

    wake: Callable[[int], None] | None = None

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        received: InboxReceipt = super().put(partition, fabric, body)  # type: ignore[misc]  # the inbox's
        if self.wake is not None:
            self.wake(partition)
        return received


class WakingRedisStore(WakeOnPut, RedisStore):
    """The store of a twin in one process; wakes its loop when a request arrives."""
