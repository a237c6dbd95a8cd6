"""`lightwave live init`: make the topics, commission the fabrics, set the clock."""

import asyncio
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ops.live.settings import LiveSettings
from schemas.config import SuperpodConfig
from services.fleet import SUPERPOD
from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.runtimes.lab import commissioning
from shared.runtimes.live.clock import LiveClock
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.kafka.layout import partition_of
from shared.runtimes.live.kafka.records import LogIdentity
from shared.runtimes.live.kafka.topics import create_topics, partition_count, topic_id
from shared.runtimes.live.kafka.unreachable import LogUnreachable
from shared.runtimes.live.sequencer.partition import root_entry
from shared.runtimes.live.twin_record import find_twin, write_twin

WAIT_S_MAX = 60.0
"""How long `--wait` waits for Kafka and Redis."""
POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class NewTwin:
    """What a twin is made of. `wait` waits for Kafka and Redis; `keep` leaves a twin that exists as it is."""

    config: SuperpodConfig
    pods: int = 1
    partitions: int = 16
    replication: int = 1
    speed: float = 1.0
    paused: bool = False
    wait: bool = False
    keep: bool = False


def init_twin(settings: LiveSettings, new: NewTwin) -> dict[str, Any]:
    """Make a twin: {twin, fabrics, partitions, seed, kept}. OperationFailed if Kafka or Redis hold one."""
    until = time.monotonic() + (WAIT_S_MAX if new.wait else 0.0)
    while True:
        try:
            return _make(settings, new)
        except (StoreUnreachable, LogUnreachable):
            if time.monotonic() > until:
                raise
            time.sleep(POLL_S)


def _make(settings: LiveSettings, new: NewTwin) -> dict[str, Any]:
    endpoints = settings.endpoints
    store = settings.store()
    store.check()
    found = find_twin(store)
    if found is not None:
        if new.keep:
            fabrics = list(store.fabrics())
            return {"twin": found.twin, "fabrics": fabrics, "partitions": found.partitions, "kept": True}
        raise OperationFailed(
            f"Redis at {store.name}: holds a live twin already; see `lightwave live status`"
        )
    create_topics(endpoints.kafka, endpoints.topics, new.partitions, new.replication)
    has = partition_count(endpoints.kafka, endpoints.topics.log)
    if has != new.partitions:
        raise InvalidInput(
            f"--partitions {new.partitions}: topic {endpoints.topics.log} has {has}, which stays; "
            f"allowed: {has}"
        )
    identity = LogIdentity(uuid.uuid4().hex, new.partitions)
    fabrics = [f"pod-{number}" for number in range(new.pods)]
    asyncio.run(_commission(settings, identity, fabrics, new.config))
    services = [service.name for service in SUPERPOD]
    for fabric in fabrics:
        store.place(fabric, partition_of(fabric, new.partitions))
    LiveClock(store, services, lambda: 0.0).start(new.speed, paused=new.paused)
    write_twin(
        store, identity.twin, new.partitions, services, topic_id(endpoints.kafka, endpoints.topics.log)
    )
    seed = new.config.seed
    return {
        "twin": identity.twin,
        "fabrics": fabrics,
        "partitions": new.partitions,
        "seed": seed,
        "kept": False,
    }


async def _commission(
    settings: LiveSettings, identity: LogIdentity, fabrics: list[str], config: SuperpodConfig
) -> None:
    """Write the first message of every fabric; OperationFailed if the log is not empty."""
    topic = settings.endpoints.topics.log
    appender = KafkaAppender(settings.endpoints.kafka, settings.endpoints.topics)
    try:
        for partition in range(identity.partitions):
            if await appender.end(partition):
                raise OperationFailed(
                    f"topic {topic}: holds a twin already; `lightwave live rebuild` makes its states again, "
                    "another --prefix (LIGHTWAVE_PREFIX) gives another twin"
                )
        lives = defaultdict(list)
        for fabric in fabrics:
            lives[partition_of(fabric, identity.partitions)].append(fabric)
        for partition, inside in lives.items():
            first = [
                root_entry(commissioning(fabric, config), identity, offset=n, quiet=0)
                for n, fabric in enumerate(inside)
            ]
            if await appender.append(partition, first) != [*range(len(first))]:
                raise OperationFailed(f"topic {topic}: somebody else writes to partition {partition}")
    finally:
        await appender.close()
