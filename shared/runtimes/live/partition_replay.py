"""A partition of the log folded anew in memory, by the same folds that the workers run, and compared with
what stands there: a state is made again only where its services say what they said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, MessageSkipped
from schemas.messages.upgrade import Upgraded
from schemas.registry import Unreadable
from shared.basics.errors import OperationFailed
from shared.engine.compatibility import RULES, StateCodeVersion, code_version_values, state_layouts
from shared.engine.roots import is_root
from shared.runtimes.dead_letter import SKIPPED
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, TWIN
from shared.runtimes.live.kafka.records import Record, dead_letter_line, gap_record, open_record
from shared.runtimes.live.worker.partition_fold import PartitionFold, ServedService
from shared.storage.store.fabric_registry import registered_fabrics
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import Commit, OutboxEntry, OutboxTrim

ADVICE = "nothing was changed; rebuild with the version that wrote the log"


class OutputMismatch(OperationFailed):
    """A service says other things than the log holds of it: this is another version of the twin."""


@dataclass(frozen=True, slots=True)
class _Emitted:
    """What a fold said, until it is found on the log."""

    entry: OutboxEntry
    source: str
    seq: int


@dataclass(frozen=True, slots=True)
class ReplayStart:
    """What a fold of a partition begins with in place of all before `offset`: a commit from a snapshot of
    each site that has one, at or beyond that offset, how much every service had said in it, by source, and
    the offset from which on each site is folded."""

    offset: int
    commits: tuple[Commit, ...]
    emitted: Mapping[str, int]
    sites: Mapping[str, int]


class PartitionReplay:
    """Takes the records of a partition from its beginning on, or from where it is begun. `end` is the offset
    of the next one."""

    def __init__(
        self, partition: int, twin: str, served: Sequence[ServedService], start: ReplayStart | None = None
    ) -> None:
        self.partition = partition
        self.end = start.offset if start is not None else 0
        self._twin = twin
        self._store = MemoryStore()
        self._last_seqs: dict[str, int] = dict(start.emitted) if start is not None else {}
        """Source of a service → last seq of it on the log; what comes again readers drop."""
        forms = state_layouts(service for one in served for service in one.by_kind.values())
        note = code_version_values(
            StateCodeVersion(RULES, forms, "")
        )  # as the folds note it with their first commits
        for commit in start.commits if start is not None else ():
            positions = {one.name: self.end for one in served}
            self._store.commit(replace(commit, positions=positions, fields={**commit.fields, **note}))
        self._folds = [PartitionFold(one, partition, twin, self._store) for one in served]
        self._folded_from = start.sites if start is not None else {}
        self._emitted: dict[str, _Emitted] = {}
        self._quiet = 0

    @property
    def stopped(self) -> list[str]:
        """Where a service raises, in one sentence each."""
        return [fold.stopped.sentence for fold in self._folds if fold.stopped is not None]

    def take(self, records: Sequence[Record]) -> None:
        """Fold records that follow on one another. SaysOtherwise if the log holds what no service says, or
        not as it says it."""
        for fold in self._folds:
            fold.take(records)
        self._collect_emitted()
        for record in records:
            self._compare(record)
        self.end = records[-1].offset + 1

    def image(self) -> Commit:
        """All of the partition as of now. What services say that is not on the log is the sequencer's to
        append. SaysOtherwise if it ought to be there."""
        for message_id, emitted in self._emitted.items():
            if emitted.entry.position < self._quiet:
                raise self._mismatch(
                    emitted,
                    f"says {emitted.entry.kind} {message_id}, which the log does not hold",
                    emitted.entry.position,
                )
        image = self._store.image(self.partition)
        outbox = tuple(
            sorted((emitted.entry for emitted in self._emitted.values()), key=lambda entry: entry.order)
        )
        return replace(image, outbox=outbox, fields={**image.fields, "end": str(self.end)})

    def _collect_emitted(self) -> None:
        entries = self._store.view(self.partition, 1).outbox
        for entry in entries:
            line = orjson.loads(entry.line)
            self._emitted[line["id"]] = _Emitted(entry, line["source"], line["seq"])
        self._store.trim(OutboxTrim(self.partition, entries))

    def _compare(self, record: Record) -> None:
        marks = record.headers.keys() & {EXPECTED_OFFSET, LEVEL_AT}
        if not marks and record.header(TWIN) == self._twin:
            message_id = id_of(record.value)
            emitted = self._emitted.get(message_id)
            if emitted is not None and emitted.entry.line == record.value:  # nearly always
                del self._emitted[message_id]
                self._last_seqs[emitted.source] = emitted.seq
                return
        try:
            message = open_record(record, self._twin)
        except Unreadable:
            return  # a dead letter to every reader
        if message is None:
            return
        if isinstance(message.body, Upgraded):
            self._check_rules(record, message, message.body)
        if is_root(message):
            self._quiet = max(self._quiet, int(record.headers[LEVEL_AT]))
        elif not isinstance(message.body, MessageSkipped) and self._is_new(message):
            self._raise_mismatch(record, message)

    def _check_rules(self, record: Record, message: Envelope, body: Upgraded) -> None:
        """Behind a change of the rules other states are folded on than this fold has."""
        registration = registered_fabrics(self._store.values(self.partition)).get(message.fabric)
        if registration is None or not body.changed_rules:
            return
        if record.offset >= self._folded_from.get(registration.site, 0):
            why = (
                f"this is of rules {RULES}, which are older: use that version"
                if body.after.rules > RULES
                else "what follows is made from the snapshot of that upgrade, which is not there, or not as "
                "the log says; restore it from a backup"
            )
            raise OutputMismatch(
                f"partition {self.partition}, offset {record.offset}: "
                f"{registration.site} was upgraded there to "
                f"rules {body.after.rules} by {body.after.software}, and {why}; nothing was changed"
            )

    def _is_new(self, message: Envelope) -> bool:
        known = message.fabric in registered_fabrics(self._store.values(self.partition))
        return known and message.seq > self._last_seqs.get(message.source, -1)

    def _raise_mismatch(self, record: Record, message: Envelope) -> None:
        emitted = self._emitted.get(message.id)
        if emitted is not None:
            line = emitted.entry.line.decode()
            raise self._mismatch(
                emitted, f"says {line} where the log holds {record.value.decode()}", record.offset
            )
        raise OutputMismatch(
            f"partition {self.partition}, offset {record.offset}: the log holds {message.type} {message.id}, "
            f"which {message.source} of this version does not say; {ADVICE}"
        )

    def _mismatch(self, emitted: _Emitted, what: str, offset: int) -> OutputMismatch:
        entry = emitted.entry
        return OutputMismatch(
            f"partition {self.partition}, offset {offset}: {entry.service} of {entry.fabric} in this version "
            f"{what}; {ADVICE}"
        )


def id_of(line: bytes) -> str:
    """The id that a line of the log gives itself; nothing if it is no message."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return ""
    message_id = found.get("id") if isinstance(found, dict) else None
    return message_id if isinstance(message_id, str) else ""


