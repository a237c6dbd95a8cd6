"""Faults of the topics: foreign records and transactions."""

import asyncio
import itertools
import random
import uuid

from aiokafka import AIOKafkaProducer

from tests.soak.fault_plan import PlannedFault
from tests.soak.faults.context import FaultContext
from tests.soak.log_facts import FOREIGN_HEADER, read_log
from tests.soak.malformed_records import malformed_records, send

KNOWN = 300
"""Lines of the log that strays are made to look like."""
SHARE = 0.25
"""Of all shapes, how many come at once."""
LEFT_OPEN_MS = 15_000
"""Time after which Kafka itself ends a transaction that no client ends."""


def write_malformed_records(context: FaultContext, fault: PlannedFault) -> None:
    """Records of every shape on every topic."""
    brokers, topics = context.twin.kafka.brokers, context.twin.topics
    chance = random.Random(fault.index("strays", 2**32))
    lines = itertools.islice(read_log(brokers, topics.log), KNOWN)
    known = [line for line in lines if "twin" in line.headers and FOREIGN_HEADER not in line.headers]
    made = malformed_records(chance, known, known[0].headers["twin"])
    some = chance.sample(made, int(SHARE * len(made)))
    partitions = context.twin.options.partitions
    places = {
        topics.log: partitions,
        topics.telemetry: partitions,
        topics.dead_letters: 1,
        topics.operations: 1,
    }
    send(brokers, places, chance, some)


def leave_transaction_open(context: FaultContext, fault: PlannedFault) -> None:
    """A stranger begins a transaction on every partition of the log, and goes away."""
    asyncio.run(_leave_open(context, fault))


async def _leave_open(context: FaultContext, fault: PlannedFault) -> None:
    producer = AIOKafkaProducer(
        **context.twin.kafka.brokers.arguments(),
        transactional_id=f"stray-{uuid.uuid4().hex}",
        transaction_timeout_ms=LEFT_OPEN_MS,
    )
    await producer.start()
    try:
        await producer.begin_transaction()
        for partition in range(context.twin.options.partitions):
            await producer.send_and_wait(
                context.twin.topics.log,
                b"never ended",
                partition=partition,
                headers=[(FOREIGN_HEADER, b"open")],
            )
        await asyncio.to_thread(context.hold, fault.duration_s)
    finally:
        await producer.stop()
