"""The operations log of a live twin: a topic of one partition, beside the log."""

import threading

from kafka import KafkaProducer
from kafka.errors import KafkaError

from schemas.files.operations_log import Operation, decode_operation, encode_operation
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.partition_reader import read_partition

APPEND_S_MAX = 10


class KafkaOperations:
    """An `OperationsLog` on Kafka. Safe to use from several threads. The number of an operation is its
    offset. What was read once is kept, so that only what is new is read again."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._brokers = endpoints.kafka
        self._topic = endpoints.topics.operations
        self._lock = threading.Lock()
        self._known: list[tuple[int, Operation]] = []
        self._ids: set[str] = set()
        self._end = 0

    def append(self, found: Operation) -> None:
        # Rare, so that no connection is kept for it.
        try:
            producer = KafkaProducer(**self._brokers.arguments(), acks="all", bootstrap_timeout_ms=4_000)
        except (KafkaError, OSError) as error:
            raise kafka_unreachable(self._brokers, error) from None
        try:
            producer.send(self._topic, value=encode_operation(found), partition=0).get(timeout=APPEND_S_MAX)
        except KafkaError as error:
            raise kafka_unreachable(self._brokers, error) from None
        finally:
            producer.close(timeout=1)

    def read(self, start: int = 0, most: int | None = None) -> list[tuple[int, Operation]]:
        with self._lock:
            self._read_new()
            return [row for row in self._known if row[0] >= start][:most]

    def end(self) -> int:
        with self._lock:
            self._read_new()
            return self._end

    def _read_new(self) -> None:
        for batch in read_partition(self._brokers, self._topic, 0, self._end):
            for record in batch:
                found = decode_operation(record.value)
                if found is not None and found.id not in self._ids:
                    self._ids.add(found.id)
                    self._known.append((record.offset, found))
            self._end = batch[-1].offset + 1
