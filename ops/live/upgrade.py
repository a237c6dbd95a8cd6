"""`lightwave live upgrade`: convert the states of a stopped live twin to this version, and record it on the
log.

The steps are in `ops/twin/upgrade_steps.py`. Here a partition of the log holds messages of several sites. The
position of the upgrade message in its site's log is read from a copy of that log, like a gateway's.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ops.live.audit import skips_in_log
from ops.live.rebuild import exclusive_rebuild, log_end
from ops.live.settings import LiveSettings
from ops.local.software_version import software_version
from ops.twin.site_audit import ReportUpgradeProgress
from ops.twin.upgrade_steps import (
    PartitionUpgrade,
    StoppedTwin,
    UpgradeCheckRow,
    UpgradeCommands,
    UpgradeRow,
    check_partitions,
    code_to_upgrade,
    planned_site,
    upgrade_partitions,
)
from schemas.envelope import Envelope
from schemas.messages.upgrade import Upgraded
from schemas.registry import Unreadable
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.code_version import (
    RULES,
    StateCodeVersion,
    code_version_values,
    recorded_code_version,
    upgrade_begun_value,
)
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import open_record
from shared.runtimes.live.process.process_registry import processes
from shared.runtimes.live.process.startup import check_log
from shared.runtimes.live.sequencer.partition_sequencer import root_entry
from shared.runtimes.live.twin_record import TwinRecord, read_twin
from shared.runtimes.live.version_fence import REBUILD_COMMAND, UPGRADE_COMMAND, check_no_open_upgrade
from shared.storage.snapshots.snapshot_commit import site_commit
from shared.storage.store.fabric_registry import (
    FabricRegistration,
    registered_fabrics,
    services_in_partition,
)
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_commits import check_head_values, sealed_image
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import Commit, OutboxTrim, PartitionSnapshot

COPY_S_MAX = 3_600.0
"""Maximum time to copy the log: a pod-year takes a minute."""
POLL_S = 0.1


COMMANDS = UpgradeCommands(UPGRADE_COMMAND, REBUILD_COMMAND)


def upgrade_live(settings: LiveSettings, say: Callable[[str], None]) -> list[UpgradeRow]:
    """Upgrade every partition of the twin that needs it; returns a row per site.

    Raises OperationFailed while a process of the twin runs, or if the previous version left unfinished work.
    Raises UpgradeNeeded if this version cannot upgrade the states.
    """
    with _stopped_twin(settings, say) as twin:
        return [] if twin is None else upgrade_partitions(twin)


def check_live_upgrade(
    settings: LiveSettings, say: Callable[[str], None], report_progress: ReportUpgradeProgress
) -> list[UpgradeCheckRow]:
    """Show what `upgrade_live` would do, and where this version would have produced another log. Same
    errors."""
    with _stopped_twin(settings, say) as twin:
        return [] if twin is None else check_partitions(twin, report_progress)


@contextlib.contextmanager
def _stopped_twin(settings: LiveSettings, say: Callable[[str], None]) -> Iterator[StoppedTwin | None]:
    """A twin without running processes, locked against rebuilds; None if no partition needs an upgrade. The
    log is copied only if one does."""
    store = settings.store()
    store.check()
    twin = read_twin(store)
    check_log(settings.endpoints, twin)
    with exclusive_rebuild(store):
        _check_processes_stopped(store)
        if not _is_needed(store, twin, settings.endpoints.digests(twin.twin)):
            yield None
            return
        with _log_copy(settings, twin, say) as mirror:
            yield StoppedTwin(
                planned=partial(_planned_partitions, settings, store, twin, mirror),
                log=mirror.logs.open,
                snapshots=partial(settings.snapshots_folder, twin.twin),
                append_messages=lambda upgrade: asyncio.run(_append(settings, twin, upgrade)),
                replace_states=partial(_replace_states, settings, store, twin),
                keep_writers_out=lambda upgrade: _fence(store, upgrade),
                skips=partial(skips_in_log, settings, twin),
                labels=lambda partition: {"partition": partition},
            )


def _is_needed(store: RedisStore, twin: TwinRecord, digests: StateDigests) -> bool:
    """Whether any partition has states that this version cannot use."""
    return any(_code_of(store, partition, digests) is not None for partition in range(twin.partitions))


def _check_processes_stopped(store: RedisStore) -> None:
    """Raise OperationFailed if a process runs: it would continue with states that are replaced."""
    alive = [row["name"] for row in processes(store) if row["alive"] and row["kind"] != "rebuild"]
    if alive:
        raise OperationFailed(
            f"{', '.join(alive)}: still running; pause the clock, wait until `lightwave live status` shows "
            "that everything is read, and stop every process of the twin"
        )


@contextlib.contextmanager
def _log_copy(settings: LiveSettings, twin: TwinRecord, say: Callable[[str], None]) -> Iterator[LogMirror]:
    """A whole copy of the log."""
    mirror = LogMirror(settings.data / "mirror", settings.endpoints, twin, frames=False)
    mirror.start()
    try:
        until_s = time.monotonic() + COPY_S_MAX
        while (missing_records := mirror.missing_records()) is not None:
            if mirror.lost or time.monotonic() > until_s:
                raise OperationFailed(mirror.problem or missing_records)
            time.sleep(POLL_S)
        say(f"the log was copied to {settings.data}")
        yield mirror
    finally:
        mirror.stop()


def _planned_partitions(
    settings: LiveSettings, store: RedisStore, twin: TwinRecord, mirror: LogMirror
) -> list[PartitionUpgrade]:
    planned = (_planned(settings, store, twin, partition, mirror) for partition in range(twin.partitions))
    return [upgrade for upgrade in planned if upgrade is not None]


def _planned(
    settings: LiveSettings, store: RedisStore, twin: TwinRecord, partition: int, mirror: LogMirror
) -> PartitionUpgrade | None:
    """None if the partition is empty, or if this version can use its states."""
    digests = settings.endpoints.digests(twin.twin)
    code = _code_of(store, partition, digests)
    if code is None:
        return None
    found = store.snapshot(partition, [])
    living = registered_fabrics(found.values)
    left = len(store.view(partition, 1).dead_letters) + found.outbox_size
    end = _partition_end(found, _known_services(living, code), left, partition, code)
    tail, free = _tail(settings, twin, partition, end)
    sites: dict[str, dict[str, str]] = {}
    for fabric, resident in living.items():
        sites.setdefault(resident.site, {})[fabric] = resident.kind
    upgrades = []
    for site, of_site in sorted(sites.items()):
        log = mirror.logs.open(site)
        beyond = sum(message.fabric in of_site for _, message in tail)
        upgrades.append(planned_site(store, partition, site, of_site, log.end - beyond, code, log, digests))
    offsets = {message.id: offset for offset, message in tail}
    # Upgrade messages that are already on the log keep their offsets.
    places = []
    for upgrade in upgrades:
        if upgrade.on_log:
            places.append(offsets[upgrade.message.id])
        else:
            places.append(free)
            free += 1
    placed = [
        replace(upgrade, snapshot=replace(upgrade.snapshot, offset=offset + 1))
        for upgrade, offset in zip(upgrades, places, strict=True)
    ]
    return PartitionUpgrade(partition, tuple(placed), end, tuple(places), found.generation)


def _code_of(store: RedisStore, partition: int, digests: StateDigests) -> StateCodeVersion | None:
    """The code version of a partition's states; None if it is empty, or if this version can use them."""
    found = store.snapshot(partition, [])
    check_head_values(digests, partition, found)
    values = found.values
    living = registered_fabrics(values)
    if not living:
        return None
    check_no_open_upgrade(partition, values, ends=RULES)
    kinds = [resident.kind for resident in living.values()]
    return code_to_upgrade(f"partition {partition}", values, kinds, COMMANDS)


