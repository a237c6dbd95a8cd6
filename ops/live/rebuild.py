"""`lightwave live rebuild`: rebuild every state in Redis from the log on Kafka, with the same folds as the
workers.

The log is the record; Redis may be lost. Old states are removed only after all new ones exist. Every
partition is folded in memory, from the newest good snapshots of its sites or from the start, and compared
with the log. Its image is staged next to the current states. Then one transaction per partition promotes the
image.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypedDict

from ops.live.init import planned_twin
from ops.live.parallel_fold import FoldedPartition, FoldTask, fold_partitions, served_services
from ops.live.settings import LiveSettings
from ops.local.software_version import software_version
from schemas.files.operations_log import OperationBody, RebuildBegun, RebuildEnded
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import fabric_order
from schemas.registry import Unreadable
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed, StateRefused
from shared.engine.code_version import RULES, unfinished_upgrade
from shared.engine.state_codec import state_digest
from shared.runtimes.live.kafka.layout import SOURCE, TWIN, Endpoints
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.kafka.topic_admin import create_topics, partition_count, topic_id
from shared.runtimes.live.live_clock import STOPPED_EPOCH, LiveClock, read_epoch
from shared.runtimes.live.partition_replay import OutputMismatch
from shared.runtimes.live.process.health import ProcessHeartbeat, ProcessReport
from shared.runtimes.live.process.process_registry import ProcessInfo, claim_name
from shared.runtimes.live.refused_states import close_refusal, open_refusals
from shared.runtimes.live.twin_record import TWIN_PATTERN, TwinRecord, find_twin, write_twin
from shared.runtimes.live.version_fence import check_no_open_upgrade
from shared.runtimes.live.worker.partition_fold import PartitionFold
from shared.runtimes.operations_log import OperationsLog, last_clock, local_person, new_operation
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.fabric_registry import fabric_place, registered_fabrics
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import FabricPlace, OutboxTrim

ShowProgress = Callable[[str], None]

REBUILD = ProcessInfo("rebuild", "rebuild")
"""Its entry among a twin's processes: one rebuild runs at a time."""


class RebuildReport(TypedDict):
    """A finished rebuild: number of messages on the log, and the digest of all states."""

    twin: str
    messages: int
    fabrics: list[str]
    state_sha256: str


def rebuild_twin(
    settings: LiveSettings, say: ShowProgress, jobs: int | None = None, *, by_snapshots: bool = True
) -> RebuildReport:
    """Rebuild all states, `jobs` partitions at a time.

    With `by_snapshots` from the historian's newest good snapshots, else from the start of the log. Workers
    may run meanwhile: their pending commits are refused, and they continue from the new states.
    OutputMismatch, with nothing changed, if a service of this version emits other messages than the log
    holds. Raises InvalidInput while another rebuild runs.
    """
    store = settings.store()
    store.check()
    with exclusive_rebuild(store):
        return _rebuild(settings, store, say, jobs, by_snapshots)


@contextlib.contextmanager
def exclusive_rebuild(store: RedisStore) -> Iterator[None]:
    """Raise InvalidInput while another rebuild runs; `live status` shows it.

    A killed rebuild is detected at once on its own machine, and elsewhere when its heartbeat stops.
    """
    claim_name(store, REBUILD.name)
    heartbeat = ProcessHeartbeat(REBUILD, store, ProcessReport, lambda: None, address=None)
    heartbeat.start()
    try:
        yield
    finally:
        heartbeat.stop()


