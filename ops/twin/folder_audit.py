"""`lightwave audit`: replay the root messages of a twin's log in the lab, and compare with its log and
states."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from ops.twin.data_folder import DataFolder, FolderInUse, start_own_redis
from ops.twin.forks.fork_origin import fork_about, inherited_difference, read_origin
from ops.twin.operation_notes import refusals
from ops.twin.segmented_audit import (
    AuditedSite,
    UsableSnapshots,
    audit_segment,
    audit_segments,
    merge_results,
    usable_snapshots,
    whole_log,
)
from ops.twin.site_audit import AuditReport, ForkAuditReport, SiteAudit, SiteAuditReport, readers_of
from ops.twin.snapshots import check_records, site_history, snapshot_folder
from shared.basics.errors import NotFound, OperationFailed
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import FabricPlace

ReportAuditProgress = Callable[[str, int, int], None]
"""Receives (site, messages compared, messages in total) from time to time."""


def no_progress(_site: str, _done: int, _whole: int) -> None:
    """Ignores progress."""


def run_audit(
    *, data: Path, redis: str | None = None, jobs: int = 1, report_progress: ReportAuditProgress = no_progress
) -> AuditReport:
    """Audit the twin in `data`, running or not; `clean` in the report is True if everything agrees.

    With several jobs, folds the log in segments between snapshots, and compares the snapshots as well."""
    folder = DataFolder(data)
    if not data.exists() or folder.identity() is None:
        raise NotFound(f"data folder {data}: holds no twin")
    with _store(folder, redis) as store:
        sites: dict[str, dict[str, FabricPlace]] = {}
        for fabric, place in store.fabrics().items():
            sites.setdefault(place.site, {})[fabric] = place
        rows = [
            _audit_site(folder, store, site, places, jobs, report_progress)
            for site, places in sorted(sites.items())
        ]
    fork = _audit_origin(folder, rows)
    clean = bool(rows) and all(
        row["log_clean"] and row["states_clean"] and not row.get("wrong_snapshots") for row in rows
    )
    return {
        "clean": clean and not (fork and fork["differing"]),
        "refused": refusals(OperationsFile(folder.operations)),
        "fork": fork,
        "sites": rows,
    }


def _audit_origin(folder: DataFolder, rows: Sequence[SiteAuditReport]) -> ForkAuditReport | None:
    """The origin of a fork: parent and time, inherited and own messages of each site, and differences in the
    inherited part. None if the twin is not a fork."""
    try:
        origin = read_origin(folder)
    except OperationFailed as error:
        return {"differing": [str(error)]}
    if origin is None:
        return None
    messages = {row["site"]: row["messages"] for row in rows}
    differing = [
        f"{one.site}: {sentence}"
        for one in origin.sites
        if (sentence := inherited_difference(one, site_log(folder.logs, one.site))) is not None
    ]
    own = {one.site: max(0, messages.get(one.site, 0) - one.position) for one in origin.sites}
    return cast("ForkAuditReport", fork_about(origin).model_dump() | {"own": own, "differing": differing})


def _audit_site(
    folder: DataFolder,
    store: RedisStore,
    site: str,
    places: Mapping[str, FabricPlace],
    jobs: int,
    report_progress: ReportAuditProgress,
) -> SiteAuditReport:
    partition = next(iter(places.values())).partition
    snapshot = store.snapshot(partition, readers_of(places), whole=True)
    names = sorted({name for name, _ in readers_of(places)})
    positions = {name: snapshot.positions.get(name, 0) for name in names}
    position = min(positions.values())
    log = ReadOnlyLog(site_log(folder.logs, site))
    check_records(folder, site, log)
    history = site_history(folder, site, log)
    begin, base = history.starting_snapshot(), history.base()
    start = begin.position if begin is not None else 0
    audited = AuditedSite(
        site=site,
        fabrics=tuple(places),
        log=log.content,
        snapshots=snapshot_folder(folder, site),
        states=snapshot.states,
        documents=snapshot.documents,
        position=position,
        begin=begin,
        begin_offset=log.offset_of(start),
    )

    def report_compared(messages: int) -> None:
        report_progress(site, messages, max(position - start, messages))

    by = usable_snapshots(audited) if jobs > 1 else UsableSnapshots()
    parts = (
        audit_segments(audited, by.offsets, jobs, report_compared)
        if by.offsets
        else [audit_segment(audited, whole_log(audited), report_compared)]
    )
    found = merge_results(parts)
    audit = SiteAudit(site, audited.fabrics, snapshot.states)
    audit.requests, audit.dead_letters = found.requests, found.dead_letters
    audit.difference, audit.differing = found.difference, found.differing
    if snapshot.outbox:
        audit.differing.append(f"{len(snapshot.outbox)} outbox entries, which an embedded twin never has")
    if not position:
        audit.differing += [f"{name}: nothing committed" for name in names]
    if len(set(positions.values())) > 1:
        audit.differing.append(f"services are at different positions {positions}")
    messages = start + found.messages
    if audit.difference is None and messages < position:
        audit.differing.append(f"states have read {position} messages, but the log holds {messages}")
    report = audit.report(messages, position)
    report["since"] = None if base is None else base.as_report()
    report["parts"] = len(parts)
    report["wrong_snapshots"] = [sentence for _, sentence in sorted(found.wrong.items())]
    report["unused_snapshots"] = by.refused
    return report


@contextlib.contextmanager
def _store(folder: DataFolder, redis: str | None) -> Iterator[RedisStore]:
    """The store in this Redis, or else that of the running twin. If no twin runs, starts the folder's own
    server for the duration of the audit."""
    with contextlib.ExitStack() as stack:
        url = redis or _running_store(folder, stack) or _own_store(folder, stack)
        store = RedisStore(url)
        stack.callback(store.close)
        store.check()
        yield store


def _running_store(folder: DataFolder, stack: contextlib.ExitStack) -> str | None:
    """The Redis of the twin that runs in this folder. If none runs, locks the folder and returns None.

    An announcement in the folder is not enough: a copied folder names the Redis of the original."""
    try:
        folder.hold()
    except FolderInUse:
        running = folder.running()
        if running is None:
            raise
        return running.redis
    stack.callback(folder.release)
    return None


def _own_store(folder: DataFolder, stack: contextlib.ExitStack) -> str:
    if not folder.redis.is_dir():
        raise NotFound(
            f"data folder {folder.path}: holds no states; give the Redis that the twin uses with --redis, or "
            "start the twin, which rebuilds them from its log"
        )
    return start_own_redis(folder, stack)