def _known_services(living: Mapping[str, FabricRegistration], code: StateCodeVersion) -> list[str]:
    """The services of a partition that the version `code` had, too. A service that is new in this version has
    read nothing yet, or a part of the log in a worker that was started before the upgrade."""
    return [name for name in services_in_partition(living, services_of) if name in code.layouts]


def _partition_end(
    found: PartitionSnapshot, services: Sequence[str], left: int, partition: int, code: StateCodeVersion
) -> int:
    """The position of all services, if it is the same and nothing is `left` to append."""
    positions = {found.positions.get(service, 0) for service in services}
    if len(positions) > 1 or left:
        raise OperationFailed(
            f"partition {partition}: its services are at positions {', '.join(map(str, sorted(positions)))}, "
            f"with {left} messages not on Kafka yet; only version {code.software} can finish its own "
            "work: start it, pause the clock, wait until everything is read, and stop it"
        )
    return positions.pop()


def _tail(
    settings: LiveSettings, twin: TwinRecord, partition: int, end: int
) -> tuple[list[tuple[int, Envelope]], int]:
    """(offset, message) of every unread message, and the offset of the next record.

    Unread messages can only come from an interrupted upgrade. Void records may follow."""
    endpoints = settings.endpoints
    found: list[tuple[int, Envelope]] = []
    after = end
    for batch in read_partition(endpoints.kafka, endpoints.topics.log, partition, end):
        after = batch[-1].offset + 1
        for record in batch:
            try:
                message = open_record(record, twin.twin)
            except Unreadable:
                continue
            if message is None:
                continue
            if not isinstance(message.body, Upgraded):
                raise OperationFailed(
                    f"partition {partition}: the log holds {message.id} at {record.offset}, but services "
                    f"have read up to {end} only; start the previous version, pause the clock, and wait "
                    "until everything is read"
                )
            found.append((record.offset, message))
    return found, after


