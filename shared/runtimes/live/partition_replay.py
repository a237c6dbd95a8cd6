"""Folds a partition of the log again in memory, with the folds that the workers run, and compares the output.

States are rebuilt only if the services emit what is on the log. `UnfoldedLog` reads the part of a log before
the snapshots of its sites without folding it: which requests it contains, which lines are unreadable, and
where each site starts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, MessageSkipped
from schemas.messages.upgrade import Upgraded
from schemas.registry import Unreadable
from shared.basics.errors import OperationFailed
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values
from shared.engine.message_order import is_root
from shared.engine.state_layout import state_layouts
from shared.runtimes.dead_letter import SKIPPED
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, TWIN
from shared.runtimes.live.kafka.records import Record, dead_letter_line, gap_record, open_record
from shared.runtimes.live.worker.partition_fold import PartitionFold, ServedService
from shared.storage.store.fabric_registry import registered_fabrics
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import Commit, OutboxEntry, OutboxTrim

ADVICE = "nothing was changed; rebuild with the version that wrote the log"


class OutputMismatch(OperationFailed):
    """A service emits other messages than the log contains: this is another version of the twin."""


@dataclass(frozen=True, slots=True)
class _Emitted:
    """A message that a fold emitted and that was not found on the log yet."""

    entry: OutboxEntry
    source: str
    seq: int


@dataclass(frozen=True, slots=True)
class ReplayStart:
    """Where a fold of a partition starts in place of the first message."""

    offset: int
    """The first offset that is read."""
    commits: tuple[Commit, ...]
    """A commit for each site with a snapshot, which is at or beyond `offset`."""
    emitted: Mapping[str, int]
    """Source → number of messages that it had emitted in its snapshot."""
    sites: Mapping[str, int]
    """Site → the offset from which it is folded."""


class PartitionReplay:
    """Takes the records of a partition in order, from its first record or from a `ReplayStart`. `end` is the
    offset of the next one."""

    def __init__(
        self, partition: int, twin: str, served: Sequence[ServedService], start: ReplayStart | None = None
    ) -> None:
        self.partition = partition
        self.end = start.offset if start is not None else 0
        self._twin = twin
        self._store = MemoryStore()
        self._last_seqs: dict[str, int] = dict(start.emitted) if start is not None else {}
        """Source of a service → its last seq on the log; readers drop repeats."""
        layouts = state_layouts(service for one in served for service in one.by_kind.values())
        note = code_version_values(
            StateCodeVersion(RULES, layouts, "")
        )  # as the folds record it with their first commits
        for commit in start.commits if start is not None else ():
            positions = {service.name: self.end for service in served}
            self._store.commit(replace(commit, positions=positions, fields={**commit.fields, **note}))
        self._folds = [PartitionFold(one, partition, twin, self._store) for one in served]
        self._folded_from = start.sites if start is not None else {}
        self._emitted: dict[str, _Emitted] = {}
        self._quiet = 0

    @property
    def stopped(self) -> list[str]:
        """The errors of services that stopped, one sentence each."""
        return [fold.stopped.sentence for fold in self._folds if fold.stopped is not None]

    def take(self, records: Sequence[Record]) -> None:
        """Fold the next records. OutputMismatch if the log contains a message that no service emits, or a
        different one."""
        for fold in self._folds:
            fold.take(records)
        self._collect_emitted()
        for record in records:
            self._compare(record)
        self.end = records[-1].offset + 1

    def image(self) -> Commit:
        """The whole partition as of now. The sequencer will append emitted messages that are not on the log
        yet. OutputMismatch if one should be there already."""
        for message_id, emitted in self._emitted.items():
            if emitted.entry.position < self._quiet:
                raise self._mismatch(
                    emitted,
                    f"emits {emitted.entry.kind} {message_id}, which is not on the log",
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
            return  # a dead letter for every reader
        if message is None:
            return
        if isinstance(message.body, Upgraded):
            self._check_rules(record, message, message.body)
        if is_root(message):
            self._quiet = max(self._quiet, int(record.headers[LEVEL_AT]))
        elif not isinstance(message.body, MessageSkipped) and self._is_new(message):
            self._raise_mismatch(record, message)

    def _check_rules(self, record: Record, message: Envelope, body: Upgraded) -> None:
        """After a change of the rules, the log was folded on from states that this fold does not have."""
        registration = registered_fabrics(self._store.values(self.partition)).get(message.fabric)
        if registration is None or not body.changed_rules:
            return
        if record.offset >= self._folded_from.get(registration.site, 0):
            why = (
                f"this version has the older rules {RULES}: use that version"
                if body.after.rules > RULES
                else "the snapshot of that upgrade, from which the log continues, is missing or differs "
                "from the log; restore it from a backup"
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
                emitted, f"emits {line} where the log has {record.value.decode()}", record.offset
            )
        raise OutputMismatch(
            f"partition {self.partition}, offset {record.offset}: the log has {message.type} {message.id}, "
            f"which {message.source} of this version does not emit; {ADVICE}"
        )

    def _mismatch(self, emitted: _Emitted, what: str, offset: int) -> OutputMismatch:
        entry = emitted.entry
        return OutputMismatch(
            f"partition {self.partition}, offset {offset}: {entry.service} of {entry.fabric} in this version "
            f"{what}; {ADVICE}"
        )


def id_of(line: bytes) -> str:
    """The message id in a line of the log; empty if the line is not a message."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return ""
    message_id = fields.get("id") if isinstance(fields, dict) else None
    return message_id if isinstance(message_id, str) else ""


