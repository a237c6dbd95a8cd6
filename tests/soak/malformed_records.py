"""Records that do not belong on a twin's topics, in every shape that Kafka takes, drawn by a seed."""

import asyncio
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer

from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, SOURCE, TWIN, TYPE
from tests.soak.log_facts import FOREIGN_HEADER, LogRecord

LARGE = 7_900_000
"""Nearly as much as the topics take."""
_NULL = b"\0 none at all"
_BATCH = 16
FOREIGN_MARK = (FOREIGN_HEADER, b"")
"""By which the soak knows its own strays again."""


class BadName(str):
    """A header's name that no decoder of UTF-8 reads."""

    def encode(self, *_: object) -> bytes:
        return b"\xff\xfe" + super().encode()


@dataclass(frozen=True, slots=True)
class MalformedRecord:
    """A record as it is sent; None is Kafka's null."""

    value: bytes | None
    key: bytes | None = b"pod-0"
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None


Headers = dict[str, bytes | None]
Alter = Callable[[random.Random, dict[str, Any], Headers], None]


def _foreign(chance: random.Random, _: dict[str, Any], headers: Headers) -> None:
    headers[TWIN] = chance.choice((b"0" * 32, b"", b"\xff", None, b"../../x"))


def _elsewhere(chance: random.Random, _: dict[str, Any], headers: Headers) -> None:
    headers[EXPECTED_OFFSET] = chance.choice((b"-1", b"soon", b"9" * 5_000, "٣".encode(), b"", b"\xff", b"1"))


def _too_level(chance: random.Random, _: dict[str, Any], headers: Headers) -> None:
    headers.pop(EXPECTED_OFFSET, None)
    headers[LEVEL_AT] = chance.choice((b"-1", b"9" * 18, b"9" * 5_000, "٣".encode(), b"\xff", None))


def _misnumbered(chance: random.Random, fields: dict[str, Any], _: Headers) -> None:
    fields["seq"] = chance.choice((-1, 2**53, 1e300, "1", None, fields["seq"] + 10**6))


def _misnamed(chance: random.Random, fields: dict[str, Any], _: Headers) -> None:
    name = chance.choice(("id", "type", "fabric", "source", "cause", "v", "at_us"))
    fields[name] = chance.choice((None, "", "../../x", -1, 2**63, [], {}, "pod-999999", "x" * 100_000))
    fields["id"] = "another"


def _emptied(chance: random.Random, fields: dict[str, Any], _: Headers) -> None:
    fields["body"] = chance.choice((None, {}, [], {"cube": -1}, {"site": "../../x"}))
    fields["surplus"] = 1


_ALTERED: tuple[Alter, ...] = (_foreign, _elsewhere, _too_level, _misnumbered, _misnamed, _emptied)


def _look_alike(chance: random.Random, known: LogRecord, twin: str) -> MalformedRecord:
    """Like a message of the twin with one difference; or a copy."""
    fields, headers = orjson.loads(known.value), {name: text.encode() for name, text in known.headers.items()}
    marked: Headers = {TYPE: b"", SOURCE: b"", **headers, TWIN: twin.encode()}
    change = chance.choice((*_ALTERED, None))
    if change is not None:
        change(chance, fields, marked)
    value = orjson.dumps(fields)
    if chance.random() < 0.1:
        value = value[: chance.randrange(len(value))]
    return MalformedRecord(value, headers=tuple(marked.items()))


def _values(chance: random.Random) -> list[bytes | None]:
    """Values that are not even like a message, each at least once."""
    return [
        None,
        b"",
        b"\xff" * 2_000_000,
        b"\xff" * LARGE,
        b"x" * LARGE,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"type":"' + b"\\u0001" * 500_000 + b'"}',
        b'{"type":"Tick","body":' + b"[" * 500 + b"]" * 500 + b"}",
        b"9" * 10_000,
        b'"\\ud800"',
        b"\0" * 1_000,
        *(chance.randbytes(chance.choice((1, 100, 10_000))) for _ in range(5)),
    ]


def _keys(chance: random.Random) -> bytes | None:
    return chance.choice((None, b"", b"pod-0", b"\xff\xfe", b"../../../x", b"/x", b"pod-0\0", b"k" * 10_000))


