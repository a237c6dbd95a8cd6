"""The partitions of a log folded anew, several at a time, each in a process of its own.

What comes of it is kept beside what lives, with a mark, so that who is killed goes on from there.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from ops.common.version import code_sha256
from schemas.body import Model
from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from services.fleet import by_kind, services_of
from services.roster import service_names
from shared.engine.codec import state_digest
from shared.runtimes.child_process import end_with_parent
from shared.runtimes.live.kafka.layout import SOURCE, Endpoints
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.kafka.scan import read_partition
from shared.runtimes.live.refold import Refold
from shared.runtimes.live.worker.fold import ServedService
from shared.storage.inbox import logged_requests
from shared.storage.redis_store import RedisStore
from shared.storage.store import Commit


class Mark(Model):
    """What an image was made of: the twin, the code, the log up to `end`, whose last record had this digest;
    `state_sha256` is that of its states, `number` the highest of operators' requests."""

    twin: str
    code: str
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


def refold_all(endpoints: Endpoints, twin: str, partitions: int, jobs: int | None) -> Iterator[Refolded]:
    """Fold every partition, and keep its image; in order as far as done. SaysOtherwise names what differs."""
    workers = min(jobs or os.cpu_count() or 1, partitions)
    tasks = [(endpoints, twin, partition) for partition in range(partitions)]
    if workers == 1:
        yield from (refold(task) for task in tasks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        try:
            yield from pool.map(refold, tasks)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def refold(task: tuple[Endpoints, str, int]) -> Refolded:
    """Fold one partition up to its present end, unless its image is kept already."""
    endpoints, twin, partition = task
    store = RedisStore(endpoints.redis, cluster=endpoints.redis_cluster)
    try:
        kept = _kept(endpoints, store, twin, partition)
        if kept is not None:
            return Refolded(partition, kept, resumed=True)
        anew = Refold(partition, twin, served_services())
        number, last = 0, b""
        for batch in read_partition(endpoints.kafka, endpoints.topics.log, partition):
            anew.take(batch)
            # True whatever comes of the rebuild, and known before anybody is told that the fabrics live.
            store.log_holds(partition, logged_requests(_messages(batch, twin)))
            number, last = max(number, highest_number(batch)), batch[-1].value
        image = anew.image()
        mark = Mark(
            twin=twin,
            code=code_sha256(),
            end=anew.end,
            last_sha256=_sha256(last),
            state_sha256=_digest(image),
            number=number,
        )
        store.stage(image, mark.model_dump_json())  # False: another rebuild is done already
        return Refolded(partition, mark, stopped=tuple(anew.stopped))
    finally:
        store.close()


def _kept(endpoints: Endpoints, store: RedisStore, twin: str, partition: int) -> Mark | None:
    """The mark of the image that is kept, if this code made it of this log."""
    text = store.staged(partition)
    if text is None:
        return None
    mark = Mark.model_validate_json(text)
    if (mark.twin, mark.code) != (twin, code_sha256()) or mark.end == 0:
        return None
    batches = read_partition(endpoints.kafka, endpoints.topics.log, partition, mark.end - 1)
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
