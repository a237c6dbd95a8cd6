"""Fold the partitions of a log in parallel, each in its own process.

Each image is staged next to the current states, with a mark, so that a rebuild can continue after a kill.
"""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from pydantic import ValidationError

from ops.local.software_version import code_sha256, software_version
from schemas.body import Model
from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from services.fabric_kinds import by_kind, services_of
from services.service_names import service_names
from shared.basics.errors import LogDamaged, SnapshotRefused
from shared.engine.state_codec import state_digest
from shared.runtimes.child_process import end_with_parent
from shared.runtimes.live.kafka.layout import SOURCE, Endpoints
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.partition_replay import (
    ADVICE,
    OutputMismatch,
    PartitionReplay,
    ReplayStart,
    UnfoldedLog,
)
from shared.runtimes.live.worker.partition_fold import ServedService
from shared.storage.inbox.request_inbox import logged_requests
from shared.storage.snapshots.fold_start import LOST_ADVICE, rules_upgrade_in
from shared.storage.snapshots.site_history import snapshots_of_log
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_commit import site_commit
from shared.storage.snapshots.snapshot_folder import SNAPSHOT_SUFFIX, SnapshotFolder
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_commits import sealed_image
from shared.storage.store.state_store import Commit

# The start of a partition's fold: the newest good snapshot of each of its sites.


def start_from_snapshots(
    line_before: Callable[[int], bytes],
    partition: int,
    sites: Mapping[str, int],
    snapshots: Path | None,
    upgrades: Path,
) -> tuple[ReplayStart | None, dict[str, int]]:
    """The start of a fold from the newest good snapshots in `snapshots`/SITE, with the position of each
    snapshot used.

    None if the fold must start at the beginning of the log. If a site was upgraded to other rules, its fold
    starts at the snapshot in `upgrades`/SITE or later. `line_before` returns the line before an offset of the
    partition, empty if the partition is shorter. `sites` are the offsets at which the sites begin. Snapshots
    that are damaged, of another log or of another layout are logged and skipped.
    """
    commits: list[Commit] = []
    emitted: dict[str, int] = {}
    positions: dict[str, int] = {}
    begins = dict(sites)
    for site in sites:
        helps = snapshots / site if snapshots is not None else None
        for found in _usable_snapshots(line_before, site, helps, upgrades / site):
            try:
                restored = found.restored(services_of)
            except (LogDamaged, SnapshotRefused) as error:
                log.warning(
                    "%s, snapshot of position %d: %s; an older one is used", site, found.position, error
                )
                continue
            commits.append(site_commit(restored, found.kinds, partition))
            emitted |= {one.source: one.emitted for one in restored.instances}
            positions[site], begins[site] = found.position, int(found.offset or 0)
            break
    offset = min(begins.values(), default=0)
    return (ReplayStart(offset, tuple(commits), emitted, begins) if positions else None), positions


def _usable_snapshots(
    line_before: Callable[[int], bytes], site: str, snapshots: Path | None, upgrades: Path
) -> Iterator[SiteSnapshot]:
    """The good snapshots of this log, newest first, then its upgrade snapshots."""

    def last_line(found: SiteSnapshot) -> bytes:
        return line_before(found.offset or 0)

    if snapshots is not None:
        folder = SnapshotFolder(snapshots, site, software_version())
        yield from snapshots_of_log((found for found in folder.good() if found.offset), last_line)
    record = SnapshotFolder(upgrades, site, software_version())
    for found in snapshots_of_log((found for found in record.good() if found.offset), last_line):
        base = rules_upgrade_in(last_line(found), found.position)
        if base is not None and found.digest == base.body.state_sha256:
            yield found
        elif base is not None:
            path = record.path(found.position)
            log.warning("snapshot %s: does not match the states on the log; %s", path, LOST_ADVICE)


log = logging.getLogger("lightwave.live")


class ImageMark(Model):
    """The source of a staged image: the twin, the code, and the log up to `end`, with the digest of its last
    record.

    `state_sha256` is the digest of its states, `number` the highest number of operator requests. `begun` has
    the position of each site's snapshot that the fold started from; it is empty if the fold started with the
    log. `digest_key` is the fingerprint of the key of its digests.
    """

    twin: str
    code: str
    begun: dict[str, int]
    end: int
    last_sha256: str
    state_sha256: str
    number: int
    digest_key: str


@dataclass(frozen=True, slots=True)
class FoldedPartition:
    """A folded partition. `resumed`: an earlier process folded it. `stopped`: sentences of services that
    raised."""

    partition: int
    mark: ImageMark
    resumed: bool = False
    stopped: tuple[str, ...] = ()


def served_services() -> list[ServedService]:
    """Every service, as its workers serve it."""
    return [ServedService(name, by_kind(name), services_of) for name in service_names()]


@dataclass(frozen=True, slots=True)
class FoldTask:
    """A partition to fold. `snapshots`: folder of the sites' snapshots, None to use the log alone.
    `upgrades`: folder of their upgrade snapshots."""

    endpoints: Endpoints
    twin: str
    partition: int
    snapshots: Path | None
    upgrades: Path


