"""`lightwave live upgrade`: the states of a live twin whose processes have ended, as another version left
them, become this version's, and the log on Kafka says so.

The steps are those of `lightwave upgrade`, for each partition of the log, and each can be done again. Which
message of its site's log an upgrade is, is told by a copy of that log, which a gateway keeps.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ops.common.version import software
from ops.live.audit import skips_of
from ops.live.rebuild import alone
from ops.live.settings import LiveSettings
from ops.twin.upgrade_check import Tell, differences
from schemas.envelope import Envelope
from schemas.registry import Unreadable
from schemas.upgrade import Upgraded
from services.fleet import services_of
from shared.basics.errors import OperationFailed, UpgradeNeeded
from shared.engine.rules import RULES, StatesCode, begun_note, code_note, code_of, noted_code
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.runtimes.live.kafka.mirror import LogMirror
from shared.runtimes.live.kafka.records import open_record
from shared.runtimes.live.kafka.scan import read_partition
from shared.runtimes.live.one_version import REMAKE, UPGRADE, check_not_begun
from shared.runtimes.live.process.heartbeat import processes
from shared.runtimes.live.process.joining import check_log
from shared.runtimes.live.sequencer.partition import root_entry
from shared.runtimes.live.twin_record import TwinRecord, read_twin
from shared.storage.memory import MemoryStore
from shared.storage.redis_store import RedisStore
from shared.storage.residents import awaited, residents
from shared.storage.snapshots.as_commit import commit_of
from shared.storage.snapshots.history import History
from shared.storage.snapshots.upgrade import (
    SiteUpgrade,
    held_states,
    needs_upgrade,
    planned_upgrade,
)
from shared.storage.store import Commit, OutboxTrim, Snapshot

COPY_S_MAX = 3_600.0
"""How long the copy of the log may take to be whole: a pod-year takes a minute."""
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class PartitionUpgrade:
    """What is to become of a partition that all services have read up to `end`: of each of its sites, in
    order of the offsets at which their messages stand, or will."""

    partition: int
    end: int
    offsets: tuple[int, ...]
    sites: tuple[SiteUpgrade, ...]


def upgrade_live(settings: LiveSettings, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Upgrade every partition of the twin that needs it; a row for each of its sites. OperationFailed while a
    process of the twin runs, or where the version before has left something half done; UpgradeNeeded where
    this version cannot take it over."""
    with _ended(settings) as (store, twin):
        if not _is_needed(store, twin):
            return []
        with _copied(settings, twin, say) as mirror:
            found = _all_planned(settings, store, twin, mirror)
            for one in found:
                _take_over(settings, store, twin, one)
    return [site.told() | {"partition": one.partition} for one in found for site in one.sites]


def check_live_upgrade(
    settings: LiveSettings, say: Callable[[str], None], tell: Tell
) -> list[dict[str, Any]]:
    """What `upgrade_live` would do, which is not done, and what this version would have made of the log that
    there is. Errors as there."""
    with _ended(settings) as (store, twin):
        if not _is_needed(store, twin):
            return []
        with _copied(settings, twin, say) as mirror:
            rows = []
            for one in _all_planned(settings, store, twin, mirror):
                skips = skips_of(settings, twin, one.partition)
                for site in one.sites:
                    log = mirror.logs.open(site.site)
                    snapshots = settings.snapshots_folder(twin.twin, site.site)
                    begin = History(log, snapshots, services_of).begin_at()
                    found = differences(site, log, begin, tell, skips)
                    rows.append(site.told() | {"partition": one.partition} | found)
            return rows


@contextlib.contextmanager
def _ended(settings: LiveSettings) -> Iterator[tuple[RedisStore, TwinRecord]]:
    """A twin of which no process runs, and that nobody rebuilds meanwhile."""
    store = settings.store()
    store.check()
    twin = read_twin(store)
    check_log(settings.endpoints, twin)
    with alone(store):
        _check_ended(store)
        yield store, twin


def _is_needed(store: RedisStore, twin: TwinRecord) -> bool:
    """Whether any partition has states that this version cannot go on with: its log is copied only then."""
    return any(_code_of(store, partition) is not None for partition in range(twin.partitions))


def _all_planned(
    settings: LiveSettings, store: RedisStore, twin: TwinRecord, mirror: LogMirror
) -> list[PartitionUpgrade]:
    """Known of all partitions before anything is changed in one."""
    return [
        upgrade
        for partition in range(twin.partitions)
        if (upgrade := _planned(settings, store, twin, partition, mirror)) is not None
    ]


def _check_ended(store: RedisStore) -> None:
    """A process of the version before would go on with what is taken away from it."""
    alive = [row["name"] for row in processes(store) if row["alive"] and row["kind"] != "rebuild"]
    if alive:
        raise OperationFailed(
            f"{', '.join(alive)}: still run; pause the clock, wait until `lightwave live status` says that "
            "all is read, and end every process of the twin"
        )


@contextlib.contextmanager
def _copied(settings: LiveSettings, twin: TwinRecord, say: Callable[[str], None]) -> Iterator[LogMirror]:
    """A whole copy of the log."""
    mirror = LogMirror(settings.data / "mirror", settings.endpoints, twin, frames=False)
    mirror.start()
    try:
        until_s = time.monotonic() + COPY_S_MAX
        while (lacking := mirror.lacking()) is not None:
            if mirror.lost or time.monotonic() > until_s:
                raise OperationFailed(mirror.problem or lacking)
            time.sleep(LOOK_S)
        say(f"the log is copied to {settings.data}")
        yield mirror
    finally:
        mirror.stop()


