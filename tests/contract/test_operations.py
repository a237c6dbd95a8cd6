"""The operations log: one contract for memory, a file, and a topic of a real Kafka."""

import uuid
from pathlib import Path

import pytest
from kafka import KafkaProducer

from ops.servers.local_servers import LocalKafka
from schemas.files.operations_log import ClockChanged, SkipOrdered
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.kafka.topic_admin import create_topics
from shared.runtimes.operations_log import OperationsLog, last_clock, new_operation
from tests.support.memory_operations import MemoryOperations

SKIP = SkipOrdered(fabric="pod-0", service="ocs", message="operator@pod-0/7")


def changed(speed: float, wall_us: int) -> ClockChanged:
    return ClockChanged(speed=speed, paused=False, anchor_us=wall_us)


class OperationsContract:
    """The behaviour of every operations log. An implementation plugs in with the fixture `operations`, which
    is empty."""

    def test_entries_are_kept_in_order(self, operations: OperationsLog) -> None:
        assert operations.read() == []
        assert operations.end() == 0
        entries = [new_operation(SKIP, "mia", 5), new_operation(changed(2.0, 6), "tom", 6)]
        for entry in entries:
            operations.append(entry)
        assert operations.read() == list(enumerate(entries))
        assert operations.read(1) == [(1, entries[1])]
        assert operations.read(0, 1) == [(0, entries[0])]
        assert operations.read(2) == []
        assert operations.end() == 2

    def test_an_entry_that_was_appended_twice_is_stored_once(self, operations: OperationsLog) -> None:
        entry = new_operation(SKIP, "mia")
        operations.append(entry)
        operations.append(entry)
        operations.append(new_operation(SKIP, "mia"))
        assert operations.read()[0] == (0, entry)
        assert len(operations.read()) == 2

    def test_the_last_clock_is_the_last_by_wall_time(self, operations: OperationsLog) -> None:
        assert last_clock(operations) is None
        for speed, wall_us in ((2.0, 10), (4.0, 30), (3.0, 20)):
            operations.append(new_operation(changed(speed, wall_us), "mia", wall_us))
        assert last_clock(operations) == changed(4.0, 30)


class TestMemoryOperations(OperationsContract):
    @pytest.fixture
    def operations(self) -> OperationsLog:
        return MemoryOperations()


class TestFileOperations(OperationsContract):
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "operations.jsonl"

    @pytest.fixture
    def operations(self, path: Path) -> OperationsLog:
        return OperationsFile(path)

    def test_a_torn_line_does_not_lose_others(self, operations: OperationsLog, path: Path) -> None:
        operations.append(new_operation(SKIP, "mia"))
        with path.open("ab") as file:
            file.write(b'{"id": "torn')
        last = new_operation(SKIP, "tom")
        OperationsFile(path).append(last)
        assert [entry.who for _, entry in operations.read()] == ["mia", "tom"]
        assert operations.read(1) == [(2, last)]


class TestKafkaOperations(OperationsContract):
    @pytest.fixture
    def endpoints(self, kafka: LocalKafka) -> Endpoints:
        endpoints = Endpoints(kafka.brokers, "", Topics(f"t{uuid.uuid4().hex[:8]}"))
        create_topics(endpoints.kafka, endpoints.topics, 1, 1)
        return endpoints

    @pytest.fixture
    def operations(self, endpoints: Endpoints) -> OperationsLog:
        return KafkaOperations(endpoints)

    def test_foreign_entries_are_skipped(self, operations: OperationsLog, endpoints: Endpoints) -> None:
        producer = KafkaProducer(**endpoints.kafka.arguments())
        for value in (b"{", b'{"type": "SkipOrdered"}', b""):
            producer.send(endpoints.topics.operations, value=value, partition=0).get(timeout=20)
        producer.close()
        entry = new_operation(SKIP, "mia")
        KafkaOperations(endpoints).append(entry)
        assert operations.read() == [(3, entry)]
