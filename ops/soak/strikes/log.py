"""Strikes at the topics: what strangers write there."""

import asyncio
import itertools
import random
import uuid

from aiokafka import AIOKafkaProducer

from ops.soak.facts import STRAY
from ops.soak.log import read_log
from ops.soak.plan import Fault
from ops.soak.strays import send, strays
from ops.soak.strikes.scene import Scene

KNOWN = 300
"""Lines of the log that strays are made to look like."""
SHARE = 0.25
"""Of all shapes, how many come at once."""
LEFT_OPEN_MS = 15_000
"""After which Kafka itself ends a transaction that nobody ends."""


def write_strays(scene: Scene, fault: Fault) -> None:
    """Records of every shape on every topic."""
    brokers, topics = scene.twin.kafka.brokers, scene.twin.topics
    chance = random.Random(fault.index("strays", 2**32))  # noqa: S311 -- of a seed, to be repeated
    lines = itertools.islice(read_log(brokers, topics.log), KNOWN)
    known = [line for line in lines if "twin" in line.headers and STRAY not in line.headers]
    made = strays(chance, known, known[0].headers["twin"])
    some = chance.sample(made, int(SHARE * len(made)))
    partitions = scene.twin.options.partitions
    places = {
        topics.log: partitions,
        topics.telemetry: partitions,
        topics.dead_letters: 1,
        topics.operations: 1,
    }
    send(brokers, places, chance, some)


def leave_transaction_open(scene: Scene, fault: Fault) -> None:
    """A stranger begins a transaction on every partition of the log, and goes away."""
    asyncio.run(_leave_open(scene, fault))


async def _leave_open(scene: Scene, fault: Fault) -> None:
    producer = AIOKafkaProducer(
        **scene.twin.kafka.brokers.arguments(),
        transactional_id=f"stray-{uuid.uuid4().hex}",
        transaction_timeout_ms=LEFT_OPEN_MS,
    )
    await producer.start()
    try:
        await producer.begin_transaction()
        for partition in range(scene.twin.options.partitions):
            await producer.send_and_wait(
                scene.twin.topics.log, b"never ended", partition=partition, headers=[(STRAY, b"open")]
            )
        await asyncio.to_thread(scene.hold, fault.lasts_s)
    finally:
        await producer.stop()