def _planned(
    settings: LiveSettings, store: RedisStore, twin: TwinRecord, partition: int, mirror: LogMirror
) -> PartitionUpgrade | None:
    """None where nothing lives, or this version goes on with what is there."""
    code = _code_of(store, partition)
    if code is None:
        return None
    found = store.snapshot(partition, [])
    living = residents(found.values)
    left = len(store.view(partition, 1).dead_letters) + found.outbox_size
    end = _end_of(found, awaited(living, services_of), left, partition, code)
    tail, free = _tail(settings, twin, partition, end)
    sites: dict[str, dict[str, str]] = {}
    for fabric, resident in living.items():
        sites.setdefault(resident.site, {})[fabric] = resident.kind
    upgrades = []
    for site, of_site in sorted(sites.items()):
        log = mirror.logs.open(site)
        beyond = sum(message.fabric in of_site for _, message in tail)
        held = held_states(store, partition, site, of_site, log.end - beyond, code, services_of)
        upgrades.append(planned_upgrade(held, log, services_of, software()))
    offsets = {message.id: offset for offset, message in tail}
    # Those that are on the log already stand where they stand.
    places = []
    for upgrade in upgrades:
        if upgrade.on_log:
            places.append(offsets[upgrade.message.id])
        else:
            places.append(free)
            free += 1
    return PartitionUpgrade(partition, end, tuple(places), tuple(upgrades))


def _code_of(store: RedisStore, partition: int) -> StatesCode | None:
    """The code that left a partition's states; None where nothing lives, or this version may go on."""
    where = f"partition {partition}"
    values = store.values(partition)
    living = residents(values)
    if not living:
        return None
    code = noted_code(values)
    if code is None:
        raise UpgradeNeeded(
            f"{where}: its states are of a version before rules had a number: `{REMAKE}` makes them again"
        )
    own = code_of([resident.kind for resident in living.values()], services_of, software())
    check_not_begun(partition, values, ends=own.rules)
    return code if needs_upgrade(where, code, own, upgrade=UPGRADE, remake=REMAKE) else None


def _end_of(found: Snapshot, services: Sequence[str], left: int, partition: int, code: StatesCode) -> int:
    """The position at which all services stand, with nothing `left` to write."""
    stood = {found.positions.get(service, 0) for service in services}
    if len(stood) > 1 or left:
        raise OperationFailed(
            f"partition {partition}: its services stand at {', '.join(map(str, sorted(stood)))}, with "
            f"{left} messages not on Kafka yet: what {code.software} began, only that version "
            "ends; start it, pause the clock, wait until all is read, and end it"
        )
    return stood.pop()


def _tail(
    settings: LiveSettings, twin: TwinRecord, partition: int, end: int
) -> tuple[list[tuple[int, Envelope]], int]:
    """(offset, message) of what stands beyond all that was read: an upgrade that was cut off, or nothing. And
    the offset of the next record: void ones may stand there, too."""
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
                    f"partition {partition}: the log holds {message.id} at {record.offset}, and services "
                    f"have read up to {end}; start the version before, pause the clock, and wait until all "
                    "is read"
                )
            found.append((record.offset, message))
    return found, after


def _take_over(settings: LiveSettings, store: RedisStore, twin: TwinRecord, found: PartitionUpgrade) -> None:
    partition, end = found.partition, found.end
    _fence(store, partition)
    for offset, upgrade in zip(found.offsets, found.sites, strict=True):
        folder = settings.snapshots_folder(twin.twin, upgrade.site).kept_upgrades
        folder.put(replace(upgrade.snapshot, offset=offset + 1), lasting=True)
    asyncio.run(_append(settings, twin, found))
    memory = MemoryStore()
    after = max(found.offsets) + 1
    values: dict[str, str | None] = {"end": str(after)}
    services = awaited(residents(store.values(partition)), services_of)
    for upgrade in found.sites:
        site = upgrade.snapshot.restored(services_of)
        values |= code_note(StatesCode(upgrade.snapshot.rules, upgrade.snapshot.forms, software()))
        memory.commit(commit_of(site, upgrade.snapshot.kinds, partition))
    image = memory.image(partition)
    positions = dict.fromkeys(services, after)
    store.stage(replace(image, positions=positions, fields={**image.fields, **values}), "")
    store.take_over(partition)
    store.unstage(partition)
    store.trim(OutboxTrim(partition, noted=((end, after),)))
    store.forget_beyond(partition, lambda: after)


def _fence(store: RedisStore, partition: int) -> None:
    """Until the states are replaced nobody joins or commits: a process of the version before would go on by
    its rules behind what the log says then."""
    held = store.snapshot(partition, [])
    note = begun_note(StatesCode(RULES, {}, software()))
    if not store.commit(Commit(partition, {}, {}, fields=note, generation=held.generation)):
        raise OperationFailed(f"partition {partition}: somebody made its states again meanwhile; ask again")


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
                    f"partition {found.partition}: somebody else wrote to the log meanwhile, at {offset}; "
                    "end every process of the twin"
                )
    finally:
        await appender.close()
