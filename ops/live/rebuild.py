"""`lightwave live rebuild`: every state in Redis made again from the log on Kafka, by the same folds that the
workers run. The log is the record; Redis may be lost."""

from collections.abc import Callable, Mapping
from typing import Any

from ops.live.settings import LiveSettings
from schemas.names import fabric_order
from schemas.registry import Unreadable, decode
from services.fleet import by_kind, services_of
from services.roster import service_names
from shared.basics.errors import OperationFailed
from shared.engine.codec import state_digest
from shared.runtimes.clock import Epoch
from shared.runtimes.live.clock import STOPPED, LiveClock, read_epoch
from shared.runtimes.live.kafka.layout import SOURCE, TWIN
from shared.runtimes.live.kafka.operations import KafkaOperations
from shared.runtimes.live.kafka.records import Record, level_of
from shared.runtimes.live.kafka.scan import read_partition
from shared.runtimes.live.kafka.topics import partition_count, topic_id
from shared.runtimes.live.twin_record import TwinRecord, find_twin, read_twin, write_twin
from shared.runtimes.live.worker.fold import PartitionFold, ServedService
from shared.runtimes.operations import last_clock, local_person
from shared.storage.redis_store import RedisStore
from shared.storage.residents import residents
from shared.storage.store import FabricPlace, OutboxTrim

Say = Callable[[str], None]


def rebuild_twin(settings: LiveSettings, say: Say) -> dict[str, Any]:
    """Read the whole log again: {twin, messages, fabrics, state_sha256}. Workers may run meanwhile; what they
    do first is not done again."""
    store = settings.store()
    store.check()
    twin = _adopt(settings, store)
    messages = 0
    fabrics: dict[str, FabricPlace] = {}
    for partition in range(twin.partitions):
        store.erase(partition)
    for partition in range(twin.partitions):
        end = _fold(settings, store, twin, partition, say)
        messages += end
        if not end:
            continue
        living = residents(store.values(partition))
        for fabric in sorted(living, key=fabric_order):
            fabrics[fabric] = FabricPlace(partition, living[fabric].site, living[fabric].kind)
            store.place(fabric, fabrics[fabric])
        say(
            f"partition {partition}: {end:,} messages read again, "
            f"{', '.join(sorted(living, key=fabric_order))}"
        )
    found = digest(store, fabrics)
    if read_epoch(store) is None:
        _restore_clock(settings, store, say)
    return {
        "twin": twin.twin,
        "messages": messages,
        "fabrics": sorted(fabrics, key=fabric_order),
        "state_sha256": found,
    }


def _restore_clock(settings: LiveSettings, store: RedisStore, say: Say) -> None:
    """Set the clock as it was last changed, to go on from where the fabrics have come to."""
    kept = last_clock(KafkaOperations(settings.endpoints))
    if kept is None:
        say("nobody noted a clock: simulated time stands still until `lightwave clock resume`")
        epoch = STOPPED
    else:
        epoch = Epoch(0, 0, kept.speed, kept.paused, kept.until_us, kept.run_speed)
        paused = ", paused" if kept.paused else ""
        say(f"the clock goes on as it was last asked for: × {kept.speed:g}{paused}")
    LiveClock(store, services_of, lambda: 0.0).start(epoch, local_person())


def digest(store: RedisStore, fabrics: Mapping[str, FabricPlace]) -> str:
    """SHA-256 over every stored field of every service's state."""
    return state_digest(
        (f"{service.name}@{fabric}", store.load(place.partition, service.name, fabric))
        for fabric, place in fabrics.items()
        for service in services_of(place.kind)
    )


def _adopt(settings: LiveSettings, store: RedisStore) -> TwinRecord:
    """The twin that the log belongs to, noted in this Redis."""
    endpoints = settings.endpoints
    partitions = partition_count(endpoints.kafka, endpoints.topics.log)
    name = next(
        (
            record.header(TWIN)
            for partition in range(partitions)
            for record in next(read_partition(endpoints.kafka, endpoints.topics.log, partition), [])[:1]
        ),
        None,
    )
    if name is None:
        raise OperationFailed(f"topic {endpoints.topics.log}: holds no twin; `lightwave live init` makes one")
    kept = find_twin(store)
    if kept is not None and kept.twin != name:
        raise OperationFailed(
            f"topic {endpoints.topics.log}: holds twin {name}, Redis at {store.name} holds {kept.twin}; "
            "give the Redis or the prefix that belongs to it"
        )
    write_twin(store, name, partitions, topic_id(endpoints.kafka, endpoints.topics.log))
    return read_twin(store)


def _fold(settings: LiveSettings, store: RedisStore, twin: TwinRecord, partition: int, say: Say) -> int:
    """Fold one partition up to its present end, which it returns."""
    folds = [
        PartitionFold(ServedService(name, by_kind(name), services_of), partition, twin.twin, store)
        for name in service_names()
    ]
    numbers = 0
    end = quiet = 0
    endpoints = settings.endpoints
    for batch in read_partition(endpoints.kafka, endpoints.topics.log, partition):
        end = batch[-1].offset + 1
        numbers = max([numbers, *(_request_number(record) for record in batch)])
        for fold in folds:
            while not fold.take(batch):
                pass  # a worker was faster; what it committed is taken up
        levels = (level_of(record, twin.twin) for record in batch)
        quiet = max([quiet, *(level for level in levels if level is not None)])
        # What the last quiet position covers stands on the log; the rest is the sequencer's to append.
        said = tuple(saying for saying in store.view(partition, 1).outbox if saying.position < quiet)
        store.trim(OutboxTrim(partition, said, fields={"end": str(end)}))
    store.number_above(partition, numbers)
    for fold in folds:
        if fold.stopped is not None:
            say(f"{fold.stopped.sentence}; it stays there until `lightwave live skip`")
    return end


def _request_number(record: Record) -> int:
    """The number of an operator's request; 0 for any other record. Later ones must exceed it."""
    source = record.header(SOURCE) or ""
    if not source.startswith("operator@"):
        return 0
    try:
        return decode(record.value).seq
    except Unreadable:
        return 0