# A partition of the log before the snapshots of its sites: read, and not folded.
#
# What a log makes of a partition beside what snapshots hold is made here: which requests it holds, which
# lines
# nobody could read, where each site begins.


class UnfoldedLog:
    """Takes the records of a partition from its beginning on. `sites` has the offset at which each begins,
    `skips` the services that were let pass over a message, by its id; `end` is the offset of the next
    record."""

    def __init__(self, partition: int, twin: str, served: Sequence[ServedService]) -> None:
        self.end = 0
        self.sites: dict[str, int] = {}
        self.skips: dict[str, list[str]] = {}
        self._partition = partition
        self._twin = twin
        self._store = MemoryStore()
        self._folds = [PartitionFold(one, partition, twin, self._store, registry_only=True) for one in served]
        self._fabrics: set[str] = set()

    def take(self, records: Sequence[Record]) -> list[tuple[int, Envelope]]:
        """The messages among records that follow on one another, each with its place."""
        found: list[tuple[int, Envelope]] = []
        filtered = [self._filtered(record, found) for record in records]
        for fold in self._folds:
            fold.take(filtered)
        self.end = records[-1].offset + 1
        return found

    def letters(self) -> Mapping[int, bytes]:
        """What workers could not read, by offset."""
        return self._store.view(self._partition, 1).dead_letters

    def letters_of_skips(self, before: Iterable[Sequence[Record]]) -> dict[int, bytes]:
        """What services were let pass over of these records."""
        return {
            record.offset: dead_letter_line(record, service, SKIPPED)
            for batch in before
            for record in batch
            for service in self.skips.get(id_of(record.value), ())
        }

    def _filtered(self, record: Record, found: list[tuple[int, Envelope]]) -> Record:
        """A record as the folds see it: nothing, if neither who lives there nor a dead letter comes of it."""
        try:
            message = open_record(record, self._twin)
        except Unreadable:
            return record
        if message is None:
            return record
        found.append((record.offset, message))
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._fabrics.add(message.fabric)
            self.sites.setdefault(body.site, record.offset)
            return record
        if isinstance(body, MessageSkipped):
            self.skips.setdefault(body.message, []).append(body.service)
        passes = message.fabric in self._fabrics and not isinstance(body, FabricRetired)
        return gap_record(record.partition, record.offset) if passes else record
