"""The sequencer's access to Kafka: appends in order, and reads the end of the log."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.kafka_errors import kafka_unreachable
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.live.kafka.non_utf8_headers import accept_non_utf8_headers
from shared.runtimes.live.kafka.records import Record, fill_gaps, record_of

REQUEST_S_MAX = 15
"""How long Kafka may take to answer an append; after that, its outcome is unknown."""
READ_S_MAX = 20.0
"""How long a read of the log may make no progress."""
READ_MS = 500

log = logging.getLogger("lightwave.live")


@dataclass(frozen=True, slots=True)
class Entry:
    """One record to append."""

    key: str
    value: bytes
    headers: dict[str, bytes]


class Appender(Protocol):
    """Raises `LogUnreachable`."""

    async def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Append in order; returns the offsets once all entries are on the log."""

    async def dead_letter(self, rows: Sequence[Entry]) -> None:
        """Append to the dead letters."""

    async def end(self, partition: int) -> int:
        """The offset that the next record will have."""

    async def begin(self, partition: int) -> int:
        """The offset of the oldest record that still exists."""

    def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[Record]]:
        """The records from `start`, or the start of the log, up to `end` in batches. There is one record per
        offset: a gap record if Kafka has none."""


class KafkaAppender:
    """An `Appender` with one idempotent producer, which is replaced after every failure."""

    def __init__(self, brokers: Brokers, topics: Topics) -> None:
        self._brokers = brokers
        self._topics = topics
        self._producer: AIOKafkaProducer | None = None
        self._lock = asyncio.Lock()

    async def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        return await self._send(self._topics.log, partition, entries)

    async def dead_letter(self, rows: Sequence[Entry]) -> None:
        await self._send(self._topics.dead_letters, None, rows)

    async def end(self, partition: int) -> int:
        place = TopicPartition(self._topics.log, partition)
        async with self._reader() as consumer:
            ends = await asyncio.wait_for(consumer.end_offsets([place]), READ_S_MAX)
        return int(ends[place])

    async def begin(self, partition: int) -> int:
        place = TopicPartition(self._topics.log, partition)
        async with self._reader() as consumer:
            begins = await asyncio.wait_for(consumer.beginning_offsets([place]), READ_S_MAX)
        return int(begins[place])

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[Record]]:
        place = TopicPartition(self._topics.log, partition)
        async with self._reader() as consumer:
            begins = await asyncio.wait_for(consumer.beginning_offsets([place]), READ_S_MAX)
            at = max(start, int(begins[place]))
            consumer.assign([place])
            consumer.seek(place, at)
            moved_s = time.monotonic()
            while at < end:
                rows = (await consumer.getmany(place, timeout_ms=READ_MS)).get(place, [])
                reached = min(await consumer.position(place), end)
                if reached > at:
                    records = [record_of(partition, row.offset, row.value, row.headers) for row in rows]
                    yield list(fill_gaps(partition, at, records, reached))
                    at, moved_s = reached, time.monotonic()
                elif time.monotonic() - moved_s > READ_S_MAX:
                    raise TimeoutError

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(KafkaError, TimeoutError):
                await asyncio.wait_for(producer.stop(), 5)

    async def _send(self, topic: str, partition: int | None, entries: Sequence[Entry]) -> list[int]:
        try:
            producer = await self._started()
            waiting = [
                await producer.send(
                    topic,
                    value=entry.value,
                    key=entry.key.encode(),
                    partition=partition,
                    headers=list(entry.headers.items()),
                )
                for entry in entries
            ]
            metadata = await asyncio.gather(*waiting)
        except (KafkaError, TimeoutError, OSError) as error:
            await self.close()
            raise kafka_unreachable(self._brokers, error) from None
        return [int(place.offset) for place in metadata]

    async def _started(self) -> AIOKafkaProducer:
        async with self._lock:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    **self._brokers.arguments(),
                    enable_idempotence=True,
                    acks="all",
                    linger_ms=0,
                    request_timeout_ms=REQUEST_S_MAX * 1_000,
                    max_request_size=8_000_000,
                )
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._producer = producer
            return self._producer

    @contextlib.asynccontextmanager
    async def _reader(self):  # type: ignore[no-untyped-def]  # aiokafka has no types
        accept_non_utf8_headers()
        consumer = AIOKafkaConsumer(
            **self._brokers.arguments(),
            enable_auto_commit=False,
            auto_offset_reset="none",
            request_timeout_ms=REQUEST_S_MAX * 1_000,
        )
        try:
            await consumer.start()
            yield consumer
        except (KafkaError, TimeoutError, OSError) as error:
            raise kafka_unreachable(self._brokers, error) from None
        finally:
            with contextlib.suppress(KafkaError, TimeoutError):
                await asyncio.wait_for(consumer.stop(), 5)
