"""Facts about operators' requests on the log, read by other means than the twin's own readers.

Nothing here uses the twin's codec or its judgement of records: an oracle must not share the code that it
judges.
"""

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.non_utf8_headers import accept_non_utf8_headers

OPERATOR = re.compile(r"operator@[a-z0-9-]+/\d+")
EXPECTED_OFFSET = "expected-offset"
"""The header of a root message that names the only offset at which it counts."""
COMMISSIONED, RETIRED = "FabricCommissioned", "FabricRetired"
FOREIGN_HEADER = "soak-stray"
"""The header of records that the soak itself writes into the twin's topics."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of the log."""

    partition: int
    offset: int
    headers: dict[str, str]
    value: bytes
    wall_us: int = 0
    """When its writer sent it."""


@dataclass(frozen=True, slots=True)
class AppendedMessage:
    """A message with its simulated time, and the wall time at which it was sent to the log."""

    id: str
    at_us: int
    wall_us: int


@dataclass(frozen=True, slots=True)
class RequestOnLog:
    """A request on the log; `number` is that of its message, `key` its idempotency key."""

    id: str
    key: str | None
    fabric: str
    type: str
    number: int
    at_us: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommissioningOnLog:
    """A fabric's commissioning on the log; `config` is all of its configuration."""

    id: str
    site: str
    partition: int
    at_us: int
    config: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.config["kind"])


@dataclass(frozen=True, slots=True)
class RetirementOnLog:
    """A fabric's retirement on the log."""

    id: str
    at_us: int


@dataclass(frozen=True, slots=True)
class AnswerOnLog:
    """A message that names a request as its cause."""

    type: str
    body: dict[str, Any]


@dataclass(slots=True)
class LogFacts:
    """`types` counts messages by (fabric, type), `ticks` Ticks by (service, fabric); `ends` are the offsets
    after the last record. `beginnings` are all of a fabric that count where they stand, also a second one
    that every reader drops as a repeat."""

    messages: int = 0
    voids: int = 0
    repeats: int = 0
    unreadable: int = 0
    foreign: int = 0
    requests: dict[str, list[RequestOnLog]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, list[AnswerOnLog]] = field(default_factory=lambda: defaultdict(list))
    types: Counter[tuple[str, str]] = field(default_factory=Counter)
    ticks: Counter[tuple[str, str]] = field(default_factory=Counter)
    commissionings: dict[str, list[CommissioningOnLog]] = field(default_factory=lambda: defaultdict(list))
    retirements: dict[str, list[RetirementOnLog]] = field(default_factory=lambda: defaultdict(list))
    last_us: dict[str, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    appended: list[AppendedMessage] = field(default_factory=list)
    links: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """(network, block, block) → links between the two that carry traffic, as last reported."""
    rewirings: set[str] = field(default_factory=set)
    """Those that were planned."""
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    """(fabric, source) → its highest seq."""


def gather_facts(lines: Iterable[LogRecord], ends: Mapping[int, int] | None = None) -> LogFacts:
    """Read a whole log, each partition in order. `ends` has the end of each partition, which may be behind
    its last line: Kafka returns no marks of transactions."""
    facts = LogFacts()
    for line in lines:
        facts.ends[line.partition] = line.offset + 1
        if FOREIGN_HEADER in line.headers:
            facts.foreign += 1
            continue
        if line.headers.get(EXPECTED_OFFSET, str(line.offset)) != str(line.offset):
            facts.voids += 1
            continue
        try:
            message = json.loads(line.value)
            source = (message["fabric"], message["source"])
            seq = int(message["seq"])
            _note_commissioning(facts, line.partition, message)
        except (ValueError, KeyError, TypeError):
            facts.unreadable += 1
            continue
        if seq <= facts.seen.get(source, -1):
            facts.repeats += 1
            continue
        facts.seen[source] = seq
        facts.appended.append(AppendedMessage(message["id"], message["at_us"], line.wall_us))
        _note(facts, message)
    facts.ends |= ends or {}
    return facts


def _note_commissioning(facts: LogFacts, partition: int, message: dict[str, Any]) -> None:
    if message["type"] == COMMISSIONED:
        body = message["body"]
        facts.commissionings[message["fabric"]].append(
            CommissioningOnLog(message["id"], body["site"], partition, message["at_us"], body["config"])
        )


def _note(facts: LogFacts, message: dict[str, Any]) -> None:
    fabric, kind = message["fabric"], message["type"]
    facts.messages += 1
    facts.types[fabric, kind] += 1
    if kind == "Tick":
        facts.ticks[message["body"]["service"], fabric] += 1
    facts.last_us[fabric] = max(message["at_us"], facts.last_us.get(fabric, 0))
    if OPERATOR.fullmatch(message["id"]):
        body = message["body"]
        requests = RequestOnLog(
            message["id"], body.get("key"), fabric, kind, message["seq"], message["at_us"], body
        )
        facts.requests[requests.id].append(requests)
    if kind == "TrunksChanged":
        for one, other, links in message["body"]["links"]:
            facts.links[fabric, one, other] = links
    if kind == "RewiringPlanned":
        facts.rewirings.add(message["body"]["rewiring"])
    if kind == RETIRED:
        facts.retirements[fabric].append(RetirementOnLog(message["id"], message["at_us"]))
    if message["cause"] is not None and OPERATOR.fullmatch(message["cause"]):
        facts.answers[message["cause"]].append(AnswerOnLog(kind, message["body"]))


# The log as Kafka holds it, read with another client than the twin's own.

SILENCE_S = 20.0
"""A log that gives nothing for so long before its end is not read any further."""


def log_ends(brokers: Brokers, topic: str) -> dict[int, int]:
    """Partition → the offset after its last record, also if Kafka does not return that record."""
    consumer = KafkaConsumer(**brokers.arguments(), enable_auto_commit=False)
    try:
        partitions = consumer.partitions_for_topic(topic) or set()
        ends = consumer.end_offsets([TopicPartition(topic, number) for number in partitions])
        return {place.partition: end for place, end in ends.items()}
    finally:
        consumer.close()


def read_log(brokers: Brokers, topic: str) -> Iterator[LogRecord]:
    """Every record that the log held when the reading began."""
    accept_non_utf8_headers()
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


def _read_partition(consumer: KafkaConsumer, place: TopicPartition, end: int) -> Iterator[LogRecord]:
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    reached = 0
    silent_s = time.monotonic() + SILENCE_S
    while reached < end:
        rows = consumer.poll(timeout_ms=1_000).get(place, [])
        before, reached = reached, consumer.position(place)
        if reached > before:  # also over what Kafka does not return, such as the ends of transactions
            silent_s = time.monotonic() + SILENCE_S
        elif time.monotonic() > silent_s:
            raise TimeoutError(f"{place.topic} partition {place.partition}: nothing at {reached} of {end}")
        for row in rows:
            if row.offset >= end:
                return
            headers = {name: (value or b"").decode("utf-8", "replace") for name, value in row.headers or ()}
            wall_us = 1_000 * row.timestamp
            yield LogRecord(place.partition, row.offset, headers, row.value or b"", wall_us)