def _headers(chance: random.Random) -> tuple[tuple[str, bytes | None], ...]:
    shapes: tuple[tuple[tuple[str, bytes | None], ...], ...] = (
        (),
        (("trace", None),),
        ((TYPE, None), (SOURCE, None), (TWIN, None), (EXPECTED_OFFSET, None), (LEVEL_AT, None)),
        (("type", b"Tick"), ("type", b"\xff"), ("type", b"CubeHealthy")),
        ((BadName("type"), b"Tick"), ("type", b"Tick"), (SOURCE, b"tick.cubes@pod-0")),
        (("", b""), ("\u202e", b"\x1b[2J")),
        ((LEVEL_AT, b"soon"), (EXPECTED_OFFSET, b"\xff")),
        (("at_us", b"9" * 5_000),),
        (("at_us", "٣".encode()), ("at_us", b"7")),
        tuple((f"h{n}", b"x" * n) for n in range(500)),
    )
    return chance.choice(shapes)


def malformed_records(chance: random.Random, known: Sequence[LogRecord], twin: str) -> list[MalformedRecord]:
    """Every value once, and as many records that look like messages of the twin; the order is the seed's."""
    strange = [
        MalformedRecord(value, _keys(chance), _headers(chance), chance.choice((None, 0, 1)))
        for value in _values(chance)
    ]
    every_header = {repr(shape): shape for shape in (_headers(chance) for _ in range(200))}.values()
    strange += [MalformedRecord(b"x", _keys(chance), shape) for shape in every_header]
    alike = [_look_alike(chance, chance.choice(known), twin) for _ in range(60)]
    found = strange + [replace(stray, key=_keys(chance)) for stray in alike]
    chance.shuffle(found)
    return found


# --- sending ------------------------------------------------------------------------------------------------


class _Nullable(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka ships no types
    """Sends what its client refuses, and Kafka takes: neither key nor value."""

    def _serialize(self, key: bytes, value: bytes, _headers: object) -> tuple[bytes | None, bytes | None]:
        return (None if key == _NULL else key, None if value == _NULL else value)


def send(
    brokers: Brokers, places: Mapping[str, int], chance: random.Random, records: Sequence[MalformedRecord]
) -> None:
    """Send to every partition of every topic: singly, compressed, and in transactions that are committed or
    aborted."""
    asyncio.run(_send(brokers, places, chance, records))


async def _send(
    brokers: Brokers, places: Mapping[str, int], chance: random.Random, records: Sequence[MalformedRecord]
) -> None:
    for topic, partitions in places.items():
        for chunk in _chunks(records):
            partition = chance.randrange(partitions)
            named = [stray for stray in chunk if any(isinstance(name, BadName) for name, _ in stray.headers)]
            await asyncio.to_thread(send_badly_named, brokers, topic, partition, named)
            rest = [stray for stray in chunk if stray not in named]
            await transaction(brokers, topic, partition, rest, chance.choice(("", "commit", "abort")))
        await asyncio.to_thread(_send_compressed, brokers, topic, partitions)


def _chunks(records: Sequence[MalformedRecord]) -> list[list[MalformedRecord]]:
    return [list(records[n : n + _BATCH]) for n in range(0, len(records), _BATCH)]


async def transaction(
    brokers: Brokers, topic: str, partition: int, records: Sequence[MalformedRecord], end: str
) -> None:
    """Send all of them in a transaction that ends so, or in none where `end` is empty."""
    producer = _Nullable(
        **brokers.arguments(),
        max_request_size=8_000_000,
        transactional_id=f"stray-{uuid.uuid4().hex}" if end else None,
    )
    await producer.start()
    try:
        if end:
            await producer.begin_transaction()
        for stray in records:
            value, key = (_NULL if part is None else part for part in (stray.value, stray.key))
            headers = [*stray.headers, FOREIGN_MARK]
            await producer.send_and_wait(topic, value, key, partition, stray.timestamp_ms, headers)
        if end:
            await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())
    finally:
        await producer.stop()


def send_badly_named(
    brokers: Brokers, topic: str, partition: int, records: Sequence[MalformedRecord]
) -> None:
    """Send what only this client sends: headers whose names are no UTF-8."""
    if not records:
        return
    producer = KafkaProducer(**brokers.arguments(), max_request_size=8_000_000)
    sent = [
        producer.send(topic, stray.value or b"", stray.key, [*stray.headers, FOREIGN_MARK], partition)
        for stray in records
    ]
    for future in sent:
        future.get(timeout=20)
    producer.close()


def _send_compressed(brokers: Brokers, topic: str, partitions: int) -> None:
    for kind in ("gzip", "zstd"):
        producer = KafkaProducer(**brokers.arguments(), compression_type=kind, linger_ms=50)
        for n in range(20):
            producer.send(topic, b"x" * 100, None, [FOREIGN_MARK], n % partitions)
        producer.flush(timeout=20)
        producer.close()
