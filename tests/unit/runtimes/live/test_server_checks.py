"""Checks of the servers of a live twin: unsafe settings, an emptied Redis, clocks, two processes with one
name."""

import json
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest

from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.basics.units import US_PER_S
from shared.runtimes.live import server_checks as module
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.process import process_registry
from shared.runtimes.live.process.process_registry import ProcessInfo, ProcessRow, claim_name
from shared.runtimes.live.server_checks import RedisClockCheck, ServerChecks, redis_problems
from shared.runtimes.live.twin_record import TwinRecord
from shared.storage.store.redis_store import RedisServer

TWIN = TwinRecord("a" * 32, 4, "topic")
NOTED = {"id": "a" * 32, "partitions": "4", "topic_id": "topic"}
WELL = RedisServer("Redis at x", appends=True, bytes_max=0, policy="noeviction")
HOUR_S = 1_800_000_000.0


class Store:
    """As much of a store as is looked at."""

    name = "x"

    def __init__(self) -> None:
        self.told = [WELL]
        self.globals: dict[str, dict[str, str]] = {"twin": dict(NOTED)}
        self.wall_s = HOUR_S
        self.away = False

    def servers(self) -> list[RedisServer]:
        return self.told

    def wall_us(self) -> int:
        if self.away:
            raise StoreUnreachable("Redis at x does not answer")
        return int(self.wall_s * US_PER_S)

    def read_globals(self, name: str) -> dict[str, str]:
        return dict(self.globals.get(name, {}))

    def set_globals(self, name: str, fields: dict[str, str | None]) -> None:
        kept = self.globals.setdefault(name, {})
        for field, value in fields.items():
            if value is None:
                kept.pop(field, None)
            else:
                kept[field] = value


def as_any(store: Store) -> Any:
    return store


def around(store: Store) -> ServerChecks:
    found = ServerChecks(as_any(store), Endpoints(Brokers("k:1"), "redis://x", Topics("p")), TWIN)
    found._time = RedisClockCheck(lambda: HOUR_S)
    return found


# --- Redis --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (WELL, None),
        (RedisServer("Redis at x", appends=False, bytes_max=0, policy="noeviction"), "no append-only file"),
        (RedisServer("Redis at x", appends=True, bytes_max=9, policy="allkeys-lru"), "policy allkeys-lru"),
        (RedisServer("Redis at x", appends=True, bytes_max=9, policy="volatile-ttl"), "may evict keys"),
        (RedisServer("Redis at x", appends=True, bytes_max=0, policy="allkeys-lru"), None),
        (RedisServer("Redis at x", appends=True, bytes_max=9, policy="noeviction"), None),
    ],
)
def test_settings_of_redis_that_lose_a_twin_are_reported(expected: RedisServer, words: str | None) -> None:
    store = Store()
    store.told = [expected]
    found = redis_problems(as_any(store))
    assert len(found) == (words is not None)
    assert all(words in sentence and "CONFIG SET" in sentence for sentence in found if words)


