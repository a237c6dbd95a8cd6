"""One site of a living twin in one process: process root messages with their cascades, append them to the
log, commit.

Several roots are committed together (`uncommitted_roots`). Their lines are written to the log at once, just
before the states are committed. So after a crash the log may be ahead of the states, by any part of one
commit, and is never behind them. `recover` then folds the tail of the log again, and appends the rest of a
partly written cascade. If a snapshot is given, the fold starts there instead of at the first message.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, SequencerBody, Tick
from schemas.messages.upgrade import Upgraded
from schemas.registry import Unreadable, decode, encode
from shared.basics.errors import (
    LightwaveError,
    LogDamaged,
    ServiceFailed,
    SnapshotRefused,
    StateRefused,
    UpgradeNeeded,
)
from shared.engine.code_version import (
    StateCodeVersion,
    code_version_values,
    current_code_version,
    recorded_code_version,
)
from shared.engine.dispatch import ServiceInstance
from shared.engine.message_order import Request, is_root, operator_source
from shared.engine.replay import Replay
from shared.engine.site import ServicesOf, Site
from shared.engine.state_codec import encode_instance, restore_instance, state_digest
from shared.engine.upgrade_refusals import check_compatible
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.snapshot_taker import SnapshotTaker
from shared.runtimes.embedded.tick_frames import render_tick_frames
from shared.runtimes.embedded.uncommitted_roots import UncommittedRoots
from shared.storage.inbox.request_inbox import Inbox, RequestStore, logged_requests
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_commit import site_commit
from shared.storage.store.change_tracking import StateTracker, changes_of
from shared.storage.store.fabric_registry import (
    FabricRegistration,
    fabric_place,
    registered_fabrics,
    registration_from,
    registration_value,
    registration_values,
)
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.sealed_commits import SealedCommits, check_head_values, sealed_image
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import Commit, FabricPlace, PartitionSnapshot

ROOT_TEXT, TICK_TEXT = b'"cause":null', b'"type":"Tick"'
"""Text of messages without a cause, and of Ticks, as every message is encoded."""


def first_commit(start: SiteSnapshot, partition: int, services_of: ServicesOf, software: str) -> Commit:
    """Everything that the log before a snapshot produces in a partition, as the commit that creates it from
    nothing. LogDamaged if a stored field is missing or unreadable."""
    commit = site_commit(start.restored(services_of), start.kinds, partition)
    services = [service for kind in start.kinds.values() for service in services_of(kind)]
    code = current_code_version(start.kinds.values(), services_of, software)
    positions = {service.name: start.position for service in services}
    return replace(commit, positions=positions, fields={**code_version_values(code), **commit.fields})


def logged_roots_before(log: IndexedLog, position: int) -> Iterator[tuple[int, Envelope]]:
    """(position, message) of all root messages before a position, except Ticks."""
    for at, message in log.read(0, position, lambda line: ROOT_TEXT in line and TICK_TEXT not in line):
        if is_root(message):
            yield at, message


UPGRADE_COMMAND = "lightwave upgrade"
REBUILD_COMMAND = "lightwave up --rebuild-all"
"""The commands for states of other rules or of another layout, and for states of unknown code."""

REBUILD_STRIDE = 2_000
"""Log messages that a recovery folds between two commits."""

log = logging.getLogger("lightwave.twin")


class Fenced(Exception):
    """Another process committed to this partition, or the store went back. Load its content, and continue
    from there."""


class SiteRunner:
    """Owns the states of a site's fabrics in memory, its log file and its partition of the store.

    A commit has at most `roots_per_commit` roots; a request is always the last one of its commit. `place` is
    called for every fabric after its commissioning is committed. `on_append` receives what was appended to
    the log. `snapshots` is called after every commit. `software` is the build, which is stored with the
    states. `starting_snapshot` returns the states from which the log continues after an upgrade to
    other rules, or None. With `digests`, every commit stores digests, and `recover` refuses states that were
    changed in the store: it rebuilds them from the log, from `newest_snapshot` if there is one, and passes a
    sentence to `on_refused`. It does the same if the store lost all states.
    """

    def __init__(
        self,
        name: str,
        partition: int,
        services_of: ServicesOf,
        *,
        store: RequestStore,
        place: Callable[[str, FabricPlace], None],
        log: IndexedLog,
        dead_letters: DeadLetterFile,
        telemetry: TelemetryFolder | None = None,
        roots_per_commit: int = 1,
        on_append: Callable[[list[Envelope]], None] | None = None,
        inbox: Inbox | None = None,
        snapshots: SnapshotTaker | None = None,
        software: str = "",
        starting_snapshot: Callable[[], SiteSnapshot | None] = lambda: None,
        newest_snapshot: Callable[[], SiteSnapshot | None] = lambda: None,
        digests: StateDigests | None = None,
        on_refused: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self.name = name
        self.partition = partition
        self.site = Site(name, services_of)
        self.position = 0
        self.commits = 0
        self._requests = operator_source(name)
        self._services_of = services_of
        self._store = store
        self._inbox = inbox or store
        """Receives the requests that are on the log."""
        self._place = place
        self._registered: dict[str, FabricRegistration] = {}
        self._changed_registrations: dict[str, str] = {}
        """Registrations of fabrics that changed since the last commit."""
        self._log = log
        self._dead_letters = dead_letters
        self._telemetry = telemetry
        self._clock_us = 0
        """The clock's time at the last step."""
        self._on_append = on_append
        self._snapshots = snapshots
        self._software = software
        self._starting_snapshot = starting_snapshot
        self._newest_snapshot = newest_snapshot
        self._digests = digests
        self._sealed: SealedCommits | None = None
        self._on_refused = on_refused
        self._roots_per_commit = roots_per_commit
        self._uncommitted = UncommittedRoots()
        self._due_us: int | None = None
        self._next_due_us: int | None = None
        self._code_due = True
        """Whether the next commit records the code that makes the states."""
        self._generation = 0
        self._stored: set[str] = set()
        """Services that have a position in the store."""
        self._trackers: dict[str, StateTracker] = {}
        self._readers: dict[str, ServiceInstance] = {}
        """Source → service that has read something since the last commit."""

    # --- stepping -------------------------------------------------------------------------------------------

    def step(self, request: Request | None, clock_us: int) -> bool:
        """Process the next root message with its cascade: this request, the oldest that waits, or a Tick that
        is due by the clock. Commits after a request, and after `roots_per_commit` roots. True if the request
        was taken; False after a Tick, or if there was nothing to do. Raises Fenced."""
        if request is not None and self._is_handled(request):
            self.commit(request.number)  # also removes it from the inbox
            return True
        self._clock_us = clock_us
        root = self.site.next_root(request, clock_us=clock_us)
        if root is None:
            return False
        taken = request is not None and not isinstance(root.body, Tick)
        if request is not None and taken and not self._store.take(self.partition, [request.number]):
            return True  # it was cancelled meanwhile
        self._process(root)
        if request is not None and taken:
            self.commit(request.number)  # a client waits for it
        elif len(self._uncommitted.roots) >= self._roots_per_commit:
            self.commit()
        return taken

    def take(self, root: Envelope) -> list[Envelope]:
        """Process a root message, then commit; returns it with its cascade. Raises Fenced."""
        messages = self._process(root)
        self.commit()
        return messages

    def commit(self, inbox_taken: int | None = None) -> None:
        """Append the uncommitted roots to the log, then commit the states after them, and remove the requests
        up to `inbox_taken` from the inbox. Does nothing if there is neither. Raises Fenced."""
        done = self._uncommitted
        if not done.lines and inbox_taken is None:
            return
        self._append(done)
        self._commit(self.position + len(done.lines), inbox_taken)
        self._uncommitted = UncommittedRoots()
        if self._snapshots is not None and done.lines:
            self._snapshots.on_quiet(self.site, self.position, done.lines[-1], self._registered)
        if self._on_append is not None and done.messages:
            self._on_append(done.messages)

    def is_committed(self) -> bool:
        """Whether every root that it has processed is committed."""
        return not self._uncommitted.roots

    def is_overdue(self) -> bool:
        """Whether uncommitted roots have waited for their commit as long as they may."""
        return self._uncommitted.is_overdue()

    def _process(self, root: Envelope) -> list[Envelope]:
        try:
            messages = self.site.cascade(root, self._note_reader)
        except ServiceFailed:
            # Complete cascades; the states are not committed, because one of them broke.
            done, self._uncommitted = self._uncommitted, UncommittedRoots()
            self._append(done)
            raise
        self._uncommitted.add(messages, [encode(message) for message in messages])
        if self._telemetry is not None and isinstance(root.body, Tick):
            name, keep = root.body.service, self._uncommitted.add_frame
            render_tick_frames(self._telemetry, self.site.instances, root, name, self._clock_us, keep)
        due = self.site.earliest()
        self._next_due_us = due.due_us if due is not None else None
        return messages

    def _append(self, done: UncommittedRoots) -> None:
        """Append these roots to the log, and publish their frames."""
        if done.lines:
            self._log.append(done.messages, done.lines)
            self._record_logged([(self.position + place, root) for place, root in done.roots])
        if self._telemetry is not None:
            for name, at_us, frame in done.frames:
                self._telemetry.keep(name, at_us, frame)

    def check_store(self) -> None:
        """Fenced unless the store has this site's position: requests in a restored store may already be on
        the log."""
        stored = self._store.positions(self.partition)
        if any(stored.get(name, 0) != self.position for name in self._stored):
            raise Fenced(f"{self.name}: the store is no longer at position {self.position}")

    def check_log(self) -> None:
        """LogMoved unless the file that this site writes still has the log's name."""
        self._log.check()

    def _record_logged(self, messages: Sequence[tuple[int, Envelope]]) -> None:
        """Tell the inbox which requests are on the log, each with its position."""
        logged = logged_requests(messages)
        if logged:
            self._inbox.record_logged(self.partition, logged)

    def _is_handled(self, request: Request) -> bool:
        """Whether a request is on the log, or can never be."""
        # The gateway never accepts a commissioning for another site.
        if isinstance(request.body, FabricCommissioned) and request.body.site != self.name:
            return True
        if self.site.is_too_late(request):
            return True
        last = self._log.last_seq(self._requests)
        if isinstance(request.body, SequencerBody) or request.number > last:
            return False
        # Of a restored store, or written by something else: the inbox itself forgets requests on the log.
        log.warning(
            "%s: dropping request %d (%s): its number is not above %d, the last one on the log",
            self.name,
            request.number,
            type(request.body).__name__,
            last,
        )
        self._inbox.raise_last_number(self.partition, last)
        return True

    def due_us(self) -> int | None:
        """When the next Tick is due by the committed states. Until a cascade is committed, its Tick counts as
        not done, because readers do not see its effects yet."""
        return self._due_us

    def next_due_us(self) -> int | None:
        """When the next Tick is due after everything that is processed, committed or not."""
        return self._next_due_us

    @property
    def log_size(self) -> int:
        """Bytes of its log, at a quiet point."""
        return self._log.size

    def is_quiet(self) -> bool:
        """Whether the whole log is committed."""
        return self.position == self._log.end

    def processed_us(self, clock_us: int) -> int:
        """Simulated time up to which everything is processed and committed, if the clock is at `clock_us`."""
        return clock_us if (due_us := self.due_us()) is None else min(clock_us, due_us)

    def reached_us(self, clock_us: int) -> int:
        """The same with what is processed and not committed yet."""
        return clock_us if (due_us := self.next_due_us()) is None else min(clock_us, due_us)

    # --- recovery and rebuild -------------------------------------------------------------------------------

    def recover(self) -> int:
        """Load the stored states and fold the tail of the log beyond them; returns the number of folded
        messages. Rebuilds states that were changed outside of the twin.

        LogDamaged if log and states do not belong together, LogMoved if the log is missing.
        """
        try:
            return self._recover()
        except StateRefused as refused:
            sentence = str(refused).partition(";")[0]
            log.warning("%s: %s; rebuilding its states from the log", self.name, sentence)
            try:
                folded = self.rebuild(self._newest_snapshot())
            except LightwaveError as error:
                self._on_refused(f"{self.name}: {sentence}; rebuilding its states failed: {error}")
                raise
            self._on_refused(f"{self.name}: {sentence}; its states were rebuilt from the log")
            return folded

    def _recover(self) -> int:
        self._uncommitted = UncommittedRoots()  # their Ticks are due again
        self.check_log()
        self._load()
        is_emptied = self._digests is not None and bool(self._log.end) and not self.position
        base = self._starting_snapshot() if self._log.end and not self.position else None
        if base is not None:
            self._begin(base)
        if self.position > self._log.end:
            raise LogDamaged(
                f"{self.name}: its states have read {self.position} messages, but {self._log.path} contains "
                f"only {self._log.end}: the log lost its end; `lightwave up --rebuild` accepts it as it is"
            )
        before = self.position
        if is_emptied:
            log.warning("%s: Redis has no states; folding its log of %d messages", self.name, self._log.end)
        roots = 0
        replay = Replay(self.site, self._note_reader, may_repeat=False)
        logged: list[tuple[int, Envelope]] = []
        for position, line in self._log.lines(self.position):
            message = self._feed(replay, position, line, from_start=not before)
            if message is not None and is_root(message):
                logged.append((position, message))
                roots += 1
            if not replay.pending and position + 1 - self.position >= REBUILD_STRIDE:
                self._record_logged(logged)
                logged.clear()
                self._commit(position + 1, self._taken())
        rest = list(replay.pending)
        if rest:
            self._log.append(rest, [encode(message) for message in rest])
        self._record_logged(logged)
        if self._log.end > self.position:
            self._commit(self._log.end, self._taken())
        if is_emptied and (base is not None or roots > 1):
            # A twin that was killed at its very first commit has one root on its log.
            self._on_refused(
                f"{self.name}: Redis had no states, although its log has {self._log.end} messages; "
                "its states were rebuilt from the log"
            )
        return self.position - before

    def rebuild(self, start: SiteSnapshot | None = None) -> int:
        """Rebuild every state from the log, or from a snapshot and the log after it; returns the number of
        folded messages. If the snapshot does not lead to what is on the log, log that and fold everything.
        LogDamaged if that fails; then nothing changes."""
        memory, folded = self._rebuilt_store(start)
        self._store.stage(sealed_image(self._digests, memory.image(self.partition), self._software), "")
        self._store.promote_staged(self.partition)
        self._store.discard_staged(self.partition)
        self._store.discard_after(self.partition, lambda: self._log.end)
        self._recover()
        return folded

    def _rebuilt_store(self, start: SiteSnapshot | None) -> tuple[MemoryStore, int]:
        """A store with everything that the log produces, and the number of folded messages."""
        memory = MemoryStore()
        rebuilt = SiteRunner(
            self.name,
            self.partition,
            self._services_of,
            store=memory,
            place=memory.place,
            log=self._log,
            dead_letters=self._dead_letters,
            inbox=self._store,  # what is on the log stays true even if the rebuild fails
            software=self._software,
            starting_snapshot=self._starting_snapshot,
        )
        if start is None:
            return memory, rebuilt.recover()
        try:
            rebuilt._begin(start)
            folded = rebuilt.recover()
        except (LogDamaged, ServiceFailed, SnapshotRefused) as error:
            log.warning(
                "%s: ignoring the snapshot at position %d, folding the whole log: %s",
                self.name,
                start.position,
                error,
            )
            return self._rebuilt_store(None)
        return memory, folded

    def _begin(self, start: SiteSnapshot) -> None:
        """Start from a snapshot, in a store that has nothing of the site."""
        commit = first_commit(start, self.partition, self._services_of, self._software)
        commit = sealed_image(self._digests, commit, self._software)
        if not self._store.commit(replace(commit, generation=self._generation)):
            raise Fenced(f"{self.name}: the store is no longer empty")
        self._record_logged([*logged_roots_before(self._log, start.position)])
        self._load()

    def digest(self) -> str:
        """SHA-256 over every stored field of every service's state."""
        return state_digest((instance.source, encode_instance(instance)) for instance in self.site.instances)

    def _load(self) -> None:
        snapshot = self._snapshot()
        self._registered = registered_fabrics(snapshot.values)
        if self._registered:
            self._check_code(snapshot.values)
        if self._digests is not None:
            self._sealed = SealedCommits(self._digests, self.partition, self._software)
            self._sealed.load(snapshot, {service for service, _ in snapshot.states})
        positions = set(snapshot.positions.values()) or {0}
        if len(positions) > 1:
            sentence = f"{self.name}: its services are at different positions {sorted(positions)}"
            if self._digests is None:
                raise LogDamaged(sentence)
            raise StateRefused(f"{sentence}, as no commit leaves them; {self._digests.advice}")
        self.position = positions.pop()
        self._stored = set(snapshot.positions)
        self._generation = snapshot.generation
        self._changed_registrations = registration_values(snapshot.values)
        if self.position and not self._registered:
            raise LogDamaged(
                f"{self.name}: the version that wrote its states did not record their fabrics; "
                "`lightwave up --rebuild` rebuilds them from the log"
            )
        instances = [
            restore_instance(service, fabric, snapshot.states[service.name, fabric])
            for fabric, registration in self._registered.items()
            for service in self._services_of(registration.kind)
        ]
        if self._sealed is not None:
            self._sealed.check_documents(instances, snapshot.documents or {})
        self.site = Site(self.name, self._services_of, instances)
        self._trackers = {instance.source: StateTracker(instance) for instance in instances}
        self._note_committed()
        self._code_due = recorded_code_version(snapshot.values) != self._code()

    def _snapshot(self) -> PartitionSnapshot:
        """The whole partition, with the states of all services in all of its fabrics."""
        head = self._store.snapshot(self.partition, [])
        if self._digests is not None:
            check_head_values(self._digests, self.partition, head)
        names = self._state_names(head)
        while True:
            snapshot = self._store.snapshot(self.partition, names, whole=self._digests is not None)
            if self._state_names(snapshot) == names:
                return snapshot
            names = self._state_names(snapshot)  # another process commissioned a fabric in between

    def _state_names(self, snapshot: PartitionSnapshot) -> list[tuple[str, str]]:
        names = set(snapshot.sums)
        for fabric, registration in registered_fabrics(snapshot.values).items():
            try:
                services = self._services_of(registration.kind)
            except KeyError:
                raise UpgradeNeeded(
                    f"{self.name}: its fabric {fabric} has the kind {registration.kind}, which this version "
                    "does not have; start it with the version that commissioned it"
                ) from None
            names.update((service.name, fabric) for service in services)
        return sorted(names)

    def _check_code(self, values: Mapping[str, str]) -> None:
        """UpgradeNeeded if the states are of other rules or another layout."""
        check_compatible(
            self.name,
            recorded_code_version(values),
            self._code(),
            upgrade=UPGRADE_COMMAND,
            remake=REBUILD_COMMAND,
        )

    def _code(self) -> StateCodeVersion:
        """The version of this code for the site's fabrics."""
        kinds = [registration.kind for registration in self._registered.values()]
        return current_code_version(kinds, self._services_of, self._software)

    def _feed(self, replay: Replay, position: int, line: bytes, *, from_start: bool) -> Envelope | None:
        """The message in this line; None if the line is not a message."""
        try:
            message = decode(line)
        except Unreadable as error:
            self._dead_letters.put(f"{self.name}:{position}", str(error), line)
            return None
        difference = replay.feed(position, message)
        if difference is not None and isinstance(message.body, Upgraded) and not from_start:
            after = message.body.after
            raise UpgradeNeeded(
                f"{self.name}: its log records an unfinished upgrade to {after.software} (rules "
                f"{after.rules}); finish it with `lightwave upgrade` of that version"
            )
        if difference is not None:
            advice = (
                "restore the log from a backup, or continue with the version that wrote it"
                if from_start
                else "log or states belong to another twin: if `lightwave lab replay` finds the log clean, "
                "`lightwave up --rebuild` rebuilds the states; otherwise restore the log from a backup"
            )
            raise LogDamaged(
                f"{self.name}: {self._log.path} differs from what its services emit: {difference}; {advice}"
            )
        return message

    def _taken(self) -> int | None:
        number = self._log.last_seq(self._requests)
        return number if number >= 0 else None

    # --- committing -----------------------------------------------------------------------------------------

    def _note_reader(self, instance: ServiceInstance, message: Envelope) -> None:
        self._readers[instance.source] = instance
        if message.fabric != instance.fabric:
            return
        registration = registration_from(message, self._registered)
        if registration is not None:
            self._registered[message.fabric] = registration
            self._changed_registrations.update(registration_value(message.fabric, registration))
            self._code_due = True

    def _commit(self, position: int, inbox_taken: int | None) -> None:
        changes = changes_of(self._readers.values(), self._trackers)
        code: dict[str, str] = code_version_values(self._code()) if self._code_due else {}
        names = {instance.name for instance in self.site.instances}
        commit = Commit(
            partition=self.partition,
            expected={name: self.position if name in self._stored else 0 for name in names},
            positions=dict.fromkeys(names, position),
            states=changes.states,
            documents=changes.documents,
            progress=changes.clocks,
            inbox_taken=inbox_taken,
            fields=self._changed_registrations | code,
            generation=self._generation,
        )
        if self._sealed is not None:
            commit = self._sealed.sealed(commit, self._registered)
        if not self._store.commit(commit):
            raise Fenced(
                f"{self.name}: the store is no longer at position {self.position} of generation "
                f"{self._generation}"
            )
        self._stored = names
        self._note_committed()
        self.position = position
        self.commits += 1

    def _note_committed(self) -> None:
        for fabric, registration in registered_fabrics(self._changed_registrations).items():
            self._place(fabric, fabric_place(self.partition, registration))
        self._changed_registrations, self._code_due = {}, False
        due = self.site.earliest()
        self._due_us = self._next_due_us = due.due_us if due is not None else None
        self._readers = {}

    def finish_telemetry(self) -> None:
        """Render the newest frames that were skipped for lack of time, at a moment without other work."""
        if self._telemetry is not None:
            self._telemetry.render_deferred()