def _rebuild(
    settings: LiveSettings, store: RedisStore, say: ShowProgress, jobs: int | None, by_snapshots: bool
) -> RebuildReport:
    endpoints = settings.endpoints
    twin, begins = _identify(settings, store)
    _check_not_upgrading(store, twin)
    create_topics(endpoints.kafka, endpoints.topics, twin.partitions, 1)  # an earlier version created fewer
    operations = KafkaOperations(endpoints)
    _check_fully_made(operations, begins)
    refused = open_refusals(store)
    sentences = [one.sentence.partition(";")[0] for one in refused.values()]
    if find_twin(store) is None:
        sentences.append(f"Redis at {store.name} had no states")
    reason = "; ".join(sentences) or None
    _note(operations, RebuildBegun(software=software_version(), reason=reason))
    snapshots = settings.snapshots_in(twin.twin) if by_snapshots else None
    upgrades = settings.upgrades_in(twin.twin)
    partitions = range(twin.partitions)
    generations = {partition: _generation(store, partition) for partition in partitions}
    tasks = [FoldTask(endpoints, twin.twin, partition, snapshots, upgrades) for partition in partitions]
    try:
        done = [_show_folded(one, say) for one in fold_partitions(tasks, jobs)]
    except OutputMismatch as error:
        for partition in range(twin.partitions):
            store.discard_staged(partition)  # another version stages its own
        _note(operations, RebuildEnded(result="refused", sentence=str(error)))
        raise
    fabrics: dict[str, FabricPlace] = {}
    for one in done:
        fabrics |= _take_over(settings, store, twin, one, generations[one.partition])
    if read_epoch(store) is None:
        _restore_clock(operations, store, say)
    write_twin(store, twin.twin, twin.partitions, twin.topic_id)
    for one in done:
        store.discard_staged(one.partition)
    messages, found = sum(one.mark.end for one in done), states_digest(store, fabrics)
    _note(operations, RebuildEnded(result="done", messages=messages, state_sha256=found))
    for partition in refused:
        close_refusal(store, partition, rebuilt=True)
    named = sorted(fabrics, key=fabric_order)
    return {"twin": twin.twin, "messages": messages, "fabrics": named, "state_sha256": found}


def states_digest(store: RedisStore, fabrics: Mapping[str, FabricPlace]) -> str:
    """SHA-256 over every stored field of every service's state."""
    return state_digest(
        (f"{service.name}@{fabric}", store.load(place.partition, service.name, fabric))
        for fabric, place in fabrics.items()
        for service in services_of(place.kind)
    )


def _check_not_upgrading(store: RedisStore, twin: TwinRecord) -> None:
    """Raise UpgradeNeeded if this version has an unfinished upgrade, because a rebuild would lose what is not
    on the log.

    The previous version may rebuild its states as long as the log does not record the upgrade.
    """
    for partition in range(twin.partitions):
        try:
            values = store.values(partition)
        except StateRefused:
            continue  # nothing in it can be read: the rebuild replaces it
        begun = unfinished_upgrade(values)
        if begun is not None and begun[0] == RULES:
            check_no_open_upgrade(partition, values)


def _identify(settings: LiveSettings, store: RedisStore) -> tuple[TwinRecord, list[Record]]:
    """The twin of the log, and the first batch of each partition; raises OperationFailed if there is no twin,
    or Redis holds another."""
    endpoints = settings.endpoints
    log = endpoints.topics.log
    partitions = partition_count(endpoints.kafka, log)
    begins = [
        record
        for partition in range(partitions)
        for record in next(read_partition(endpoints.kafka, log, partition), [])
    ]
    name = next((found for record in begins if (found := _twin_of_record(record)) is not None), None)
    if name is None:
        raise OperationFailed(f"topic {log}: holds no twin; `lightwave live init` creates one")
    kept = find_twin(store)
    if kept is not None and kept.twin != name:
        raise OperationFailed(
            f"topic {log}: holds twin {name}, Redis at {store.name} holds {kept.twin}; "
            "give the Redis or the prefix that belongs to this twin"
        )
    return TwinRecord(name, partitions, topic_id(endpoints.kafka, log)), begins


def _twin_of_record(record: Record) -> str | None:
    """The name of the twin that a record commissions; None for any other record. Foreign records may carry
    any name."""
    name = record.header(TWIN)
    if name is None or re.fullmatch(TWIN_PATTERN, name) is None:
        return None
    try:
        message = open_record(record, name)
    except Unreadable:
        return None
    return name if message is not None and isinstance(message.body, FabricCommissioned) else None


