"""The commit core of a live worker: one service over one partition of the log.

It reads records, and commits states, documents, dues and what the service says in one transaction behind a
fence on its position. It publishes nothing to the log and imports no pump: whatever repeats, drops or stalls
records, a record is applied exactly once or the fold stops.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from schemas.envelope import Envelope
from schemas.registry import Unreadable, encode
from schemas.sequencer import FabricCommissioned, MessageSkipped, Tick
from shared.basics.errors import LogDamaged, OperationFailed, ServiceFailed
from shared.engine.codec import restore_instance
from shared.engine.dispatch import ServiceInstance, read, skip
from shared.engine.service import AnyService
from shared.runtimes.live.kafka.layout import SOURCE, TYPE
from shared.runtimes.live.kafka.records import SKIPS, LogIdentity, Record, dead_letter, is_known, open_record
from shared.storage.store import Commit, OutboxEntry, StateStore
from shared.storage.tracked import Tracker, document_changes, progress_of

PENDING_MAX = 100_000
"""Records that wait behind one on which the service raised; the sequencer writes no more than follows from
one root message."""

log = logging.getLogger("lightwave.live")

Publish = Callable[[str, int, bytes], None]
"""Takes a telemetry frame: fabric, simulated time, Arrow IPC stream."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Where and why a service does not go on."""

    offset: int
    fabric: str
    message_id: str
    sentence: str


class WentBack(OperationFailed):
    """The store holds less than was committed to it. A process that starts again goes on from there."""


class _Raised(Exception):
    def __init__(self, record: Record, message: Envelope, error: ServiceFailed) -> None:
        super().__init__(str(error))
        self.stopped = Stopped(record.offset, message.fabric, message.id, str(error))


