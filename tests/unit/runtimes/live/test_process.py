"""The background tasks of a live process continue whatever fails: heartbeat, guard, health and metrics."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, KafkaTimeoutError

from schemas.files.operations_log import VersionStarted
from shared.basics.errors import StoreUnreachable
from shared.runtimes.child_process import RESTARTS
from shared.runtimes.live.kafka import operations_topic
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.process import health as process
from shared.runtimes.live.process.health import (
    EXIT_RESTART,
    HealthServer,
    MetricSample,
    ProcessHeartbeat,
    ProcessReport,
)
from shared.runtimes.live.process.process_registry import ProcessInfo, restarts
from shared.runtimes.live.worker import worker_process
from shared.runtimes.operations_log import local_person, new_operation
from shared.storage.store import redis_client
from shared.storage.store.redis_store import RedisStore

pytestmark = pytest.mark.integration

WORKER = ProcessInfo("ocs-a", "worker", "ocs")
WAIT_S_MAX = 20.0
HANG_S = 6.0
"""How long a store that hangs is waited for in these tests."""


class Notes:
    """The part of a store that the heartbeat needs."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any] | None] = []
        self.away = False

    def wall_us(self) -> int:
        if self.away:
            raise StoreUnreachable("Redis at x does not answer")
        return 1

    def read_globals(self, _name: str) -> dict[str, str]:
        return {}

    def set_globals(self, _name: str, fields: dict[str, str | None]) -> None:
        self.rows += [None if text is None else json.loads(text) for text in fields.values()]


def until(condition: Callable[[], Any]) -> Any:
    """Its first true value."""
    until_s = time.monotonic() + WAIT_S_MAX
    while not (found := condition()):
        assert time.monotonic() < until_s
        time.sleep(0.005)
    return found


def nothing() -> None:
    return


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BEAT_S", 0.02)


@contextmanager
def server_of(
    store: Any, report: Callable[[], ProcessReport] = ProcessReport, guard: Callable[[], str | None] = nothing
) -> Iterator[HealthServer]:
    server = HealthServer(WORKER, store, report, guard, host="127.0.0.1", port=0)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def health(server: HealthServer) -> tuple[int, list[str]]:
    try:
        with urllib.request.urlopen(f"{server.address}/healthz", timeout=5) as answer:
            return answer.status, json.load(answer)["problems"]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["problems"]


def metrics(server: HealthServer, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"{server.address}{path}", timeout=5) as answer:
        text: str = answer.read().decode()
    return text


def test_a_beat_continues_after_a_report_that_raised(caplog: pytest.LogCaptureFixture) -> None:
    """For example, an error while reading data that another thread changes. Without its heartbeat, a process
    would disappear from view; without its guard, it would never stop."""
    store = Notes()
    broken = threading.Event()
    broken.set()

    def report() -> ProcessReport:
        if broken.is_set():
            raise KeyError("partition")
        return ProcessReport((3,))

    with server_of(store, report) as server:
        until(lambda: len(store.rows) > 3)
        assert (store.rows[-1] or {})["problems"] == ["report: KeyError('partition')"]
        assert health(server) == (503, ["report: KeyError('partition')"])
        assert "lightwave_worker_restarts_total" in metrics(server)
        broken.clear()
        until(lambda: (store.rows[-1] or {})["partitions"] == [3])
        assert health(server) == (200, [])
    assert [record.getMessage() for record in caplog.records] == ["report: KeyError('partition')"]


