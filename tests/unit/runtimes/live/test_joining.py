"""How a process finds its twin: a waiting process continues when everything is there; another one reports
what is missing."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.basics.errors import OperationFailed, StoreUnreachable, UpgradeNeeded
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.process import startup
from shared.runtimes.live.process.startup import VERSIONS, join_twin
from shared.runtimes.live.twin_record import NoTwin, TwinRecord, write_twin
from shared.runtimes.tcp_ports import free_port
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit

pytestmark = pytest.mark.integration

TWIN = TwinRecord("a" * 32, 4, "topic")
CODE = StateCodeVersion(RULES, {"ocs": "form"}, "1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RedisStore]:
    server = EmbeddedValkey(tmp_path / "redis")
    try:
        server.ensure()
        yield RedisStore(server.url)
    finally:
        server.stop()


class Kafka:
    """The inspected part of a log: missing in the first inspections, then with this log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, away: int = 0, topic: str = "topic") -> None:
        self.away = away
        self._topic = topic
        monkeypatch.setattr(startup, "topic_id", self.topic_id)
        monkeypatch.setattr(startup, "partition_count", lambda *_: TWIN.partitions)
        monkeypatch.setattr(startup, "POLL_S", 0.01)

    def topic_id(self, *_: object) -> str:
        if self.away:
            self.away -= 1
            raise LogUnreachable("Kafka at k: does not answer")
        return self._topic


def join(store: RedisStore, wait_s: float) -> TwinRecord:
    endpoints = Endpoints(Brokers("k"), store.name, Topics("p"))
    return join_twin(store, endpoints, "ocs-a", CODE, wait_s=wait_s)


def test_one_that_waits_joins_as_soon_as_kafka_has_the_log(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    write_twin(store, TWIN.twin, TWIN.partitions, TWIN.topic_id)
    kafka = Kafka(monkeypatch, away=3)
    assert join(store, 60) == TWIN
    assert kafka.away == 0
    assert caplog.messages == ["Kafka at k: does not answer; waiting for up to 60 s"]
    assert store.read_globals(VERSIONS) == {"ocs-a": "1"}


def test_one_that_waits_joins_as_soon_as_there_is_a_twin(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    Kafka(monkeypatch)
    slept: list[float] = []

    def make_it(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            write_twin(store, TWIN.twin, TWIN.partitions, TWIN.topic_id)

    monkeypatch.setattr(time, "sleep", make_it)
    assert join(store, 60) == TWIN
    assert slept == [0.01] * 3


def test_missing_parts_are_reported_at_the_end_of_the_wait(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    Kafka(monkeypatch, away=1_000)
    for wait_s in (0.0, 0.05):
        with pytest.raises(NoTwin, match=r"has no live twin; `lightwave live init`"):
            join(store, wait_s)
    write_twin(store, TWIN.twin, TWIN.partitions, TWIN.topic_id)
    with pytest.raises(LogUnreachable, match=r"^Kafka at k: does not answer$"):
        join(store, 0)


def test_a_redis_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    Kafka(monkeypatch)
    with pytest.raises(StoreUnreachable, match=r"^Redis at .*does not answer"):
        join(RedisStore(f"redis://127.0.0.1:{free_port()}/0"), 0.05)


def test_a_process_does_not_wait_for_the_log_of_another_twin(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    Kafka(monkeypatch, topic="another")
    write_twin(store, TWIN.twin, TWIN.partitions, TWIN.topic_id)
    with pytest.raises(
        OperationFailed, match=r"^topic p\.log: is not the topic with which this twin was created"
    ):
        join(store, 600)


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (StateCodeVersion(RULES + 1, {"ocs": "form"}, "2"), "which are older: start it with that version"),
        (
            StateCodeVersion(RULES, {"ocs": "another"}, "2"),
            "stores those of ocs in another layout: run `lightwave live up",
        ),
    ],
)
def test_a_log_of_another_version_is_refused_for_every_partition(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, held: StateCodeVersion, sentence: str
) -> None:
    Kafka(monkeypatch)
    write_twin(store, TWIN.twin, TWIN.partitions, TWIN.topic_id)
    others = code_version_values(StateCodeVersion(RULES, {"cubes": "x"}, "2"))
    assert store.commit(Commit(2, {}, {"ocs": 1}, fields=others))
    assert join(store, 0) == TWIN
    assert store.commit(Commit(3, {}, {"ocs": 1}, fields=code_version_values(held)))
    with pytest.raises(UpgradeNeeded, match=f"^partition 3: .*{sentence}"):
        join(store, 0)
