"""`lightwave live init`: create the topics, commission the fabrics, set the clock.

The plan is first recorded on the operations log. An init that follows a killed one, or runs concurrently with
another, continues with exactly the recorded plan.
"""

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from ops.live.settings import LiveSettings
from ops.sites.site_plans import NewTwinOptions, common_seed, fabric_places
from ops.twin.redis_owner import ADVICE, find_owner
from ops.twin.resume_check import check_same_twin
from schemas.envelope import Envelope
from schemas.files.operations_log import TwinPlanned
from schemas.files.site_plan import SitePlan
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import Unreadable
from services.fabric_kinds import services_of
from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.engine.message_order import commissioning_message
from shared.runtimes.live.kafka.appender import Appender, KafkaAppender
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.kafka.topic_admin import create_topics, partition_count, topic_id
from shared.runtimes.live.live_clock import ClockStore, LiveClock
from shared.runtimes.live.sequencer.partition_sequencer import root_entry
from shared.runtimes.live.twin_record import find_twin, write_twin
from shared.runtimes.operations_log import OperationsLog, local_person, new_operation
from shared.runtimes.simulated_clock import Epoch, check_speed
from shared.storage.store.state_store import FabricPlace

WAIT_S_MAX = 60.0
"""How long `--wait` waits for Kafka and Redis."""
POLL_S = 0.3
PARTITIONS, REPLICATION, SPEED = 16, 1, 1.0


@dataclass(frozen=True, slots=True)
class NewTwin:
    """Options of a twin: its `sites`, from the options `requested`.

    None means the default of a new twin, or the value of an existing one. `wait` waits for Kafka and Redis.
    `keep` accepts an existing twin, if the options match it."""

    sites: tuple[SitePlan, ...]
    requested: NewTwinOptions = field(default_factory=NewTwinOptions)
    partitions: int | None = None
    replication: int | None = None
    speed: float | None = None
    paused: bool = False
    wait: bool = False
    keep: bool = False

    def plan(self) -> TwinPlanned:
        """A plan for a new twin."""
        return TwinPlanned(
            twin=uuid.uuid4().hex,
            sites=self.sites,
            partitions=self.partitions or PARTITIONS,
            replication=self.replication or REPLICATION,
            speed=SPEED if self.speed is None else check_speed(self.speed),
            paused=self.paused,
        )


class CreatedTwin(TypedDict):
    """A live twin that was created, or `kept` if it existed already. `seed` is that of all its fabrics, None
    if they have different ones."""

    twin: str
    fabrics: list[str]
    partitions: int
    seed: NotRequired[int | None]
    kept: bool


def init_twin(settings: LiveSettings, new: NewTwin) -> CreatedTwin:
    """Create a twin.

    Raises OperationFailed if Kafka or Redis already hold a twin, InvalidInput if a different one is planned.
    """
    until = time.monotonic() + (WAIT_S_MAX if new.wait else 0.0)
    while True:
        try:
            return _make_twin(settings, new)
        except (StoreUnreachable, LogUnreachable):
            if time.monotonic() > until:
                raise
            time.sleep(POLL_S)


def planned_twin(operations: OperationsLog) -> TwinPlanned | None:
    """The first plan, which is the valid one; None if there is none."""
    return next((row.body for _, row in operations.read() if isinstance(row.body, TwinPlanned)), None)


def _make_twin(settings: LiveSettings, new: NewTwin) -> CreatedTwin:
    endpoints = settings.endpoints
    store = settings.store()
    store.check()
    operations = KafkaOperations(endpoints)
    found = find_twin(store)
    if found is not None:
        if not new.keep:
            raise OperationFailed(
                f"Redis at {store.name}: already holds a live twin; see `lightwave live status`"
            )
        plan = planned_twin(operations)
        if plan is not None:
            _check_sites(new, plan, "omit the option")
            _check_given("--partitions", new.partitions, plan.partitions)
        fabrics = list(store.fabrics())
        return {"twin": found.twin, "fabrics": fabrics, "partitions": found.partitions, "kept": True}
    owner = find_owner(store)
    if owner is not None:
        raise OperationFailed(
            f"Redis at {store.name}: holds the twin {owner.twin} of data folder {owner.folder} on "
            f"{owner.host}; {ADVICE}"
        )
    fresh = new.plan()
    create_topics(endpoints.kafka, endpoints.topics, fresh.partitions, fresh.replication)
    has = partition_count(endpoints.kafka, endpoints.topics.log)
    plan = planned_twin(operations)
    if plan is None and has != fresh.partitions:
        raise InvalidInput(
            f"--partitions {fresh.partitions}: topic {endpoints.topics.log} has {has}, which cannot change; "
            f"must be {has}"
        )
    asyncio.run(_with_kafka(settings, new, operations, store))
    plan = planned_twin(operations) or fresh
    return {
        "twin": plan.twin,
        "fabrics": list(fabric_places(plan.sites, plan.partitions)),
        "partitions": plan.partitions,
        "seed": common_seed(plan.sites),
        "kept": False,
    }


