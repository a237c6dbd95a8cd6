"""The log as Kafka holds it, read with another client than the twin's own."""

import time
from collections.abc import Iterator

from kafka import KafkaConsumer, TopicPartition

from ops.soak.facts import Line
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.header_names import take_any_names

SILENCE_S = 20.0
"""A log that gives nothing for so long before its end is not read any further."""


def log_ends(brokers: Brokers, topic: str) -> dict[int, int]:
    """Partition → the offset after its last record, also where Kafka gives that one to nobody."""
    consumer = KafkaConsumer(**brokers.arguments(), enable_auto_commit=False)
    try:
        partitions = consumer.partitions_for_topic(topic) or set()
        ends = consumer.end_offsets([TopicPartition(topic, number) for number in partitions])
        return {place.partition: end for place, end in ends.items()}
    finally:
        consumer.close()


def read_log(brokers: Brokers, topic: str) -> Iterator[Line]:
    """Every record that the log held when the reading began."""
    take_any_names()
    consumer = KafkaConsumer(
        **brokers.arguments(),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_bytes=8_000_000,
    )
    try:
        partitions = consumer.partitions_for_topic(topic) or set()
        endpoints = [TopicPartition(topic, number) for number in sorted(partitions)]
        ends = {place: end for place, end in consumer.end_offsets(endpoints).items() if end > 0}
        for place, end in sorted(ends.items()):
            yield from _read_partition(consumer, place, end)
    finally:
        consumer.close()


def _read_partition(consumer: KafkaConsumer, place: TopicPartition, end: int) -> Iterator[Line]:
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    reached = 0
    silent_s = time.monotonic() + SILENCE_S
    while reached < end:
        rows = consumer.poll(timeout_ms=1_000).get(place, [])
        before, reached = reached, consumer.position(place)
        if reached > before:  # also over what Kafka gives to nobody, such as the ends of transactions
            silent_s = time.monotonic() + SILENCE_S
        elif time.monotonic() > silent_s:
            raise TimeoutError(f"{place.topic} partition {place.partition}: nothing at {reached} of {end}")
        for row in rows:
            if row.offset >= end:
                return
            headers = {name: (value or b"").decode("utf-8", "replace") for name, value in row.headers or ()}
            yield Line(place.partition, row.offset, headers, row.value or b"")
