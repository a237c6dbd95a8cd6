"""The commit core of a live worker: one service over one partition of the log.

It reads records, and commits states, documents, due times and outputs in one transaction behind a fence on
its position. It appends nothing to the log and imports no pump. Whatever repeats, drops or delays records,
each record is applied exactly once, or the fold stops.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.registry import Unreadable, encode
from shared.basics.errors import LogDamaged, OperationFailed, ServiceFailed
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values, shared_code_values
from shared.engine.dispatch import ServiceInstance, deliver, skip_message
from shared.engine.service import AnyService
from shared.engine.state_codec import restore_instance
from shared.engine.state_layout import state_layouts
from shared.runtimes.dead_letter import SKIPPED
from shared.runtimes.live.kafka.layout import SOURCE, TYPE
from shared.runtimes.live.kafka.records import (
    Record,
    dead_letter_line,
    has_gap,
    has_known_headers,
    open_record,
)
from shared.runtimes.live.version_fence import check_one_version
from shared.runtimes.live.worker.offset_gaps import FillGaps, refuse_gaps
from shared.runtimes.live.worker.service_stop import ServiceStop, StopTracker
from shared.storage.store.change_tracking import StateTracker, changes_of
from shared.storage.store.fabric_registry import (
    FabricRegistration,
    ServiceNamesOf,
    registered_fabrics,
    registration_from,
    registration_value,
    services_in_partition,
)
from shared.storage.store.sealed_commits import SealedCommits, check_head_values
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import Commit, OutboxEntry, PartitionSnapshot, StateStore

log = logging.getLogger("lightwave.live")

Publish = Callable[[str, int, bytes], None]
"""Receives a telemetry frame: name, simulated time, Arrow IPC stream."""


class StoreRolledBack(OperationFailed):
    """The store has less than was committed to it. The process restarts and continues from there."""


class _Raised(Exception):
    def __init__(self, record: Record, message: Envelope, fabric: str, error: ServiceFailed) -> None:
        super().__init__(str(error))
        self.stopped = ServiceStop(record.offset, fabric, message.id, str(error))


@dataclass(slots=True)
class _Batch:
    """The changes of one commit."""

    readers: dict[str, ServiceInstance] = field(default_factory=dict)
    outbox: list[OutboxEntry] = field(default_factory=list)
    dead: dict[int, bytes] = field(default_factory=dict)
    fields: dict[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class FoldCounts:
    """Counters of a fold since its process started."""

    messages: int = 0
    commits: int = 0
    repeats: int = 0
    refusals: int = 0
    dead_letters: int = 0


@dataclass(frozen=True)
class ServedService:
    """The service of a worker: kind of fabric → its implementation there. `services_of` returns all services
    of a kind."""

    name: str
    by_kind: Mapping[str, AnyService]
    services_of: ServiceNamesOf


class PartitionFold:
    """`position` is the offset of the next record. The first service of a partition, in order, also checks
    records that no service reads, so that unreadable ones are noticed. With `registry_only`, the fold
    delivers nothing to its service; it registers fabrics and finds unreadable records. `software` is the
    build, which is stored with the states. With `digests`, every commit stores digests, and `load` checks
    them."""

    def __init__(
        self,
        served: ServedService,
        partition: int,
        twin: str,
        store: StateStore,
        *,
        publish: Publish | None = None,
        counts: FoldCounts | None = None,
        fill: FillGaps = refuse_gaps,
        registry_only: bool = False,
        software: str = "",
        digests: StateDigests | None = None,
    ) -> None:
        self._fill = fill
        self._digests = digests
        self._sealed = None if digests is None else SealedCommits(digests, partition, software)
        self._registry_only = registry_only
        self.name = served.name
        self.partition = partition
        self.position: int | None = None
        self.counts = counts or FoldCounts()
        self._served = served
        self._highest_position = self._generation = 0
        self._twin = twin
        self._store = store
        rows = [row for service in served.by_kind.values() for row in service.rules]
        self._reads = {row.body.__name__ for row in rows} | {
            FabricCommissioned.__name__,
            FabricRetired.__name__,
        }
        self._publish = publish
        self._registered: dict[str, FabricRegistration] = {}
        self._partition_services: tuple[str, ...] = ()
        self._instances: dict[str, ServiceInstance] = {}
        """Fabric → this service there, in the order of reading."""
        self._trackers: dict[str, StateTracker] = {}
        self._is_stop_stored = False
        layouts = state_layouts(served.by_kind.values())
        self._code = StateCodeVersion(RULES, layouts, software)
        self._code_note: dict[str, str] = code_version_values(self._code)
        """What the next commit records of the code; empty if the store already has it."""
        self._required_values = shared_code_values(self._code)
        self._stoppage = StopTracker(self.name, twin)

    @property
    def stopped(self) -> ServiceStop | None:
        """Where and why the service stopped, or None."""
        return self._stoppage.stopped

    # --- what the pump calls --------------------------------------------------------------------------------

    def load(self) -> int:
        """Load the stored states; returns the position to read from. StoreRolledBack if it was higher before,
        UpgradeNeeded if the states are of a version that must not be mixed with this one. StateRefused if
        states or documents of this service were changed outside of the twin."""
        self._forget()
        snapshot = self._snapshot()
        if self._digests is not None:
            check_head_values(self._digests, self.partition, snapshot)
        self._check_code(snapshot.values)
        if self._sealed is not None:
            self._sealed.load(snapshot, {self.name})
        self._registered = registered_fabrics(snapshot.values)
        self._partition_services = services_in_partition(self._registered, self._served.services_of)
        for (_, fabric), stored in snapshot.states.items():
            instance = restore_instance(self._service_in(fabric), fabric, stored)
            self._add(instance)
            self._trackers[instance.source] = StateTracker(instance)
        if self._sealed is not None:
            self._sealed.check_documents(self._instances.values(), snapshot.documents or {})
        self._is_stop_stored = self._stop_key in snapshot.values
        if snapshot.generation != self._generation:
            self._generation, self._highest_position = snapshot.generation, 0  # a rebuild may go back
        position = snapshot.positions.get(self.name, 0)
        if position < self._highest_position:
            raise StoreRolledBack(
                f"partition {self.partition}: {self.name} had reached {self._highest_position}, but the "
                f"store is at {position}: it was rolled back; restarting from there"
            )
        self.position = self._highest_position = position
        return position

    def _check_code(self, values: Mapping[str, str]) -> None:
        """Check the recorded code, or record this one if there is none."""
        check_one_version(self.partition, values, self._code)
        note = code_version_values(self._code)
        self._code_note = note if any(values.get(name) != value for name, value in note.items()) else {}

    def take(self, records: Sequence[Record]) -> bool:
        """Apply records in order, and commit. False if another worker committed meanwhile; the caller must
        pass them again. LogDamaged if records are missing, StoreRolledBack if the store lost some. After an
        exception, the fold is as before the call."""
        try:
            return self._take(records)
        except BaseException:
            self._forget()
            raise

    def _take(self, records: Sequence[Record]) -> bool:
        position = self._continue_at(records)
        new: Sequence[Record] = [record for record in records if record.offset >= position]
        if not new:
            return True
        if has_gap(position, new):
            new = self._fill(self.partition, position, new)
        if self.stopped is not None:
            self._stoppage.add_waiting(new)
            return self._resume()
        return self._apply(new)

    def _continue_at(self, records: Sequence[Record]) -> int:
        """The offset to continue from."""
        waiting = len(self._stoppage.waiting)
        reached = (self.position if self.position is not None else self.load()) + waiting
        jumps = bool(records) and records[0].offset > reached
        return self.load() if jumps and not waiting else reached

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
            reads = self._is_first_service or self._handles(record)
            if not (reads or self._needs_frame(record)):
                continue
            try:
                message = open_record(record, self._twin)
                if message is not None and reads:
                    self._read(record, message, batch)
                if message is not None and isinstance(message.body, Tick):
                    self._render_telemetry(message, message.body)
            except Unreadable as error:
                if reads:
                    batch.dead[record.offset] = dead_letter_line(record, self.name, str(error))
        return batch

    @property
    def _is_first_service(self) -> bool:
        return self._partition_services[:1] == (self.name,)

    def _handles(self, record: Record) -> bool:
        """Decides by the headers alone."""
        kind = record.header(TYPE)
        if kind == Tick.__name__:
            return (record.header(SOURCE) or "").startswith(f"tick.{self.name}@")
        return kind in self._reads and has_known_headers(record)

    def _needs_frame(self, record: Record) -> bool:
        """Whether this is a Tick, possibly of another service, that needs a frame; decides by the headers
        alone."""
        if self._publish is None or record.header(TYPE) != Tick.__name__:
            return False
        ticked = (record.header(SOURCE) or "").partition("@")[0].removeprefix("tick.")
        return any(service.emits_frames_at(ticked) for service in self._served.by_kind.values())

    def _read(self, record: Record, message: Envelope, batch: _Batch) -> None:
        if isinstance(message.body, FabricCommissioned):
            self._add_fabric(message, batch)
        elif type(message.body) is FabricRetired:
            self._register(message, batch)
        registration = self._registered.get(message.fabric)
        if registration is None:
            raise Unreadable(f"{message.type}: fabric {message.fabric} was never commissioned")
        for fabric, instance in self._instances.items():
            if self._registered[fabric].site == registration.site and instance.reads(message):
                self._deliver(record, message, instance, batch)

    def _deliver(self, record: Record, message: Envelope, instance: ServiceInstance, batch: _Batch) -> None:
        """Let one fabric's service read a message."""
        outputs: list[Envelope] = []
        if (record.offset, instance.fabric) in self._stoppage.skips:
            skip_message(instance, message)
            batch.dead[record.offset] = dead_letter_line(record, self.name, SKIPPED)
        else:
            self.counts.repeats += instance.has_read(message)
            try:
                outputs = deliver(instance, message)
            except ServiceFailed as error:
                raise _Raised(record, message, instance.fabric, error) from error
        batch.readers[instance.source] = instance
        for index, output in enumerate(outputs):
            place = (record.offset, instance.fabric, self.name, index)
            batch.outbox.append(OutboxEntry(*place, output.type, output.source, encode(output)))

    def _add_fabric(self, message: Envelope, batch: _Batch) -> None:
        """Register a commissioned fabric, unless another service already has. This service starts there with
        its first message."""
        fabric = message.fabric
        if fabric not in self._registered:
            self._register(message, batch)
            self._partition_services = services_in_partition(self._registered, self._served.services_of)
        service = self._served.by_kind.get(self._registered[fabric].kind)
        if service is not None and fabric not in self._instances and not self._registry_only:
            self._add(ServiceInstance(service, fabric))

    def _register(self, message: Envelope, batch: _Batch) -> None:
        """Record a fabric's commissioning or retirement."""
        registration = registration_from(message, self._registered)
        if registration is not None:
            self._registered[message.fabric] = registration
            batch.fields.update(registration_value(message.fabric, registration))

    def _render_telemetry(self, tick: Envelope, body: Tick) -> None:
        """Published before the commit: a frame may come twice, and none is lost."""
        instance = self._instances.get(tick.fabric)
        if self._publish is None or instance is None or instance.state is None:
            return
        service = instance.service
        if service.telemetry is None or not service.emits_frames_at(body.service):
            return
        frame = service.telemetry(instance.state, tick)
        if frame is not None:
            self._publish(service.frames_name(tick.fabric), tick.at_us, frame)

    def _commit(self, position: int, batch: _Batch) -> bool:
        changes = changes_of(batch.readers.values(), self._trackers)
        commit = Commit(
            partition=self.partition,
            expected={self.name: self.position or 0},
            positions={self.name: position},
            states=changes.states,
            documents=changes.documents,
            progress=changes.clocks,
            outbox=tuple(batch.outbox),
            dead_letters=batch.dead,
            fields=batch.fields | self._code_note | ({self._stop_key: None} if self._is_stop_stored else {}),
            required_values=self._required_values,
            wake_readers=self._partition_services,
            generation=self._generation,
        )
        if not self._store.commit(self._with_digests(commit)):
            self.counts.refusals += 1
            self._forget()
            return False
        self.counts.messages += position - (self.position or 0)
        self.position = self._highest_position = position
        self._is_stop_stored = False
        self._code_note = {}
        self.counts.commits += 1
        self.counts.dead_letters += len(batch.dead)
        return True

    def _with_digests(self, commit: Commit) -> Commit:
        return commit if self._sealed is None else self._sealed.sealed(commit, self._registered)

    # --- a service that raises ------------------------------------------------------------------------------

    def _stop_at(self, stopped: ServiceStop, records: Sequence[Record]) -> bool:
        """Commit what is before the message on which the service failed, and record the stop."""
        before = [record for record in records if record.offset < stopped.offset]
        skips = set(self._stoppage.skips)
        self.load()
        self._stoppage.skips = skips
        if self.position != records[0].offset or (before and not self._apply(before)):
            self._forget()
            return False
        log.error("%s", stopped.sentence, extra={"message_id": stopped.message_id, "offset": stopped.offset})
        fence = {self.name: stopped.offset}
        note = {self._stop_key: stopped.note()}
        commit = Commit(
            self.partition,
            fence,
            fence,
            fields=note,
            required_values=self._required_values,
            generation=self._generation,
        )
        if not self._store.commit(self._with_digests(commit)):
            self._forget()
            return False
        self._is_stop_stored = True
        self._stoppage.stop(stopped, [record for record in records if record.offset >= stopped.offset])
        return self._resume()

    def _resume(self) -> bool:
        """Continue if the log has an operator's skip of the message."""
        stopped, waiting = self.stopped, self._stoppage.resume()
        if not waiting or stopped is None:
            return True
        log.warning("%s of %s skips %s", self.name, stopped.fabric, stopped.message_id)
        return self._apply(waiting)

    # --- bookkeeping ----------------------------------------------------------------------------------------

    @property
    def _stop_key(self) -> str:
        return f"stopped:{self.name}"

    def _snapshot(self) -> PartitionSnapshot:
        """A consistent view of the partition with this service's states in all of its fabrics."""
        fabrics: list[str] = []
        while True:
            names = [(self.name, fabric) for fabric in fabrics]
            snapshot = self._store.snapshot(self.partition, names, whole=self._sealed is not None)
            now = sorted(
                {fabric for service, fabric in {*snapshot.progress, *snapshot.sums} if service == self.name}
            )
            if now == fabrics:
                return snapshot
            fabrics = now  # another worker registered a fabric in between

    def _service_in(self, fabric: str) -> AnyService:
        registration = self._registered.get(fabric)
        service = self._served.by_kind.get(registration.kind) if registration is not None else None
        if service is None:
            raise LogDamaged(
                f"partition {self.partition}: has a state of {self.name}@{fabric}, whose kind is unknown"
            )
        return service

    def _add(self, instance: ServiceInstance) -> None:
        self._instances[instance.fabric] = instance
        self._instances = dict(sorted(self._instances.items(), key=lambda pair: pair[1].order))

    def _forget(self) -> None:
        """Drop the state in memory, which may differ from the store."""
        self.position = None
        self._registered = {}
        self._partition_services = ()
        self._instances = {}
        self._trackers.clear()
        self._stoppage.clear()