async def _with_kafka(
    settings: LiveSettings, new: NewTwin, operations: OperationsLog, store: ClockStore
) -> None:
    endpoints = settings.endpoints
    appender = KafkaAppender(endpoints.kafka, endpoints.topics)
    log = endpoints.topics.log
    try:
        await make_twin(new, operations, store, appender, log, topic_id(endpoints.kafka, log))
    finally:
        await appender.close()


async def make_twin(
    new: NewTwin,
    operations: OperationsLog,
    store: ClockStore,
    appender: Appender,
    topic: str,
    identity: str,
) -> None:
    """Create the planned twin; record a plan first if there is none.

    If this process is killed, the next init continues. The store is written last: until then no other process
    starts."""
    plan = planned_twin(operations)
    if plan is None:
        fresh = new.plan()
        for partition in range(fresh.partitions):
            if await appender.end(partition):
                raise _holds_a_twin(topic)
        operations.append(new_operation(fresh, local_person()))
        plan = planned_twin(operations) or fresh  # another init may have been faster
    _check_sites(
        new, plan, "its creation has begun: omit the option, or give another --prefix (LIGHTWAVE_PREFIX)"
    )
    _check_given("--partitions", new.partitions, plan.partitions)
    _check_given("--replication", new.replication, plan.replication)
    _check_given("--speed", new.speed, plan.speed)
    if new.paused and not plan.paused:
        raise InvalidInput("--paused: the twin was planned without it; omit the option")
    places = fabric_places(plan.sites, plan.partitions)
    lives: dict[int, list[Envelope]] = defaultdict(list)
    for message in _first_messages(plan.sites):
        lives[places[message.fabric].partition].append(message)
    for partition in range(plan.partitions):
        await _commission(plan.twin, partition, lives[partition], places, appender, topic)
    for fabric, place in places.items():
        store.place(fabric, place)
    epoch = Epoch(0, 0, plan.speed, plan.paused)
    LiveClock(store, services_of, lambda: 0.0).start(epoch, local_person())
    write_twin(store, plan.twin, plan.partitions, identity)


def _check_sites(new: NewTwin, plan: TwinPlanned, advice: str) -> None:
    try:
        check_same_twin(new.requested, new.sites if new.requested.site_files else (), plan.sites)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; {advice}") from None


def _check_given(option: str, given: float | None, has: float) -> None:
    if given is not None and given != has:
        raise InvalidInput(f"{option} {given:g}: the twin was planned with {has:g}; omit the option")


def _first_messages(sites: Sequence[SitePlan]) -> list[Envelope]:
    return [
        commissioning_message(fabric, FabricCommissioned(site=plan.site, config=config))
        for plan in sites
        for fabric, config in plan.fabrics.items()
    ]


async def _commission(
    twin: str,
    partition: int,
    messages: Sequence[Envelope],
    places: Mapping[str, FabricPlace],
    appender: Appender,
    topic: str,
) -> None:
    """Append the first message of every fabric of a partition that is not yet on the log.

    Raises OperationFailed if the log holds other messages. A message that misses its offset, because another
    writer was faster, is void.
    """
    while True:
        end = await appender.end(partition)
        there: set[str] = set()
        async for batch in appender.read(partition, 0, end):
            found = [message for record in batch if (message := _open_record(record, twin)) is not None]
            if any(message not in messages for message in found):
                raise _holds_a_twin(topic)
            there |= {message.fabric for message in found}
        missing = [message for message in messages if message.fabric not in there]
        if not missing:
            return
        entries = [
            root_entry(places[message.fabric].site, message, twin, offset=end + n, quiet=0)
            for n, message in enumerate(missing)
        ]
        await appender.append(partition, entries)


def _open_record(record: Record, twin: str) -> Envelope | None:
    """The message of a record; None if it is void or by a foreign writer."""
    try:
        return open_record(record, twin)
    except Unreadable:
        return None


def _holds_a_twin(topic: str) -> OperationFailed:
    return OperationFailed(
        f"topic {topic}: already holds a twin; rebuild its states with `lightwave live rebuild`, or give "
        f"another "
        "--prefix (LIGHTWAVE_PREFIX) for a new twin"
    )
