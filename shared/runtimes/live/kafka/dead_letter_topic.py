"""The dead letters of a live twin: a topic of one partition, to which sequencers append."""

import threading

from shared.runtimes.dead_letter import DeadLetter, NewestDeadLetters
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.partition_reader import read_partition


class KafkaDeadLetters:
    """Reads the topic incrementally. Thread-safe."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._brokers = endpoints.kafka
        self._topic = endpoints.topics.dead_letters
        self._lock = threading.Lock()
        self._letters = NewestDeadLetters()
        self._end = 0

    def read(self) -> list[DeadLetter]:
        """The newest letters, oldest first; OperationFailed if Kafka does not answer."""
        with self._lock:
            for batch in read_partition(self._brokers, self._topic, 0, self._end):
                for record in batch:
                    self._letters.put(record.value)
                self._end = batch[-1].offset + 1
            return self._letters.all()