def test_a_guard_that_raised_is_a_problem_and_is_requested_again(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    def guard() -> None:
        asked.append(len(asked))
        if len(asked) < 5:
            raise ValueError("no number")

    store = Notes()
    with server_of(store, guard=guard) as server:
        until(lambda: len(asked) > 5)
        until(lambda: health(server) == (200, []))
    assert "guard: ValueError('no number')" in [p for row in store.rows if row for p in row["problems"]]
    assert len(caplog.records) == 1


def test_a_guard_that_waits_does_not_hold_up_the_beat() -> None:
    """A hanging Kafka must not make its processes look dead."""
    waits = threading.Event()
    store = Notes()

    def guard() -> None:
        waits.wait(WAIT_S_MAX)

    with server_of(store, guard=guard) as server:
        until(lambda: len(store.rows) > 5)
        assert health(server) == (200, [])
        waits.set()


def test_a_store_that_is_away_is_a_problem_until_it_is_back() -> None:
    store = Notes()
    store.away = True
    with server_of(store) as server:
        until(lambda: health(server) == (503, ["Redis at x does not answer"]))
        store.away = False
        until(lambda: health(server) == (200, []))
    assert [row["problems"] for row in store.rows if row] == [[]] * (len(store.rows) - 1)
    assert store.rows[-1] is None  # it signed off


def test_a_process_that_stops_does_not_wait_for_an_unreachable_store() -> None:
    class Slow(Notes):
        def wall_us(self) -> int:
            raise StoreUnreachable("Redis at x does not answer")

        def set_globals(self, _name: str, fields: dict[str, str | None]) -> None:
            self.rows.append({"left": "late"})

    store = Slow()
    with server_of(store) as server:
        until(lambda: health(server)[1])
    assert store.rows == []


@pytest.fixture
def silent_url() -> Iterator[str]:
    """Of a server that takes connections and never answers, like a Redis that was paused."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def test_a_hanging_redis_delays_neither_health_nor_metrics(
    silent_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_client, "ANSWER_S_MAX", HANG_S)
    with server_of(RedisStore(silent_url)) as server:
        assert "lightwave_process_cpu_seconds_total" in metrics(server)
        assert health(server) == (200, [])  # the store's own time to answer is not over
        code, (problem,) = until(lambda: found if (found := health(server))[1] else None)
        assert (code, "does not answer" in problem) == (503, True)
        began_s = time.monotonic()
    assert time.monotonic() - began_s < HANG_S


def test_metrics_take_a_query_and_a_client_that_goes_away(capfd: pytest.CaptureFixture[str]) -> None:
    samples = tuple(MetricSample(f"s{n}_total", n, "any", (("partition", "1"),)) for n in range(2_000))
    with server_of(Notes(), lambda: ProcessReport(samples=samples)) as server:
        assert 'lightwave_worker_s7_total{partition="1",service="ocs"} 7.0' in metrics(server, "/metrics?a=b")
        port = int(server.address.rpartition(":")[2])
        before = threading.active_count()
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert health(server) == (200, [])
        until(lambda: threading.active_count() <= before)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(("expected", "count"), [("3", 3), ("", 0), ("many", 0), (None, 0)])
def test_restarts_are_those_shown_by_the_supervisor(
    expected: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if expected is None:
        monkeypatch.delenv(RESTARTS, raising=False)
    else:
        monkeypatch.setenv(RESTARTS, expected)
    assert restarts() == count
    store = Notes()
    with server_of(store) as server:
        until(lambda: store.rows)
        assert f'lightwave_worker_restarts_total{{service="ocs"}} {count}.0' in metrics(server)
    assert (store.rows[0] or {})["restarts"] == count


GUARDED = """
import sys, threading, time
from ops.cli.common.log_format import configure_logging
from shared.runtimes.child_process import RESTARTS
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.process import health as process
from tests.unit.runtimes.live.test_process import Notes, WORKER
configure_logging(as_json=True, replica="ocs-a")
process.BEAT_S = 20.0 if sys.argv[1] == "stops" else 0.02
guard = lambda: "partition 3: it went back"
beat = process.ProcessHeartbeat(WORKER, Notes(), process.ProcessReport, guard, address=None)
beat.start()
if sys.argv[1] == "stops":
    beat.stop()
    sys.exit(0)
lock = threading.Lock()
lock.acquire()
lock.acquire()  # the work is stuck
"""


def guarded(word: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", GUARDED, word]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ)


def test_the_guard_ends_a_process_whose_work_is_stuck() -> None:
    done = guarded("is stuck")
    assert done.returncode == EXIT_RESTART
    (line,) = done.stderr.splitlines()
    answer = json.loads(line)
    assert (answer["text"], answer["level"]) == ("partition 3: it went back", "error")
    assert (answer["replica"], answer["service"]) == ("ocs-a", "ocs")


def test_a_process_that_is_reported_to_end_is_not_ended_by_its_guard() -> None:
    done = guarded("stops")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_beat_that_stopped_does_not_come_back() -> None:
    store = Notes()
    beat = ProcessHeartbeat(WORKER, store, ProcessReport, nothing, address=None)  # type: ignore[arg-type]  # enough of a store
    beat.start()
    until(lambda: store.rows)
    beat.stop()
    left = len(store.rows)
    time.sleep(0.2)
    assert len(store.rows) == left
    assert store.rows[-1] is None


def test_a_frame_that_kafka_does_not_take_shows_where_it_was_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Deaf:
        def __init__(self, **_: Any) -> None:
            self.get = self.send

        def send(self, *_: Any, **__: Any) -> Any:
            raise KafkaTimeoutError("no answer")

    def away(**_: Any) -> None:
        raise KafkaConnectionError("nobody listens")

    endpoints = Endpoints(Brokers("kafka.example:9092"), "redis://unused", Topics("t"))
    store = RedisStore(endpoints.redis)
    sentence = r"Kafka at kafka\.example:9092: .*; check that it runs there and accepts requests"
    monkeypatch.setattr(worker_process, "KafkaProducer", Deaf)
    checks: list[str] = []
    publish = worker_process._publisher(endpoints, store, lambda: checks.append("version"))
    with pytest.raises(LogUnreachable, match=sentence):
        publish("pod-0", 7, b"frame")
    assert checks == ["version"], "an older version publishes nothing"
    monkeypatch.setattr(worker_process, "KafkaProducer", away)
    with pytest.raises(LogUnreachable, match=sentence):
        worker_process._publisher(endpoints, store, nothing)


def test_an_operation_that_a_hanging_kafka_does_not_take_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The producer cannot be closed in time either."""

    class Hanging:
        def __init__(self, **_: Any) -> None:
            self.get = self.close = self.send

        def send(self, *_: Any, **named: Any) -> Any:
            if "value" in named:
                return self
            raise KafkaTimeoutError("Timeout waiting for future")

    monkeypatch.setattr(operations_topic, "KafkaProducer", Hanging)
    operations = KafkaOperations(Endpoints(Brokers("kafka.example:9092"), "redis://unused", Topics("t")))
    started = new_operation(VersionStarted(process="ocs-a", software="1"), local_person())
    with pytest.raises(LogUnreachable, match=r"^Kafka at kafka\.example:9092: .*accepts requests$"):
        operations.append(started)
