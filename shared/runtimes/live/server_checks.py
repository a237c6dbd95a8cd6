"""What a live twin stands on, looked at by every process as it starts and now and then: the settings of
topics and of Redis, whether Redis still holds this twin, and clocks.
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
"""How often Redis is asked whether it holds the twin, and what time it is."""
SETTINGS_EVERY_S = 60.0
CLOCKS_APART_S_MAX = 5.0
STEP_BACK_S_MIN = 1.0
"""A clock that is behind its own past by less is only being set right."""
NO_EVICTION = "noeviction"

log = logging.getLogger("lightwave.live")


def redis_problems(store: RedisStore) -> list[str]:
    """What of the settings of Redis would lose a twin, a sentence each. What a managed Redis does not tell is
    no problem, and noted once."""
    found = []
    for server in store.servers():
        if server.appends is None or server.policy is None:
            _warn_once(
                f"{server.name} does not tell its settings: see that it keeps what it acknowledges and "
                "evicts nothing"
            )
        if server.appends is False:
            found.append(
                f"{server.name} has no append-only file: all it holds is lost when it restarts; `CONFIG SET "
                "appendonly yes` there, and in its file"
            )
        if server.bytes_max and server.policy not in (None, NO_EVICTION):
            found.append(
                f"{server.name} may evict keys (maxmemory-policy {server.policy}), states among them; "
                f"`CONFIG SET maxmemory-policy {NO_EVICTION}` there, and in its file"
            )
    return found


def missing_twin_problem(store: RedisStore, twin: TwinRecord) -> str | None:
    """What to do where Redis does not hold the twin any more with which this process began."""
    found = find_twin(store)
    if found is None:
        return (
            f"Redis at {store.name} holds no twin any more: somebody emptied it, or it lost its file; "
            "`lightwave live rebuild` makes every state again from the log"
        )
    if found.twin != twin.twin:
        return (
            f"Redis at {store.name} holds another twin ({found.twin}) than this process began with; "
            "start it again if that is meant"
        )
    return None


class RedisClockCheck:
    """Whether the clock of Redis goes on, and as that of this machine."""

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
                "let NTP set it, without steps"
            )
        redis_s = redis_us / US_PER_S
        apart_s = max(before_s - redis_s, redis_s - after_s)
        if apart_s > CLOCKS_APART_S_MAX:
            return (
                f"the clocks of {socket.gethostname()} and of Redis at {store.name} are {apart_s:.0f} s "
                f"apart, more than {CLOCKS_APART_S_MAX:.0f} s: let NTP set both"
            )
        return None


class ServerChecks:
    """Looks in a thread of its own; `problems` are those of the last look. What does not answer is told by
    whoever needs it, and not here."""

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
        threading.Thread(target=self._run, name="surroundings", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def check(self) -> None:
        """At what may change at any moment."""
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
        """At what people set."""
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
    """Once a process."""
    if sentence not in _warned:
        _warned.add(sentence)
        log.warning("%s", sentence)
