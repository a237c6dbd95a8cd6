"""The point of a backup: between two steps of the loop of a running twin, or the end of a stopped one."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

import orjson

from ops.local.software_version import software_version
from ops.twin.data_folder import DataFolder, TwinIdentity, start_own_redis
from schemas.files.backup_manifest import BackupPoint, SavedClock, SiteLogCut, WaitingRequest
from schemas.files.operations_log import TwinForked, TwinPlanned, TwinRestored
from shared.basics.errors import LogDamaged, NotFound, OperationFailed
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.twin_loop import EmbeddedTwin
from shared.storage.inbox.inbox_backup import InboxBackup
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog
from shared.storage.store.redis_store import RedisStore


def own_backup_point(
    folder: DataFolder, identity: TwinIdentity, twin: EmbeddedTwin, clock: EmbeddedClock, store_url: str
) -> BackupPoint:
    """The point of the twin that runs in this process. Raises OperationFailed while its time is stopped by an
    error."""
    with contextlib.closing(InboxBackup(store_url, [site.name for site in twin.sites])) as copy:

        def read_point() -> BackupPoint:
            cuts = [_cut(site) for site in twin.sites]
            kept = SavedClock.model_validate(clock.kept())
            return _point(folder, identity, cuts, kept, copy.waiting())

        return _with_cancelled(twin.run_when_quiet(read_point), copy)


def stopped_backup_point(folder: DataFolder, redis: str | None) -> BackupPoint:
    """The point of a stopped twin, whose folder the caller has locked. `redis` has its states, if the folder
    does not. Raises LogDamaged if a log has lost its end."""
    identity = folder.identity()
    if identity is None:
        raise NotFound(f"data folder {folder.path}: holds no twin")
    with contextlib.ExitStack() as stack:
        url = redis or _own_store(folder, stack)
        sites = [plan.site for plan in identity.sites]
        copy = stack.enter_context(contextlib.closing(InboxBackup(url, sites)))
        store = stack.enter_context(contextlib.closing(RedisStore(url)))
        store.check()
        waiting = copy.waiting()
        cuts, ends_us = [], [0]
        for partition, site in enumerate(sites):
            log = ReadOnlyLog(site_log(folder.logs, site))
            cut = SiteLogCut(site=site, position=log.end, size=log.size)
            read = max(store.positions(partition).values(), default=0)
            if read > cut.position:
                raise LogDamaged(
                    f"{site}: its states have read {read} messages, but its log holds only {cut.position}; "
                    "the end of the log is lost; `lightwave up --rebuild` continues without it"
                )
            cuts.append(cut)
            ends_us.append(log.end_us)
        clock = folder.stored_clock()
        clock = clock.model_copy(update={"now_us": max(clock.now_us, *ends_us)})
        return _with_cancelled(_point(folder, identity, cuts, clock, waiting), copy)


def twin_identity(operations: OperationsFile) -> str:
    """The identity of a twin in its operations log; empty if that is lost."""
    bodies = [found.body for _, found in operations.read()]
    made = [body.twin for body in bodies if isinstance(body, TwinForked | TwinRestored)]
    planned = [body.twin for body in bodies if isinstance(body, TwinPlanned)]
    return ["", *planned[:1], *made[-1:]][-1]


def _point(
    folder: DataFolder,
    identity: TwinIdentity,
    cuts: Sequence[SiteLogCut],
    clock: SavedClock,
    waiting: tuple[WaitingRequest, ...],
) -> BackupPoint:
    return BackupPoint(
        twin=twin_identity(OperationsFile(folder.operations)),
        software=software_version(),
        wall_us=time.time_ns() // 1_000,
        plans=identity.sites,
        sites=tuple(cuts),
        clock=clock,
        inbox=waiting,
        cancelled=(),
        operations_size=_size(folder.operations),
        letters_size=_size(folder.dead_letters),
    )


def _with_cancelled(point: BackupPoint, copy: InboxBackup) -> BackupPoint:
    """The point, with the cancelled idempotency keys. Keys of requests that waited at the point were
    cancelled later."""
    waits = {orjson.loads(row.body).get("key") for row in point.inbox}
    keys = tuple(row for row in copy.cancelled() if row.key not in waits)
    return point.model_copy(update={"cancelled": keys})


def _cut(site: SiteRunner) -> SiteLogCut:
    if not site.is_quiet():
        raise OperationFailed(f"{site.name}: its log has messages that are not committed yet; retry")
    return SiteLogCut(site=site.name, position=site.position, size=site.log_size)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _own_store(folder: DataFolder, stack: contextlib.ExitStack) -> str:
    if not folder.redis.is_dir():
        raise NotFound(
            f"data folder {folder.path}: holds no inbox; give the Redis that the twin uses with --redis"
        )
    return start_own_redis(folder, stack)
