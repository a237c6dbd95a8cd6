"""The operations log of a live twin: a topic of one partition."""

import contextlib
import threading

from kafka import KafkaProducer
from kafka.errors import KafkaError

from schemas.files.operations_log import Operation, decode_operation, encode_operation
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.partition_reader import read_partition

APPEND_S_MAX = 10
DELIVERY_MS_MAX = 9_000
"""A record that is not delivered by then is given up, so that the producer can be closed."""
REQUEST_MS_MAX = 5_000


class KafkaOperations:
    """An `OperationsLog` on Kafka. Thread-safe. The number of an operation is its offset. Operations are
    cached, so that only new ones are read."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._brokers = endpoints.kafka
        self._topic = endpoints.topics.operations
        self._lock = threading.Lock()
        self._known: list[tuple[int, Operation]] = []
        self._ids: set[str] = set()
        self._end = 0

    def append(self, operation: Operation) -> None:
        # Appends are rare, so no connection stays open.
        try:
            producer = KafkaProducer(
                **self._brokers.arguments(),
                acks="all",
                bootstrap_timeout_ms=4_000,
                request_timeout_ms=REQUEST_MS_MAX,
                delivery_timeout_ms=DELIVERY_MS_MAX,
            )
        except (KafkaError, OSError) as error:
            raise kafka_unreachable(self._brokers, error) from None
        try:
            producer.send(self._topic, value=encode_operation(operation), partition=0).get(
                timeout=APPEND_S_MAX
            )
        except KafkaError as error:
            raise kafka_unreachable(self._brokers, error) from None
        finally:
            with contextlib.suppress(KafkaError):  # while Kafka hangs, or the sentence above would be lost
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
                operation = decode_operation(record.value)
                if operation is not None and operation.id not in self._ids:
                    self._ids.add(operation.id)
                    self._known.append((record.offset, operation))
            self._end = batch[-1].offset + 1
