"""Checks of the servers of a live twin, at the start of every process and regularly.

They check the settings of topics and of Redis, whether Redis still has this twin, and the clocks.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable

from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.basics.units import US_PER_S
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.topic_admin import check_settings
from shared.runtimes.live.twin_record import TwinRecord, find_twin
from shared.storage.store.redis_store import RedisStore

CHECK_EVERY_S = 5.0
"""Interval of the checks of Redis's twin and clock."""
SETTINGS_EVERY_S = 60.0
CLOCKS_APART_S_MAX = 5.0
STEP_BACK_S_MIN = 1.0
"""Smaller steps back are normal clock adjustments."""
NO_EVICTION = "noeviction"

log = logging.getLogger("lightwave.live")


def redis_problems(store: RedisStore) -> list[str]:
    """Settings of Redis that could lose a twin, a sentence each. Settings that a managed Redis hides are not
    a problem; that is logged once."""
    problems = []
    for server in store.servers():
        if server.appends is None or server.policy is None:
            _warn_once(
                f"{server.name} does not report its settings: make sure that it stores what it acknowledges "
                "and evicts nothing"
            )
        if server.appends is False:
            problems.append(
                f"{server.name} has no append-only file: it loses all data when it restarts; run `CONFIG SET "
                "appendonly yes`, and change its configuration file"
            )
        if server.bytes_max and server.policy not in (None, NO_EVICTION):
            problems.append(
                f"{server.name} may evict keys (maxmemory-policy {server.policy}), states among them; "
                f"run `CONFIG SET maxmemory-policy {NO_EVICTION}`, and change its configuration file"
            )
    return problems


def missing_twin_problem(store: RedisStore, twin: TwinRecord) -> str | None:
    """A sentence if Redis no longer has the twin with which this process started."""
    found = find_twin(store)
    if found is None:
        return (
            f"Redis at {store.name} no longer has a twin: it was emptied, or lost its file; "
            "`lightwave live rebuild` rebuilds every state from the log"
        )
    if found.twin != twin.twin:
        return (
            f"Redis at {store.name} has another twin ({found.twin}) than when this process started; "
            "restart the process if that is intended"
        )
    return None


class RedisClockCheck:
    """Checks that the clock of Redis advances and agrees with that of this machine."""

    def __init__(self, wall_s: Callable[[], float] = time.time) -> None:
        self._wall_s = wall_s
        self._latest_us = 0

    def problem(self, store: RedisStore) -> str | None:
        """One sentence if it does not."""
        before_s = self._wall_s()
        redis_us = store.wall_us()
        after_s = self._wall_s()
        self._latest_us = max(self._latest_us, redis_us)
        if self._latest_us - redis_us > STEP_BACK_S_MIN * US_PER_S:
            return (
                f"the clock of Redis at {store.name} went back; simulated time waits until it has caught up; "
                "configure NTP to slew the clock, not to step it"
            )
        redis_s = redis_us / US_PER_S
        apart_s = max(before_s - redis_s, redis_s - after_s)
        if apart_s > CLOCKS_APART_S_MAX:
            return (
                f"the clocks of {socket.gethostname()} and of Redis at {store.name} differ by {apart_s:.0f} "
                f"s, must be at most {CLOCKS_APART_S_MAX:.0f} s: set both by NTP"
            )
        return None


class ServerChecks:
    """Checks in a thread; `problems` are those of the last check. Unreachable servers are not reported here,
    but by the code that needs them."""

    def __init__(self, store: RedisStore, endpoints: Endpoints, twin: TwinRecord) -> None:
        self._store = store
        self._endpoints = endpoints
        self._twin = twin
        self._time = RedisClockCheck()
        self._settings: tuple[str, ...] = ()
        self._current: tuple[str, ...] = ()
        self._ended = threading.Event()

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self._current, *self._settings)

    def start(self) -> None:
        threading.Thread(target=self._run, name="server checks", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def check(self) -> None:
        """Check what may change at any time."""
        try:
            found: tuple[str | None, ...] = (
                missing_twin_problem(self._store, self._twin),
                self._time.problem(self._store),
            )
        except StoreUnreachable:
            return
        except OperationFailed as error:
            found = (str(error),)
        self._current = tuple(sentence for sentence in found if sentence is not None)

    def check_server_settings(self) -> None:
        """Check what administrators set."""
        found: list[str] = []
        checks: tuple[Callable[[], list[str]], ...] = (
            lambda: redis_problems(self._store),
            lambda: check_settings(self._endpoints.kafka, self._endpoints.topics),
        )
        for check in checks:
            try:
                found += check()
            except (StoreUnreachable, LogUnreachable):
                return
            except OperationFailed as error:
                found.append(str(error))
        self._settings = tuple(found)

    def _run(self) -> None:
        checked_s = -SETTINGS_EVERY_S
        logged: tuple[str, ...] = ()
        while not self._ended.is_set():
            self.check()
            if time.monotonic() - checked_s >= SETTINGS_EVERY_S:
                checked_s = time.monotonic()
                self.check_server_settings()
            for problem in self.problems:
                if problem not in logged:
                    log.error("%s", problem)
            logged = self.problems
            self._ended.wait(CHECK_EVERY_S)


_warned: set[str] = set()


def _warn_once(sentence: str) -> None:
    """Log a sentence once per process."""
    if sentence not in _warned:
        _warned.add(sentence)
        log.warning("%s", sentence)