def _replace_states(
    settings: LiveSettings, store: RedisStore, twin: TwinRecord, found: PartitionUpgrade
) -> None:
    partition, end = found.partition, found.end
    digests = settings.endpoints.digests(twin.twin)
    if store.snapshot(partition, []).generation != found.generation:
        raise _overtaken(partition)
    memory = MemoryStore()
    after = max(found.offsets) + 1
    values: dict[str, str | None] = {"end": str(after)}
    services = services_in_partition(registered_fabrics(store.values(partition)), services_of)
    for upgrade in found.sites:
        site = upgrade.snapshot.restored(services_of)
        values |= code_version_values(
            StateCodeVersion(upgrade.snapshot.rules, upgrade.snapshot.layouts, software_version())
        )
        memory.commit(site_commit(site, upgrade.snapshot.kinds, partition))
    image = memory.image(partition)
    positions = dict.fromkeys(services, after)
    whole = replace(image, positions=positions, fields={**image.fields, **values})
    store.stage(sealed_image(digests, whole, software_version()), "")
    # If this process was stopped, the log has requests after the upgrade by now, whose keys stay.
    store.discard_after(partition, lambda: log_end(settings.endpoints, partition, after))
    is_promoted = store.promote_staged(partition, found.generation)
    store.discard_staged(partition)
    if not is_promoted:
        raise _overtaken(partition)
    store.trim(OutboxTrim(partition, inbox_informed=((end, after),)))


def _fence(store: RedisStore, upgrade: PartitionUpgrade) -> None:
    """Keep processes from joining and committing until the states are replaced.

    A process of the previous version would continue with its own rules after the upgrade message.
    OperationFailed if the states are not those that the upgrade was planned from: this process stood
    still, and another one finished the upgrade, or continued with the twin."""
    partition = upgrade.partition
    values = store.values(partition)
    code = recorded_code_version(values)
    services = () if code is None else _known_services(registered_fabrics(values), code)
    note = upgrade_begun_value(StateCodeVersion(RULES, {}, software_version()))
    at_end = dict.fromkeys(services, upgrade.end)
    if not store.commit(Commit(partition, at_end, {}, fields=note, generation=upgrade.generation)):
        raise _overtaken(partition)


def _overtaken(partition: int) -> OperationFailed:
    return OperationFailed(
        f"partition {partition}: another process replaced its states, or continued from them, while this "
        "upgrade ran, which leaves them as they are; try again"
    )


async def _append(settings: LiveSettings, twin: TwinRecord, found: PartitionUpgrade) -> None:
    endpoints = settings.endpoints
    appender = KafkaAppender(endpoints.kafka, endpoints.topics)
    try:
        for offset, upgrade in zip(found.offsets, found.sites, strict=True):
            if upgrade.on_log:
                continue
            entry = root_entry(upgrade.site, upgrade.message, twin.twin, offset=offset, quiet=found.end)
            (landed,) = await appender.append(found.partition, [entry])
            if landed != offset:
                raise OperationFailed(
                    f"partition {found.partition}: another writer appended to the log meanwhile, at "
                    f"{offset}; stop every process of the twin"
                )
    finally:
        await appender.close()
