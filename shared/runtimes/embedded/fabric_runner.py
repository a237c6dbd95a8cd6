"""One fabric of a living twin in one process: take a root message, append what follows to the log, commit.

The log is written before the states are committed. So after a crash at any moment the log may be ahead of the
states, never behind them, and `recover` folds its tail again; what was only half written is appended.
"""

from collections.abc import Callable, Sequence

from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode, encode
from schemas.sequencer import Tick
from shared.basics.errors import LogDamaged
from shared.engine.codec import encode_instance, restore_instance, state_digest
from shared.engine.dispatch import ServiceInstance
from shared.engine.fabric import Fabric
from shared.engine.replay import Replay
from shared.engine.service import AnyService
from shared.runtimes.embedded.dead_letters import DeadLetters
from shared.storage.log.frames import TelemetryFolder
from shared.storage.log.indexed import IndexedLog
from shared.storage.store import Commit, DocumentChange, Progress, StateChange, StateStore, Waiting
from shared.storage.tracked import Tracker, document_changes, progress_of

REBUILD_STRIDE = 2_000
"""Log messages that a recovery folds between two commits."""


class Fenced(Exception):
    """Somebody else committed to this partition, or the store went back: load what it holds, and go on from
    there.
    """


class PodRunner:
    """Owns the fabric's states in memory, its log file and its partition of the store."""

    def __init__(
        self,
        name: str,
        partition: int,
        services: Sequence[AnyService],
        *,
        store: StateStore,
        log: IndexedLog,
        dead_letters: DeadLetters,
        telemetry: TelemetryFolder | None = None,
        on_append: Callable[[list[Envelope]], None] | None = None,
    ) -> None:
        self.name = name
        self.partition = partition
        self.requests = f"operator/{partition}"
        self.fabric = Fabric(name, services)
        self.position = 0
        self._services = services
        self._store = store
        self._log = log
        self._dead_letters = dead_letters
        self._telemetry = telemetry
        self._on_append = on_append
        self._trackers: dict[str, Tracker] = {}
        self._read_by: dict[str, ServiceInstance] = {}
        self.commits = 0

    # --- going on
    # ---------------------------------------------------------------------------------------------

    def tick(self, instance: ServiceInstance) -> None:
        """Let one due Tick happen, with everything that follows from it."""
        self.take(self.fabric.tick(instance))

    def request(self, waiting: Waiting, clock_us: int) -> None:
        """Give one request of the inbox its place in the log; one that the log holds is only removed."""
        if waiting.number <= self._log.last_seq(self.requests):
            self._commit(self.position, waiting.number)
            return
        self.take(
            self.fabric.request(waiting.body, source=self.requests, seq=waiting.number, clock_us=clock_us),
            inbox_taken=waiting.number,
        )

    def take(self, root: Envelope, inbox_taken: int | None = None) -> None:
        """Append a root message and all that follows from it to the log, then commit. Raises Fenced."""
        messages = self.fabric.cascade(root, self._note_reader)
        self._log.append(messages, [encode(message) for message in messages])
        if isinstance(root.body, Tick):
            self._publish_telemetry(root, root.body)
        self._commit(self.position + len(messages), inbox_taken)
        if self._on_append is not None:
            self._on_append(messages)

    # --- starting, and starting again -----------------------------------------------------------------------

    def recover(self) -> int:
        """Load the states that the store holds and fold the log's tail beyond them; returns how many
        messages.

        LogDamaged if log and states do not belong together.
        """
        self._load()
        if self.position > self._log.end:
            raise LogDamaged(
                f"{self.name}: its states have read {self.position} messages, but {self._log.path} holds "
                f"only {self._log.end}: the log lost its end; `lightwave up --rebuild` takes it as it is"
            )
        before = self.position
        replay = Replay(self.fabric, self._note_reader)
        for position, line in self._log.lines(self.position):
            self._feed(replay, position, line)
            if not replay.pending and position + 1 - self.position >= REBUILD_STRIDE:
                self._commit(position + 1, self._taken())
        rest = list(replay.pending)
        if rest:
            self._log.append(rest, [encode(message) for message in rest])
        if self._log.end > self.position:
            self._commit(self._log.end, self._taken())
        return self.position - before

    def rebuild(self) -> int:
        """Forget every state and make it again from the log alone."""
        self._store.erase(self.partition)
        return self.recover()

    def digest(self) -> str:
        """SHA-256 over every stored field of every service's state."""
        return state_digest(
            (instance.source, encode_instance(instance)) for instance in self.fabric.instances
        )

    def processed_us(self, clock_us: int) -> int:
        """Simulated time up to which everything has been done, if it is `clock_us` by the clock."""
        due = self.fabric.next_due()
        return clock_us if due is None or due.due_us is None else min(clock_us, due.due_us)

    def _load(self) -> None:
        positions = self._store.positions(self.partition)
        names = [service.name for service in self._services]
        stood = {positions.get(name, 0) for name in names}
        if len(stood) > 1:
            raise LogDamaged(f"{self.name}: its services stand at different positions {sorted(stood)}")
        self.position = stood.pop()
        instances = [
            restore_instance(service, self.name, self._store.load(self.partition, service.name, self.name))
            for service in self._services
        ]
        self.fabric = Fabric(self.name, self._services, instances)
        self._trackers = {instance.service.name: Tracker(instance) for instance in instances}
        self._read_by = {}

    def _feed(self, replay: Replay, position: int, line: bytes) -> None:
        try:
            message = decode(line)
        except Unreadable as error:
            self._dead_letters.put(f"{self.name}:{position}", str(error), line)
            return
        difference = replay.feed(position, message)
        if difference is not None:
            raise LogDamaged(f"{self.name}: {self._log.path} is not what its services say: {difference}")

    def _taken(self) -> int | None:
        number = self._log.last_seq(self.requests)
        return number if number >= 0 else None

    # --- committing -----------------------------------------------------------------------------------------

    def _note_reader(self, instance: ServiceInstance, _message: Envelope) -> None:
        self._read_by[instance.service.name] = instance

    def _commit(self, position: int, inbox_taken: int | None) -> None:
        states: list[StateChange] = []
        documents: list[DocumentChange] = []
        progress: list[Progress] = []
        for name, instance in self._read_by.items():
            change = self._trackers[name].changes(instance)
            if change is not None:
                states.append(change)
            documents.extend(document_changes(instance, everything=not self.position))
            progress.append(progress_of(instance))
        names = [service.name for service in self._services]
        commit = Commit(
            partition=self.partition,
            expected=dict.fromkeys(names, self.position),
            positions=dict.fromkeys(names, position),
            states=tuple(states),
            documents=tuple(documents),
            progress=tuple(progress),
            inbox_taken=inbox_taken,
        )
        if not self._store.commit(commit):
            raise Fenced(f"{self.name}: the store no longer stands at position {self.position}")
        self.position = position
        self._read_by = {}
        self.commits += 1

    def _publish_telemetry(self, tick: Envelope, body: Tick) -> None:
        instance = self.fabric.holder(body.service)
        render = instance.service.telemetry
        if self._telemetry is None or render is None or instance.state is None:
            return
        frame = render(instance.state, tick)
        if frame is not None:
            self._telemetry.put(self.name, tick.at_us, frame)