def test_a_redis_that_hides_its_settings_is_logged_once_and_is_no_problem(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_warned", set())
    store = Store()
    store.told = [RedisServer("Redis at x", appends=None, bytes_max=0, policy=None)]
    assert redis_problems(as_any(store)) == redis_problems(as_any(store)) == []
    (record,) = caplog.records
    assert "does not report its settings" in record.getMessage()


@pytest.mark.parametrize(
    ("noted", "words"),
    [
        (NOTED, None),
        ({}, "no longer has a twin.*live rebuild"),
        (NOTED | {"id": "b" * 32}, r"another twin \(bbbbb"),
        (NOTED | {"id": "../x"}, r"twin '../x' of '4' partitions is not valid; must be 32 digits"),
    ],
)
def test_a_redis_that_has_lost_the_twin_is_reported(noted: dict[str, str], words: str | None) -> None:
    store = Store()
    store.globals["twin"] = noted
    looked = around(store)
    looked.check()
    if words is None:
        assert looked.problems == ()
    else:
        (sentence,) = looked.problems
        with pytest.raises(ValueError, match=words):
            raise ValueError(sentence)


# --- clocks -------------------------------------------------------------------------------------------------


def test_a_clock_of_redis_that_goes_back_is_reported_until_it_has_caught_up() -> None:
    store, now_s = Store(), [HOUR_S]
    clock = RedisClockCheck(lambda: now_s[0])

    def at(seconds: float) -> str | None:
        now_s[0] = store.wall_s = HOUR_S + seconds
        return clock.problem(as_any(store))

    assert at(0) is None
    assert at(100) is None
    assert at(99.5) is None, "it is being set right"
    assert "went back" in (at(40) or "")
    assert "went back" in (at(90) or "")
    assert at(101) is None


@pytest.mark.parametrize(("apart_s", "is_told"), [(0, False), (4, False), (-4, False), (9, True), (-9, True)])
def test_clocks_of_two_machines_that_differ_are_reported(apart_s: float, is_told: bool) -> None:
    store = Store()
    store.wall_s = HOUR_S + apart_s
    sentence = RedisClockCheck(lambda: HOUR_S).problem(as_any(store))
    assert (sentence is not None) == is_told
    assert sentence is None or "differ by 9 s, must be at most 5 s: set both by NTP" in sentence


# --- all of it ----------------------------------------------------------------------------------------------


def test_topic_settings_are_checked_and_missing_topics_are_left_to_other_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[Callable[[], list[str]]] = []
    monkeypatch.setattr(module, "check_settings", lambda kafka, topics: answers[-1]())

    def away() -> list[str]:
        raise LogUnreachable("Kafka at k:1: away")

    def missing() -> list[str]:
        raise OperationFailed("topic p.log: not on Kafka")

    looked = around(Store())
    for answer, problems in (
        (lambda: ["topic p.log: retention.ms is 1000"], ("topic p.log: retention.ms is 1000",)),
        (away, ("topic p.log: retention.ms is 1000",)),
        (missing, ("topic p.log: not on Kafka",)),
        (list, ()),
    ):
        answers.append(answer)
        looked.check_server_settings()
        assert looked.problems == problems


def test_an_unreachable_store_does_not_change_earlier_findings() -> None:
    store = Store()
    looked = around(store)
    store.globals["twin"] = {}
    looked.check()
    before = looked.problems
    store.away = True
    looked.check()
    assert looked.problems == before
    assert len(before) == 1


# --- two processes of one name ------------------------------------------------------------------------------


def row(store: Store, name: str = "ocs-a") -> ProcessRow:
    return ProcessRow(ProcessInfo(name, "worker", "ocs"), as_any(store))


def write(of: ProcessRow) -> None:
    of.write(partitions=[], problems=[], address=None, extra={})


def test_of_two_processes_of_one_name_each_sees_the_other_and_the_first_has_it() -> None:
    store = Store()
    first, second = row(store), row(store)
    second._started_s = first._started_s + 1
    write(first)
    assert second.namesake() is None, "it may have died: it has not noted itself since this one did"
    store.wall_s += 1
    write(second)
    seen_by_first = first.namesake()
    assert seen_by_first is not None
    assert first.owns_name(seen_by_first)
    store.wall_s += 1
    write(first)
    seen_by_second = second.namesake()
    assert seen_by_second is not None
    assert not second.owns_name(seen_by_second)
    assert "--replica ocs-a: another live process has this name" in process_registry.duplicate_name_text(
        seen_by_second
    )


def test_a_process_that_counted_as_dead_has_lost_its_name() -> None:
    """It stood still (SIGSTOP), and another process of its name started. That one goes on when the first
    continues."""
    store = Store()
    first = row(store)
    write(first)
    store.wall_s += process_registry.ALIVE_US_MAX / US_PER_S + 1
    second = row(store)
    second._started_s = first._started_s + 1
    write(second)
    seen_by_first = first.namesake()
    assert seen_by_first is not None
    assert not first.owns_name(seen_by_first)
    assert second.namesake() is None


def test_a_name_is_free_if_no_process_beats_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_registry, "CLAIM_S_MAX", 0.05)
    monkeypatch.setattr(process_registry, "CLAIM_POLL_S", 0.01)
    store = Store()
    claim_name(as_any(store), "ocs-a")
    write(row(store))
    claim_name(as_any(store), "ocs-a")
    assert store.globals["processes"].keys() == {"ocs-a"}, "it only looks"


def left_behind(store: Store, **changed: object) -> None:
    write(row(store))
    text = json.loads(store.globals["processes"]["ocs-a"])
    store.globals["processes"]["ocs-a"] = json.dumps(text | changed)


@pytest.mark.parametrize("on", ["this machine", "another", "another, long ago"])
def test_a_name_whose_process_ended_is_free(monkeypatch: pytest.MonkeyPatch, on: str) -> None:
    looked: list[float] = []
    monkeypatch.setattr(process_registry, "CLAIM_S_MAX", 0.05)
    monkeypatch.setattr("shared.runtimes.live.process.process_registry.time.sleep", looked.append)
    store = Store()
    host = socket.gethostname() if on == "this machine" else "elsewhere"
    left_behind(store, host=host, pid=2**22 - 1)
    if on == "another, long ago":
        store.wall_s += 60
    claim_name(as_any(store), "ocs-a")
    assert bool(looked) == (on == "another"), "only where it can be told by nothing else"


def test_a_name_that_someone_beats_under_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    alive = row(store)
    left_behind(store, host="elsewhere", pid=os.getpid())

    def beat(_seconds: float) -> None:
        store.wall_s += 1
        write(alive)

    monkeypatch.setattr("shared.runtimes.live.process.process_registry.time.sleep", beat)
    with pytest.raises(InvalidInput, match="--replica ocs-a: another live process has this name"):
        claim_name(as_any(store), "ocs-a")