@dataclass(slots=True)
class _Batch:
    """What one commit will change."""

    touched: dict[str, ServiceInstance] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    outbox: list[OutboxEntry] = field(default_factory=list)
    dead: dict[int, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Counts:
    """What a fold has done since its process began."""

    messages: int = 0
    commits: int = 0
    repeats: int = 0
    refusals: int = 0
    dead_letters: int = 0


class PartitionFold:
    """`position` is the offset of the next record. `together` are all services of the partition, in name
    order: the first of them also looks at what no service reads, so that nothing unreadable goes unnoticed.
    """

    def __init__(
        self,
        service: AnyService,
        partition: int,
        identity: LogIdentity,
        store: StateStore,
        *,
        together: Sequence[str],
        publish: Publish | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.service = service
        self.partition = partition
        self.position: int | None = None
        self.stopped: Stopped | None = None
        self.counts = counts or Counts()
        self._furthest = 0
        self._identity = identity
        self._store = store
        self._together = tuple(together)
        self._judges = service.name == self._together[0]
        self._reads = {row.body.__name__ for row in service.rules} | {FabricCommissioned.__name__}
        self._publish = publish
        self._instances: dict[str, ServiceInstance] = {}
        self._trackers: dict[str, Tracker] = {}
        self._marked = False
        self._pending: list[Record] = []
        self._skips: set[int] = set()

    # --- what the pump calls --------------------------------------------------------------------------------

    def load(self) -> int:
        """Take up what the store holds; returns the position to read from. WentBack if it was further."""
        self._forget()
        fabrics = self._fabrics()
        while True:
            snapshot = self._store.snapshot(self.partition, [(self.service.name, f) for f in fabrics])
            now = sorted(f for service, f in snapshot.progress if service == self.service.name)
            if now == fabrics:
                break
            fabrics = now  # another worker commissioned a fabric in between
        for (_, fabric), stored in snapshot.states.items():
            instance = restore_instance(self.service, fabric, stored)
            self._instances[fabric] = instance
            self._trackers[fabric] = Tracker(instance)
        self._marked = self._mark in snapshot.values
        position = snapshot.positions.get(self.service.name, 0)
        if position < self._furthest:
            raise WentBack(
                f"partition {self.partition}: {self.service.name} had come to {self._furthest}, but the "
                f"store stands at {position}: it went back; starting again from there"
            )
        self.position = self._furthest = position
        return position

    def take(self, records: Sequence[Record]) -> bool:
        """Apply records that follow on one another, and commit; False if somebody else had committed, and
        they must be given again. LogDamaged if some are missing, WentBack if the store forgot some.
        What raises is as if it had not been called.
        """
        try:
            return self._take(records)
        except BaseException:
            self._forget()
            raise

    def _take(self, records: Sequence[Record]) -> bool:
        position = self._continue_at(records)
        new = [record for record in records if record.offset >= position]
        if not new:
            return True
        if self.stopped is not None:
            self._wait_with(new)
            return self._go_on()
        return self._apply(new)

    def _continue_at(self, records: Sequence[Record]) -> int:
        """The position, once it is sure that the records reach it without a gap."""
        reached = (self.position if self.position is not None else self.load()) + len(self._pending)
        if records and records[0].offset > reached:
            reached = self.load()
            if records[0].offset > reached:
                raise LogDamaged(
                    f"partition {self.partition}: {self.service.name} stands at {reached}, but the log goes "
                    f"on at {records[0].offset}: messages are missing"
                )
        for before, after in pairwise(records):
            if after.offset != before.offset + 1:
                raise LogDamaged(
                    f"partition {self.partition}: after {before.offset} comes {after.offset}: messages are "
                    "missing"
                )
        return reached

    # --- applying -------------------------------------------------------------------------------------------

    def _apply(self, records: Sequence[Record]) -> bool:
        try:
            batch = self._fold(records)
        except _Raised as raised:
            return self._stop_at(raised.stopped, records)
        return self._commit(records[-1].offset + 1, batch)

    def _fold(self, records: Sequence[Record]) -> _Batch:
        batch = _Batch()
        for record in records:
            if not (self._judges or self._handles(record)):
                continue
            try:
                message = open_record(record, self._identity)
                if message is not None:
                    self._read(record, message, batch)
            except Unreadable as error:
                batch.dead[record.offset] = dead_letter(record, self.service.name, str(error))
        return batch

    def _handles(self, record: Record) -> bool:
        """By its headers alone."""
        kind = record.header(TYPE)
        if kind == Tick.__name__:
            return (record.header(SOURCE) or "").startswith(f"tick.{self.service.name}@")
        return kind in self._reads and is_known(record)

    def _read(self, record: Record, message: Envelope, batch: _Batch) -> None:
        instance = self._instances.get(message.fabric)
        if instance is None:
            instance = ServiceInstance(self.service, message.fabric)
            if not isinstance(message.body, FabricCommissioned):
                raise Unreadable(f"{message.type}: {message.fabric} was never commissioned")
            self._instances[message.fabric] = instance
            self._trackers[message.fabric] = Tracker(instance)
            batch.fresh.add(message.fabric)
        if not instance.reads(message):
            return
        if record.offset in self._skips:
            skip(instance, message)
            said: list[Envelope] = []
            batch.dead[record.offset] = dead_letter(record, self.service.name, "skipped by an operator")
        else:
            self.counts.repeats += message.seq <= instance.seen.get(message.source, -1)
            try:
                said = read(instance, message)
            except ServiceFailed as error:
                raise _Raised(record, message, error) from error
        batch.touched[message.fabric] = instance
        if isinstance(message.body, Tick):
            self._render_telemetry(instance, message)
        for index, saying in enumerate(said):
            place = (record.offset, self.service.name, index)
            batch.outbox.append(
                OutboxEntry(*place, saying.fabric, saying.type, saying.source, encode(saying))
            )

    def _render_telemetry(self, instance: ServiceInstance, tick: Envelope) -> None:
        """Published before the commit: a frame may come twice, and none is lost."""
        render = self.service.telemetry
        if self._publish is None or render is None or instance.state is None:
            return
        frame = render(instance.state, tick)
        if frame is not None:
            self._publish(instance.fabric, tick.at_us, frame)

    def _commit(self, position: int, batch: _Batch) -> bool:
        name = self.service.name
        changes = (self._trackers[fabric].changes(instance) for fabric, instance in batch.touched.items())
        documents = [
            change
            for fabric, instance in batch.touched.items()
            for change in document_changes(instance, everything=fabric in batch.fresh)
        ]
        commit = Commit(
            partition=self.partition,
            expected={name: self.position or 0},
            positions={name: position},
            states=tuple(change for change in changes if change is not None),
            documents=tuple(documents),
            progress=tuple(progress_of(instance) for instance in batch.touched.values()),
            outbox=tuple(batch.outbox),
            dead_letters=batch.dead,
            fields={self._mark: None} if self._marked else {},
            together=self._together,
        )
        if not self._store.commit(commit):
            self.counts.refusals += 1
            self._forget()
            return False
        self.counts.messages += position - (self.position or 0)
        self.position = self._furthest = position
        self._marked = False
        self.counts.commits += 1
        self.counts.dead_letters += len(batch.dead)
        return True

    # --- a service that raises ------------------------------------------------------------------------------

    def _stop_at(self, stopped: Stopped, records: Sequence[Record]) -> bool:
        """Commit what came before the message on which the service raises, and say that it stands there."""
        before = [record for record in records if record.offset < stopped.offset]
        skips = set(self._skips)
        self.load()
        self._skips = skips
        if self.position != records[0].offset or (before and not self._apply(before)):
            self._forget()
            return False
        log.error("%s", stopped.sentence, extra={"message_id": stopped.message_id, "offset": stopped.offset})
        note = {
            "offset": stopped.offset,
            "fabric": stopped.fabric,
            "message_id": stopped.message_id,
            "sentence": stopped.sentence,
        }
        fence = {self.service.name: stopped.offset}
        if not self._store.commit(
            Commit(self.partition, fence, fence, fields={self._mark: json.dumps(note)})
        ):
            self._forget()
            return False
        self._marked = True
        self.stopped = stopped
        self._pending = []
        self._wait_with([record for record in records if record.offset >= stopped.offset])
        return self._go_on()

    def _wait_with(self, records: Sequence[Record]) -> None:
        self._pending.extend(records)
        if len(self._pending) > PENDING_MAX:
            raise ServiceFailed(f"{len(self._pending)} messages wait behind {self.stopped}")

    def _go_on(self) -> bool:
        """Read on if the log says that a person let this service pass over the message."""
        stopped = self.stopped
        if stopped is None or not any(self._lets_pass(record, stopped) for record in self._pending):
            return True
        log.warning("%s passes over %s", self.service.name, stopped.message_id)
        self._skips.add(stopped.offset)
        pending, self._pending = self._pending, []
        self.stopped = None
        return self._apply(pending)

    def _lets_pass(self, record: Record, stopped: Stopped) -> bool:
        if record.header(TYPE) != SKIPS:
            return False
        try:
            message = open_record(record, self._identity)
        except Unreadable:
            return False
        if message is None or not isinstance(message.body, MessageSkipped):
            return False
        named = (message.body.service, message.body.message)
        return named == (self.service.name, stopped.message_id)

    # --- bookkeeping ----------------------------------------------------------------------------------------

    @property
    def _mark(self) -> str:
        return f"stopped:{self.service.name}"

    def _fabrics(self) -> list[str]:
        progress = self._store.progress(self.partition)
        return sorted(fabric for service, fabric in progress if service == self.service.name)

    def _forget(self) -> None:
        """What is in memory may not be what the store holds."""
        self.position = None
        self.stopped = None
        self._instances.clear()
        self._trackers.clear()
        self._pending = []
        self._skips.clear()
