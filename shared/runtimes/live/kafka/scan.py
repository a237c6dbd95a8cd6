"""Reading a partition of the log from a place to its present end, in batches, beside all that runs."""

from collections.abc import Iterator

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.records import Record, record_of
from shared.runtimes.live.kafka.unreachable import unreachable

BATCH = 1_000
POLL_MS = 500
IDLE_POLLS_MAX = 40
"""Polls without a record before the end: Kafka does not answer."""


def read_partition(bootstrap: str, topic: str, partition: int, start: int = 0) -> Iterator[list[Record]]:
    """Batches of records from `start` to the end as it is now; OperationFailed if Kafka does not answer, or
    the log no longer begins at `start`."""
    place = TopicPartition(topic, partition)
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_poll_records=BATCH,
            bootstrap_timeout_ms=4_000,
        )
    except KafkaError as error:
        raise unreachable(bootstrap, error) from None
    try:
        consumer.assign([place])
        end = consumer.end_offsets([place])[place]
        consumer.seek(place, start)
        yield from _batches(consumer, place, start, end)
    except KafkaError as error:
        raise unreachable(bootstrap, error) from None
    finally:
        consumer.close(timeout_ms=1_000)


def _batches(consumer: KafkaConsumer, place: TopicPartition, start: int, end: int) -> Iterator[list[Record]]:
    idle = 0
    while start < end:
        rows = consumer.poll(timeout_ms=POLL_MS).get(place, [])
        idle = 0 if rows else idle + 1
        if idle > IDLE_POLLS_MAX:
            raise OperationFailed(f"{place.topic} {place.partition}: no record at {start}, its end is {end}")
        batch = [
            record_of(place.partition, row.offset, row.value, row.headers) for row in rows if row.offset < end
        ]
        if batch and batch[0].offset != start:
            raise OperationFailed(
                f"{place.topic} {place.partition}: begins at {batch[0].offset} where {start} was wanted; "
                "messages were removed from the log"
            )
        if batch:
            start = batch[-1].offset + 1
            yield batch
