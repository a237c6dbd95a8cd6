"""`lightwave live init`: make the topics, commission the fabrics, set the clock."""

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.common.sites import common_seed, places_of
from ops.live.settings import LiveSettings
from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned
from schemas.site_plan import SitePlan
from services.fleet import services_of
from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.engine.roots import commissioning
from shared.runtimes.clock import Epoch, check_speed
from shared.runtimes.live.clock import LiveClock
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.kafka.topics import create_topics, partition_count, topic_id
from shared.runtimes.live.kafka.unreachable import LogUnreachable
from shared.runtimes.live.sequencer.partition import root_entry
from shared.runtimes.live.twin_record import find_twin, write_twin
from shared.runtimes.operations import local_person
from shared.storage.store import FabricPlace

WAIT_S_MAX = 60.0
"""How long `--wait` waits for Kafka and Redis."""
POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class NewTwin:
    """What a twin is made of. `wait` waits for Kafka and Redis; `keep` leaves a twin that exists as it is."""

    sites: tuple[SitePlan, ...]
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
    twin = uuid.uuid4().hex
    places = places_of(new.sites, new.partitions)
    asyncio.run(_commission(settings, twin, new.partitions, _first_messages(new.sites), places))
    for fabric, place in places.items():
        store.place(fabric, place)
    epoch = Epoch(0, 0, check_speed(new.speed), new.paused)
    LiveClock(store, services_of, lambda: 0.0).start(epoch, local_person())
    write_twin(store, twin, new.partitions, topic_id(endpoints.kafka, endpoints.topics.log))
    return {
        "twin": twin,
        "fabrics": list(places),
        "partitions": new.partitions,
        "seed": common_seed(new.sites),
        "kept": False,
    }


def _first_messages(sites: Sequence[SitePlan]) -> list[Envelope]:
    return [
        commissioning(fabric, FabricCommissioned(site=plan.site, config=config))
        for plan in sites
        for fabric, config in plan.fabrics.items()
    ]


async def _commission(
    settings: LiveSettings,
    twin: str,
    partitions: int,
    messages: Sequence[Envelope],
    places: Mapping[str, FabricPlace],
) -> None:
    """Write the first message of every fabric; OperationFailed if the log is not empty."""
    topic = settings.endpoints.topics.log
    appender = KafkaAppender(settings.endpoints.kafka, settings.endpoints.topics)
    try:
        for partition in range(partitions):
            if await appender.end(partition):
                raise OperationFailed(
                    f"topic {topic}: holds a twin already; `lightwave live rebuild` makes its states again, "
                    "another --prefix (LIGHTWAVE_PREFIX) gives another twin"
                )
        lives: dict[int, list[Envelope]] = defaultdict(list)
        for message in messages:
            lives[places[message.fabric].partition].append(message)
        for partition, inside in lives.items():
            first = [
                root_entry(places[message.fabric].site, message, twin, offset=n, quiet=0)
                for n, message in enumerate(inside)
            ]
            if await appender.append(partition, first) != [*range(len(first))]:
                raise OperationFailed(f"topic {topic}: somebody else writes to partition {partition}")
    finally:
        await appender.close()
