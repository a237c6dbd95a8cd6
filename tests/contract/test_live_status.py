"""Status of a live twin as commands show it, over a real Redis with hand-made content."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import cast

import pytest
import redis

from ops.live.settings import LiveSettings
from ops.live.skip import skip_message
from ops.live.status import live_status, status_table
from schemas.files.operations_log import SkipOrdered, VersionStarted
from schemas.messages.operator import DrainCube
from services.fabric_kinds import services_of
from shared.basics.errors import NotFound, OperationFailed, StoreUnreachable
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.message_order import ServiceProgress
from shared.runtimes.live import live_status as status
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.live_clock import (
    log_pending_operations,
)
from shared.runtimes.live.live_status import DelayMonitor
from shared.runtimes.live.process.health import HealthServer, MetricSample, ProcessReport
from shared.runtimes.live.process.process_registry import (
    ProcessExtra,
    ProcessInfo,
    ProcessRow,
    achieved_speed,
    processes,
)
from shared.runtimes.live.process.startup import record_version
from shared.runtimes.live.server_checks import ServerChecks, redis_problems
from shared.runtimes.live.twin_record import read_twin
from shared.runtimes.operations_log import local_person
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit
from tests.support.live_epoch import write_epoch
from tests.support.memory_operations import MemoryOperations
from tests.support.toy_twin_store import toy_twin_store


@pytest.fixture
def store(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisStore]:
    store = toy_twin_store(redis_url, monkeypatch)
    yield store
    store.close()


@pytest.mark.parametrize(
    "note",
    [
        {"id": "/abs/path"},
        {"id": "../../x"},
        {"id": "A" * 32},
        {"partitions": "many"},
        {"partitions": "-1"},
    ],
)
def test_a_twin_that_init_did_not_name_is_refused(store: RedisStore, note: dict[str, str]) -> None:
    """The twin's name becomes the name of a folder that may be removed."""
    store.set_globals("twin", note)
    (wrong,) = note.values()
    with pytest.raises(OperationFailed, match=f"{re.escape(repr(wrong))}.*; must be 32 digits of 0-9a-f"):
        read_twin(store)


@pytest.fixture
def settings(redis_url: str, store: RedisStore) -> LiveSettings:
    return LiveSettings(redis=redis_url)


def beat(store: RedisStore, about: ProcessInfo, partitions: list[int], **extra: object) -> None:
    more = cast("ProcessExtra", extra)  # any part of it
    ProcessRow(about, store).write(partitions=partitions, problems=[], address="http://x", extra=more)


def probe(server: HealthServer, path: str) -> tuple[int, list[str]]:
    try:
        with urllib.request.urlopen(f"{server.address}{path}") as answer:
            return answer.status, json.load(answer)["problems"]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["problems"]