class UnfoldedLog:
    """Takes the records of a partition in order, from its first record."""

    def __init__(self, partition: int, twin: str, served: Sequence[ServedService]) -> None:
        self.end = 0
        """The offset of the next record."""
        self.sites: dict[str, int] = {}
        """Site → the offset at which it starts."""
        self.skips: dict[str, list[str]] = {}
        """Message id → services that skipped the message."""
        self._partition = partition
        self._twin = twin
        self._store = MemoryStore()
        self._folds = [PartitionFold(one, partition, twin, self._store, registry_only=True) for one in served]
        self._fabrics: set[str] = set()

    def take(self, records: Sequence[Record]) -> list[tuple[int, Envelope]]:
        """The messages in the next records, each with its offset."""
        messages: list[tuple[int, Envelope]] = []
        filtered = [self._filtered(record, messages) for record in records]
        for fold in self._folds:
            fold.take(filtered)
        self.end = records[-1].offset + 1
        return messages

    def letters(self) -> Mapping[int, bytes]:
        """Offset → dead letter of a record that workers could not read."""
        return self._store.view(self._partition, 1).dead_letters

    def letters_of_skips(self, before: Iterable[Sequence[Record]]) -> dict[int, bytes]:
        """Offset → dead letter of a skipped message in these records."""
        return {
            record.offset: dead_letter_line(record, service, SKIPPED)
            for batch in before
            for record in batch
            for service in self.skips.get(id_of(record.value), ())
        }

    def _filtered(self, record: Record, messages: list[tuple[int, Envelope]]) -> Record:
        """The record for the folds. A gap if it neither changes the registered fabrics nor is a dead
        letter."""
        try:
            message = open_record(record, self._twin)
        except Unreadable:
            return record
        if message is None:
            return record
        messages.append((record.offset, message))
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._fabrics.add(message.fabric)
            self.sites.setdefault(body.site, record.offset)
            return record
        if isinstance(body, MessageSkipped):
            self.skips.setdefault(body.message, []).append(body.service)
        is_irrelevant = message.fabric in self._fabrics and not isinstance(body, FabricRetired)
        return gap_record(record.partition, record.offset) if is_irrelevant else record