def _check_fully_made(operations: OperationsLog, begins: Sequence[Record]) -> None:
    """Raise OperationFailed if the creation of the twin was interrupted: a partial twin must not be
    rebuilt."""
    plan = planned_twin(operations)
    there = {str(record.header(SOURCE)) for record in begins if not record.is_void}
    missing = [
        fabric
        for site in (plan.sites if plan is not None else ())
        for fabric in site.fabrics
        if f"sequencer@{fabric}" not in there
    ]
    if missing:
        raise OperationFailed(
            f"the creation of the twin is incomplete: {', '.join(missing)} were planned but are not on the "
            "log; `lightwave live init` finishes its creation"
        )


def _show_folded(one: FoldedPartition, say: ShowProgress) -> FoldedPartition:
    """Report what was folded, by this rebuild or by an earlier one that was killed."""
    if one.mark.end:
        what = "folded before, by an unfinished rebuild" if one.resumed else "folded"
        begun = ", ".join(f"{site} (position {at:,})" for site, at in one.mark.begun.items())
        behind = f", from the snapshots of {begun}" if begun else ""
        say(f"partition {one.partition}: {one.mark.end:,} messages {what}{behind}")
    for sentence in one.stopped:
        say(f"{sentence}; it stays stopped there until `lightwave live skip`")
    return one


def _generation(store: RedisStore, partition: int) -> int | None:
    """The generation of a partition; None if its head cannot be read, which a rebuild replaces."""
    try:
        return store.snapshot(partition, []).generation
    except StateRefused:
        return None


def _take_over(
    settings: LiveSettings,
    store: RedisStore,
    twin: TwinRecord,
    one: FoldedPartition,
    generation: int | None,
) -> dict[str, FabricPlace]:
    """Promote the new states and fold up to the current end of the log; returns the fabrics there.

    If the partition no longer has this generation, another rebuild or an upgrade has replaced its states
    meanwhile, and they stay. UpgradeNeeded if they are of another version then."""
    partition = one.partition
    store.promote_staged(partition, generation)
    store.raise_last_number(partition, one.mark.number)
    store.trim(OutboxTrim(partition, inbox_informed=((0, one.mark.end),)))
    store.discard_after(partition, lambda: log_end(settings.endpoints, partition, one.mark.end))
    if one.mark.end:
        log = settings.endpoints.topics.log
        digests = settings.endpoints.digests(twin.twin)
        folds = [
            PartitionFold(served, partition, twin.twin, store, digests=digests)
            for served in served_services()
        ]
        for batch in read_partition(settings.endpoints.kafka, log, partition, one.mark.end):
            for fold in folds:
                while not fold.take(batch):
                    pass  # a worker was faster; its commit is read back
    living = registered_fabrics(store.values(partition))
    fabrics = {fabric: fabric_place(partition, resident) for fabric, resident in living.items()}
    for fabric, place in fabrics.items():
        store.place(fabric, place)
    return fabrics


def log_end(endpoints: Endpoints, partition: int, end: int) -> int:
    """The current end of a partition of the log, at least `end`."""
    for batch in read_partition(endpoints.kafka, endpoints.topics.log, partition, end):
        end = batch[-1].offset + 1
    return end


def _restore_clock(operations: OperationsLog, store: RedisStore, say: ShowProgress) -> None:
    """Set the clock as it was last changed; it continues from the current time of the fabrics."""
    kept = last_clock(operations)
    if kept is None:
        say("no clock is recorded: simulated time is stopped until `lightwave clock resume`")
        epoch = STOPPED_EPOCH
    else:
        epoch = Epoch(0, 0, kept.speed, kept.paused, kept.until_us, kept.run_speed)
        paused = ", paused" if kept.paused else ""
        say(f"the clock resumes as it was last set: × {kept.speed:g}{paused}")
    LiveClock(store, services_of, lambda: 0.0).start(epoch, local_person())


def _note(operations: OperationsLog, body: OperationBody) -> None:
    operations.append(new_operation(body, local_person()))