class TestStatus:
    def test_a_service_without_a_worker_is_named(self, store: RedisStore, settings: LiveSettings) -> None:
        beat(store, ProcessInfo("ocs-a", "worker", "ocs"), [0, 1])
        beat(store, ProcessInfo("seq", "sequencer"), [1], achieved_speed=12.5)
        report = live_status(settings)
        (place,) = report["partitions"]
        assert (place["fabrics"], place["sites"], place["end"]) == (["pod-1"], ["pod-1"], 7)
        assert [(s["service"], s["position"], s["lag"], s["holder"]) for s in place["services"]] == [
            ("cubes", 7, 0, None),
            ("ocs", 5, 2, "ocs-a"),
        ]
        assert report["problems"] == ["no worker of cubes serves pod-1: its time stands still"]
        table = status_table(report)
        assert re.search(r"cubes +7 +0 +none", table)
        assert "ocs-a" in table
        assert achieved_speed(store) == 12.5

    def test_a_twin_without_processes_is_reported(self, settings: LiveSettings) -> None:
        report = live_status(settings)
        assert report["processes"] == []
        assert report["problems"][0] == "no sequencer runs: simulated time stands still"

    def test_a_stopped_service_is_shown_and_can_continue(
        self, store: RedisStore, settings: LiveSettings
    ) -> None:
        note = {"offset": 5, "fabric": "pod-1", "message_id": "operator@pod-1/9", "sentence": "ocs raised"}
        store.commit(Commit(1, {}, {}, fields={"stopped:ocs": json.dumps(note)}))
        operations = MemoryOperations()
        sentence = "ocs raised; `lightwave live skip pod-1` skips the message; until then the time of pod-1"
        assert f"{sentence} stands still" in live_status(settings)["problems"]
        assert (
            skip_message(settings, "pod-1", operations)
            == "ocs of pod-1 skips operator@pod-1/9; it raised: ocs raised"
        )
        assert store.values(1)["skip:ocs"] == "operator@pod-1/9"
        ((_, operation),) = operations.read()
        order = SkipOrdered(fabric="pod-1", service="ocs", message="operator@pod-1/9")
        assert (operation.body, operation.who) == (order, local_person())

    def test_there_is_nothing_to_skip(self, settings: LiveSettings) -> None:
        operations = MemoryOperations()
        with pytest.raises(NotFound, match="no service has stopped"):
            skip_message(settings, "pod-1", operations)
        with pytest.raises(NotFound, match="fabric 'pod-7': no such fabric; must be one of pod-1"):
            skip_message(settings, "pod-7", operations)

    def test_a_problem_of_a_process_is_shown_once(self, store: RedisStore, settings: LiveSettings) -> None:
        note = {"offset": 5, "fabric": "pod-1", "message_id": "operator@pod-1/9", "sentence": "ocs raised"}
        store.commit(Commit(1, {}, {}, fields={"stopped:ocs": json.dumps(note)}))
        for name, kind, problem in (
            ("ocs-a", "worker", "ocs raised"),
            ("gateway", "gateway", "Kafka at x: away"),
            ("seq", "sequencer", "Kafka at x: full"),
        ):
            about = ProcessInfo(name, kind, "ocs" if kind == "worker" else None)
            ProcessRow(about, store).write(partitions=[1], problems=[problem], address=None, extra={})
        problems = live_status(settings)["problems"]
        assert problems[0] == "Kafka at x: full"
        assert problems[-1] == "gateway: Kafka at x: away"
        assert sum("ocs raised" in problem for problem in problems) == 1
        assert "! gateway: Kafka at x: away" in status_table(live_status(settings))

    def test_an_unreachable_redis_is_an_error_in_one_sentence(self) -> None:
        url = "redis://127.0.0.1:9/0"
        with pytest.raises(StoreUnreachable, match=f"^Redis at {url} does not answer: .*check that it runs"):
            live_status(LiveSettings(redis=url))

    def test_an_empty_redis_is_an_error_in_one_sentence(self, redis_url: str) -> None:
        with pytest.raises(OperationFailed, match="has no live twin; `lightwave live init` creates one"):
            live_status(LiveSettings(redis=redis_url))

    def test_a_lag_beyond_the_limit_is_reported(self, store: RedisStore, settings: LiveSettings) -> None:
        write_epoch(store, Epoch(0, store.wall_us() - 20 * US_PER_S, 60.0, paused=False))
        report = live_status(settings)
        assert 19 < report["partitions"][0]["lag_s"] < 25, "cubes is due at 5 s, a twelfth of a wall second"
        assert not [problem for problem in report["problems"] if "behind" in problem]
        write_epoch(store, Epoch(0, store.wall_us() - 100 * US_PER_S, 60.0, paused=False))
        (late,) = [problem for problem in live_status(settings)["problems"] if "behind" in problem]
        assert re.match(
            r"the time of pod-1 is \d+ s of wall time behind the clock at × 60 \(must be at most 30 s\)", late
        )
        assert "behind the clock" in DelayMonitor(store, services_of).problems()[0]
        write_epoch(store, Epoch(9_000_000, store.wall_us(), 60.0, paused=True))
        assert DelayMonitor(store, services_of).problems() == []

    def test_stalled_time_is_reported_even_if_its_clock_is_anchored_again(self, store: RedisStore) -> None:
        now_s = [100.0]
        delays = DelayMonitor(store, services_of, lambda: now_s[0])
        for still_s in (0.0, 20.0, 29.0):
            now_s[0] = 100.0 + still_s
            write_epoch(store, Epoch(5_000_000, store.wall_us() - US_PER_S, 60.0, paused=False))
            assert delays.problems() == []
        now_s[0] = 131.0
        assert delays.problems() == [
            (
                "the time of pod-1 has stood still for 31 s of wall time, but the clock is not paused "
                "(must be at most 30 s)"
            )
        ]
        further = ServiceProgress("cubes", "pod-1", 6_000_000, 3, 5_000_000)
        assert store.commit(Commit(1, {"cubes": 7}, {"cubes": 8}, progress=(further,)))
        assert delays.problems() == [], "it has advanced"
        now_s[0] = 170.0
        write_epoch(store, Epoch(5_000_000, store.wall_us(), 60.0, paused=True))
        assert delays.problems() == []

    def test_requests_that_wait_long_are_reported(
        self, store: RedisStore, settings: LiveSettings, redis_url: str
    ) -> None:
        store.put(1, "pod-1", DrainCube(cube="pod-1/cube-0"))
        (place,) = live_status(settings)["partitions"]
        assert (place["waiting"], place["oldest_s"] < 30) == (1, True)
        assert DelayMonitor(store, services_of).problems() == []
        with redis.Redis.from_url(redis_url) as client:
            client.delete("lightwave:{1}:inbox")
            received = store.wall_us() - 61 * US_PER_S
            client.xadd("lightwave:{1}:inbox", {"type": "NoSuchBody"}, f"{received}-0")
        (late,) = DelayMonitor(store, services_of).problems()
        assert late.startswith(
            "1 requests of pod-1 wait, the oldest for 61 s (must be at most 1000 and 60 s)"
        )
        assert late in live_status(settings)["problems"]

    def test_many_requests_that_wait_are_reported(
        self, store: RedisStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(status, "WAITING_MAX", 1)
        for _ in range(2):
            store.put(1, "pod-1", DrainCube(cube="pod-1/cube-0"))
        assert "2 requests of pod-1 wait" in DelayMonitor(store, services_of).problems()[0]

    def test_a_stopped_process_disappears_and_a_dead_one_is_shown_as_gone(self, store: RedisStore) -> None:
        beat(store, ProcessInfo("a", "gateway"), [])
        ProcessRow(ProcessInfo("a", "gateway"), store).leave()
        assert processes(store) == []
        beat(store, ProcessInfo("b", "gateway"), [])
        row = json.loads(store.read_globals("processes")["b"])
        row["beat_us"] -= 60 * US_PER_S
        store.set_globals("processes", {"b": json.dumps(row)})
        assert [(r["name"], r["alive"]) for r in processes(store)] == [("b", False)]
        row["beat_us"] -= 2 * US_PER_HOUR
        store.set_globals("processes", {"b": json.dumps(row)})
        assert processes(store) == []
        assert store.read_globals("processes") == {}

    def test_the_record_of_a_twin_is_read_back_unchanged(self, store: RedisStore) -> None:
        twin = read_twin(store)
        assert (twin.twin, twin.partitions, twin.topic_id) == ("a" * 32, 4, "topic")


class TestRedisSettings:
    @pytest.fixture
    def client(self, redis_url: str) -> Iterator["redis.Redis"]:
        with redis.Redis.from_url(redis_url) as client:
            before = client.config_get("appendonly", "maxmemory", "maxmemory-policy")
            yield client
            for name, value in before.items():
                client.config_set(name, value)

    def test_settings_that_can_lose_a_twin_are_reported_as_problems(
        self, store: RedisStore, settings: LiveSettings, client: "redis.Redis"
    ) -> None:
        assert redis_problems(store) == []
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", "500mb")
        (evicts,) = redis_problems(store)
        assert "may evict keys (maxmemory-policy allkeys-lru)" in evicts
        client.config_set("appendonly", "no")
        (no_file, _) = redis_problems(store)
        assert "has no append-only file" in no_file
        assert live_status(settings)["problems"][:2] == [no_file, evicts]

    def test_a_missing_redis_password_is_reported(
        self, settings: LiveSettings, client: "redis.Redis"
    ) -> None:
        client.config_set("requirepass", "pw")
        try:
            with pytest.raises(
                OperationFailed, match="requires a password, and its URL has none; use redis://"
            ):
                live_status(settings)
        finally:
            client.config_set("requirepass", "")

    def test_a_redis_that_hides_its_settings_is_not_a_problem(
        self, store: RedisStore, client: "redis.Redis", redis_url: str
    ) -> None:
        client.acl_setuser(
            "shy",
            enabled=True,
            passwords=["+pw"],
            keys=["*"],
            channels=["*"],
            categories=["+@all"],
            commands=["-info", "-config"],
        )
        shy = RedisStore(redis_url.replace("://", "://shy:pw@"))
        try:
            (server,) = shy.servers()
            assert (server.appends, server.bytes_max, server.policy) == (None, 0, None)
            assert redis_problems(shy) == []
        finally:
            shy.close()
            client.acl_deluser("shy")

    def test_an_emptied_redis_is_a_problem(self, store: RedisStore) -> None:
        def problems() -> tuple[str, ...]:
            checks.check()
            return checks.problems

        checks = ServerChecks(store, Endpoints(Brokers("127.0.0.1:9"), store.url, Topics()), read_twin(store))
        assert problems() == ()
        store.flush()
        (sentence,) = problems()
        assert "no longer has a twin" in sentence
        assert "`lightwave live rebuild`" in sentence


def test_a_change_of_version_is_recorded(store: RedisStore) -> None:
    operations = MemoryOperations()
    for process, software in (("ocs-a", "1"), ("ocs-a", "1"), ("ocs-b", "1"), ("ocs-a", "2"), ("ocs-a", "1")):
        record_version(store, process, software)
        log_pending_operations(store, operations)
    recorded = [row.body for _, row in operations.read()]
    server = [("ocs-a", "1"), ("ocs-b", "1"), ("ocs-a", "2"), ("ocs-a", "1")]
    assert recorded == [VersionStarted(process=process, software=software) for process, software in server]


class TestHealthServer:
    @pytest.fixture
    def server(self, store: RedisStore) -> Iterator[HealthServer]:
        self.problems: tuple[str, ...] = ()
        self.dependency_problems: tuple[str, ...] = ()
        samples = (
            MetricSample("commits_total", 7, "transactions"),
            MetricSample("position", 5, "offset", (("partition", "1"),)),
        )
        server = HealthServer(
            ProcessInfo("ocs-a", "worker", "ocs"),
            store,
            lambda: ProcessReport((1,), self.problems, samples, {"achieved_speed": 2}),
            lambda: None,
            host="127.0.0.1",
            port=0,
            dependency_problems=lambda: self.dependency_problems,
        )
        server.start()
        yield server
        server.stop()

    def test_metrics_are_prometheus_text(self, server: HealthServer) -> None:
        with urllib.request.urlopen(f"{server.address}/metrics") as answer:
            text = answer.read().decode()
        assert 'lightwave_worker_commits_total{service="ocs"} 7.0' in text
        assert 'lightwave_worker_position{partition="1",service="ocs"} 5.0' in text
        assert 'lightwave_worker_restarts_total{service="ocs"}' in text
        assert "lightwave_process_resident_memory_bytes" in text

    def test_health_follows_the_problems(self, server: HealthServer) -> None:
        with urllib.request.urlopen(f"{server.address}/healthz") as answer:
            assert json.load(answer) == {"healthy": True, "problems": []}
        self.dependency_problems = ("Redis evicts",)
        assert probe(server, "/livez") == probe(server, "/readyz") == (200, [])
        assert probe(server, "/healthz") == (503, ["Redis evicts"])
        self.dependency_problems = ()
        self.problems = ("time stands still",)
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(f"{server.address}/healthz")
        assert raised.value.code == 503
        assert json.load(raised.value)["problems"] == ["time stands still"]
        self.dependency_problems = ("Redis evicts", "time stands still")
        assert probe(server, "/livez") == (200, [])
        assert probe(server, "/readyz") == (503, ["time stands still"])
        assert probe(server, "/healthz") == (503, ["time stands still", "Redis evicts"])

    def test_any_other_path_is_not_found(self, server: HealthServer) -> None:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{server.address}/other")

    def test_a_process_registers_in_redis_and_removes_itself(
        self, server: HealthServer, store: RedisStore
    ) -> None:
        for _ in range(100):
            if rows := processes(store):
                break
        assert [(r["name"], r["service"], r["partitions"], r["alive"]) for r in rows] == [
            ("ocs-a", "ocs", [1], True)
        ]

    def test_a_port_in_use_is_an_error_in_one_sentence(self, server: HealthServer, store: RedisStore) -> None:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(OperationFailed, match=rf"--metrics-port {port} on 127.0.0.1: Address already"):
            HealthServer(
                ProcessInfo("x", "worker"), store, ProcessReport, lambda: None, host="127.0.0.1", port=port
            )
