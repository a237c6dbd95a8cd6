"""The partitions of a log folded anew, several at a time, each in a process of its own.

What comes of it is kept beside what lives, with a mark, so that who is killed goes on from there.
"""

import contextlib
import hashlib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from pydantic import ValidationError

from ops.common.version import code_sha256
from ops.live.beginning import begun_from
from schemas.body import Model
from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from services.fleet import by_kind, services_of
from services.roster import service_names
from shared.basics.errors import LogDamaged
from shared.engine.codec import state_digest
from shared.runtimes.child_process import end_with_parent
from shared.runtimes.live.kafka.layout import SOURCE, Endpoints
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.kafka.scan import read_partition
from shared.runtimes.live.past import Past
from shared.runtimes.live.refold import ADVICE, Begun, Refold, SaysOtherwise
from shared.runtimes.live.worker.fold import ServedService
from shared.storage.inbox import logged_requests
from shared.storage.redis_store import RedisStore
from shared.storage.snapshots.folder import SUFFIX
from shared.storage.store import Commit

log = logging.getLogger("lightwave.live")


class Mark(Model):
    """What an image was made of: the twin, the code, the log up to `end`, whose last record had this digest;
    `state_sha256` is that of its states, `number` the highest of operators' requests. `begun` has the
    position of each site's snapshot that the fold began with, nothing where it began with the log."""

    twin: str
    code: str
    begun: dict[str, int]
    end: int
    last_sha256: str
    state_sha256: str
    number: int


@dataclass(frozen=True, slots=True)
class Refolded:
    """A partition as it was folded. `resumed` says that another process had done it; `stopped` are the
    sentences of services that raise."""

    partition: int
    mark: Mark
    resumed: bool = False
    stopped: tuple[str, ...] = ()


def served_services() -> list[ServedService]:
    """Every service, as a worker of it would serve it."""
    return [ServedService(name, by_kind(name), services_of) for name in service_names()]


@dataclass(frozen=True, slots=True)
class Task:
    """A partition to be folded: `snapshots` has those of the twin's sites, None where the log alone
    counts, and `upgrades` those at its upgrades."""

    endpoints: Endpoints
    twin: str
    partition: int
    snapshots: Path | None
    upgrades: Path


def refold_all(tasks: Sequence[Task], jobs: int | None) -> Iterator[Refolded]:
    """Fold every partition, and keep its image; in order as far as done. SaysOtherwise names what differs."""
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    if workers == 1:
        yield from (refold(task) for task in tasks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        try:
            yield from pool.map(refold, tasks)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def refold(task: Task) -> Refolded:
    """Fold one partition up to its present end, unless its image is kept already."""
    endpoints = task.endpoints
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    try:
        kept = _kept(store, task)
        if kept is not None:
            return Refolded(task.partition, kept, resumed=True)
        folding = _Folding(task, store)
        anew, image, begun = folding.done()
        mark = Mark(
            twin=task.twin,
            code=code_sha256(),
            begun=begun,
            end=anew.end,
            last_sha256=_sha256(folding.last),
            state_sha256=_digest(image),
            number=folding.number,
        )
        store.stage(image, mark.model_dump_json())  # False: another rebuild is done already
        return Refolded(task.partition, mark, stopped=tuple(anew.stopped))
    finally:
        store.close()


class _Folding:
    """One partition on its way. `number` is the highest of operators' requests so far, `last` the line that
    was read last."""

    def __init__(self, task: Task, store: RedisStore) -> None:
        self.number = 0
        self.last = b""
        self._task = task
        self._store = store

    def done(self) -> tuple[Refold, Commit, dict[str, int]]:
        """The fold, all that it makes, and the position of each site's snapshot that it began with."""
        for snapshots in (self._task.snapshots, None) if self._task.snapshots is not None else (None,):
            found = self._begun_by(snapshots)
            if found is not None:
                return found
        anew = self._onward(None)
        return anew, anew.image(), {}

    def _begun_by(self, snapshots: Path | None) -> tuple[Refold, Commit, dict[str, int]] | None:
        """None where there is no snapshot, or they do not lead to what is on the log, which is told of."""
        task = self._task
        folders = [task.upgrades, *([snapshots] if snapshots is not None else [])]
        if not any(found for folder in folders for found in folder.glob(f"*/*{SUFFIX}")):
            return None  # the log need not be read for it
        past = Past(task.partition, task.twin, served_services())
        for batch in self._records(0):
            self._tell(batch, past.take(batch))
        begun, positions = begun_from(self._line_before, task.partition, past.sites, snapshots, task.upgrades)
        if begun is None:
            return None
        try:
            anew = self._onward(begun)
            image = anew.image()
            if anew.stopped:
                raise LogDamaged(anew.stopped[0])
        except (SaysOtherwise, LogDamaged) as error:
            log.warning(
                "partition %d: the snapshots of %s are passed over, and the log is folded from its "
                "beginning: %s",
                task.partition,
                ", ".join(f"{site} (position {at})" for site, at in positions.items()),
                str(error).removesuffix(f"; {ADVICE}"),
            )
            return None
        skips = past.letters_of_skips(self._records(0, begun.offset) if past.skips else ())
        letters = {**skips, **image.dead_letters, **past.letters()}
        return anew, replace(image, dead_letters=letters), positions

    def _onward(self, begun: Begun | None) -> Refold:
        task = self._task
        anew = Refold(task.partition, task.twin, served_services(), begun)
        for batch in self._records(anew.end):
            anew.take(batch)
            self._tell(batch, _messages(batch, task.twin))
        return anew

    def _records(self, start: int, end: int | None = None) -> Iterator[list[Record]]:
        endpoints = self._task.endpoints
        return read_partition(endpoints.kafka, endpoints.topics.log, self._task.partition, start, end)

    def _line_before(self, offset: int) -> bytes:
        return next((batch[0].value for batch in self._records(offset - 1, offset)), b"")

    def _tell(self, batch: Sequence[Record], messages: Iterable[tuple[int, Envelope]]) -> None:
        """Which requests the log holds is true whatever comes of the rebuild, and known before anybody is
        told that the fabrics live."""
        self._store.log_holds(self._task.partition, logged_requests(messages))
        self.number, self.last = max(self.number, highest_number(batch)), batch[-1].value


def _kept(store: RedisStore, task: Task) -> Mark | None:
    """The mark of the image that is kept, if this code made it of this log, and of that alone where it must
    be."""
    text = store.staged(task.partition)
    if text is None:
        return None
    try:
        mark = Mark.model_validate_json(text)
    except ValidationError:
        return None  # of another version
    if (mark.twin, mark.code) != (task.twin, code_sha256()) or mark.end == 0:
        return None
    if mark.begun and task.snapshots is None:
        return None
    endpoints = task.endpoints
    batches = read_partition(endpoints.kafka, endpoints.topics.log, task.partition, mark.end - 1)
    first = next(batches, [])
    return mark if first and _sha256(first[0].value) == mark.last_sha256 else None


def _messages(records: Sequence[Record], twin: str) -> Iterator[tuple[int, Envelope]]:
    """The messages among them, each with its place."""
    for record in records:
        with contextlib.suppress(Unreadable):
            message = open_record(record, twin)
            if message is not None:
                yield record.offset, message


def highest_number(records: Sequence[Record]) -> int:
    """The highest number of operators' requests among these; 0 if there is none."""
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