def fold_partitions(tasks: Sequence[FoldTask], jobs: int | None) -> Iterator[FoldedPartition]:
    """Fold every partition and stage its image; yields results in order. Raises OutputMismatch that names the
    difference."""
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    if workers == 1:
        yield from (fold_partition(task) for task in tasks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        try:
            yield from pool.map(fold_partition, tasks)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def fold_partition(task: FoldTask) -> FoldedPartition:
    """Fold one partition up to its current end, unless its image is already staged."""
    endpoints = task.endpoints
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    digests = endpoints.digests(task.twin)
    try:
        kept = _matching_mark(store, task)
        if kept is not None:
            return FoldedPartition(task.partition, kept, resumed=True)
        folding = _PartitionFolding(task, store)
        fold, image, begun = folding.done()
        mark = ImageMark(
            twin=task.twin,
            code=code_sha256(),
            begun=begun,
            end=fold.end,
            last_sha256=_sha256(folding.last),
            state_sha256=_digest(image),
            number=folding.number,
            digest_key=digests.fingerprint,
        )
        store.stage(
            sealed_image(digests, image, software_version()), mark.model_dump_json()
        )  # False: another rebuild has finished already
        return FoldedPartition(task.partition, mark, stopped=tuple(fold.stopped))
    finally:
        store.close()


class _PartitionFolding:
    """The fold of one partition. `number` is the highest operator request so far, `last` the last line
    read."""

    def __init__(self, task: FoldTask, store: RedisStore) -> None:
        self.number = 0
        self.last = b""
        self._task = task
        self._store = store

    def done(self) -> tuple[PartitionReplay, Commit, dict[str, int]]:
        """The fold, its image, and the position of each site's snapshot that it started from."""
        for snapshots in (self._task.snapshots, None) if self._task.snapshots is not None else (None,):
            found = self._fold_from_snapshots(snapshots)
            if found is not None:
                return found
        fold = self._fold_from(None)
        return fold, fold.image(), {}

    def _fold_from_snapshots(
        self, snapshots: Path | None
    ) -> tuple[PartitionReplay, Commit, dict[str, int]] | None:
        """Fold from snapshots; None if there are none, or if the fold differs from the log, which is
        logged."""
        task = self._task
        folders = [task.upgrades, *([snapshots] if snapshots is not None else [])]
        if not any(found for folder in folders for found in folder.glob(f"*/*{SNAPSHOT_SUFFIX}")):
            return None  # the log need not be read for it
        past = UnfoldedLog(task.partition, task.twin, served_services())
        for batch in self._records(0):
            self._record_requests(batch, past.take(batch))
        begun, positions = start_from_snapshots(
            self._line_before, task.partition, past.sites, snapshots, task.upgrades
        )
        if begun is None:
            return None
        try:
            fold = self._fold_from(begun)
            image = fold.image()
            if fold.stopped:
                raise LogDamaged(fold.stopped[0])
        except (OutputMismatch, LogDamaged) as error:
            log.warning(
                "partition %d: the snapshots of %s are skipped, and the log is folded from its start: %s",
                task.partition,
                ", ".join(f"{site} (position {at})" for site, at in positions.items()),
                str(error).removesuffix(f"; {ADVICE}"),
            )
            return None
        skips = past.letters_of_skips(self._records(0, begun.offset) if past.skips else ())
        letters = {**skips, **image.dead_letters, **past.letters()}
        return fold, replace(image, dead_letters=letters), positions

    def _fold_from(self, begun: ReplayStart | None) -> PartitionReplay:
        task = self._task
        fold = PartitionReplay(task.partition, task.twin, served_services(), begun)
        for batch in self._records(fold.end):
            fold.take(batch)
            self._record_requests(batch, _messages(batch, task.twin))
        return fold

    def _records(self, start: int, end: int | None = None) -> Iterator[list[Record]]:
        endpoints = self._task.endpoints
        return read_partition(endpoints.kafka, endpoints.topics.log, self._task.partition, start, end)

    def _line_before(self, offset: int) -> bytes:
        return next((batch[0].value for batch in self._records(offset - 1, offset)), b"")

    def _record_requests(self, batch: Sequence[Record], messages: Iterable[tuple[int, Envelope]]) -> None:
        """Record the requests on the log: correct even if the rebuild fails, and needed before fabrics are
        promoted."""
        self._store.record_logged(self._task.partition, logged_requests(messages))
        self.number, self.last = max(self.number, highest_number(batch)), batch[-1].value


def _matching_mark(store: RedisStore, task: FoldTask) -> ImageMark | None:
    """The mark of the staged image, if this code folded it from this log, and without snapshots if so
    required."""
    text = store.staged(task.partition)
    if text is None:
        return None
    try:
        mark = ImageMark.model_validate_json(text)
    except ValidationError:
        return None  # of another version
    if (mark.twin, mark.code) != (task.twin, code_sha256()) or mark.end == 0:
        return None
    if mark.digest_key != task.endpoints.digests(task.twin).fingerprint:
        return None
    if mark.begun and task.snapshots is None:
        return None
    endpoints = task.endpoints
    batches = read_partition(endpoints.kafka, endpoints.topics.log, task.partition, mark.end - 1)
    first = next(batches, [])
    return mark if first and _sha256(first[0].value) == mark.last_sha256 else None


def _messages(records: Sequence[Record], twin: str) -> Iterator[tuple[int, Envelope]]:
    """The messages among these records, each with its offset."""
    for record in records:
        with contextlib.suppress(Unreadable):
            message = open_record(record, twin)
            if message is not None:
                yield record.offset, message


def highest_number(records: Sequence[Record]) -> int:
    """The highest number of an operator request among these records; 0 if there is none."""
    return max((_request_number(record) for record in records), default=0)


def _request_number(record: Record) -> int:
    source = record.header(SOURCE) or ""
    if not source.startswith("operator@"):
        return 0
    try:
        return decode(record.value).seq
    except Unreadable:
        return 0


def _digest(image: Commit) -> str:
    return state_digest((f"{state.service}@{state.fabric}", state.written) for state in image.states)


def _sha256(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()
