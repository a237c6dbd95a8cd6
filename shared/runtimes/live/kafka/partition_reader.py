"""Reads a partition of the log from an offset to its present end, in batches."""

from collections.abc import Iterator

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.clients import make_client
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable, log_start_removed
from shared.runtimes.live.kafka.non_utf8_headers import accept_non_utf8_headers
from shared.runtimes.live.kafka.records import Record, fill_gaps, record_of
from shared.runtimes.live.kafka.topic_admin import check_retention

BATCH = 1_000
POLL_MS = 500
IDLE_POLLS_MAX = 40
"""Polls without progress before the end, after which Kafka counts as unreachable."""


def read_partition(
    brokers: Brokers, topic: str, partition: int, start: int = 0, end: int | None = None
) -> Iterator[list[Record]]:
    """Batches of records from `start` to `end`, or to the present end. There is one record per offset: a gap
    record if Kafka has none. OperationFailed if Kafka does not answer, has removed `start`, or may remove
    messages between others."""
    place = TopicPartition(topic, partition)
    accept_non_utf8_headers()
    try:
        consumer = make_client(
            KafkaConsumer,
            brokers,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_poll_records=BATCH,
            bootstrap_timeout_ms=4_000,
        )
    except (KafkaError, OSError) as error:
        raise kafka_unreachable(brokers, error) from None
    try:
        consumer.assign([place])
        begin = consumer.beginning_offsets([place])[place]
        if start < begin:
            raise OperationFailed(log_start_removed(topic, partition, begin))
        until = consumer.end_offsets([place])[place]
        consumer.seek(place, start)
        for batch, is_whole in _batches(consumer, place, start, until if end is None else min(end, until)):
            if not is_whole:
                check_retention(brokers, topic)
            yield batch
    except KafkaError as error:
        raise kafka_unreachable(brokers, error) from None
    finally:
        consumer.close(timeout_ms=1_000)


def _batches(
    consumer: KafkaConsumer, place: TopicPartition, start: int, end: int
) -> Iterator[tuple[list[Record], bool]]:
    """Batches without gaps, and whether Kafka had a record for every offset."""
    idle = 0
    while start < end:
        rows = consumer.poll(timeout_ms=POLL_MS).get(place, [])
        reached = min(consumer.position(place), end)
        idle = 0 if reached > start else idle + 1
        if idle > IDLE_POLLS_MAX:
            raise OperationFailed(
                f"topic {place.topic}: partition {place.partition} returns no record at {start}, but its end "
                f"is {end}"
            )
        records = [record_of(place.partition, row.offset, row.value, row.headers) for row in rows]
        if reached > start:
            is_whole = sum(record.offset < end for record in records) == reached - start
            yield list(fill_gaps(place.partition, start, records, reached)), is_whole
        start = reached
