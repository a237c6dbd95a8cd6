"""A partition of the log folded anew in memory, by the same folds that the workers run, and compared with
what stands there: a state is made again only where its services say what they said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from schemas.envelope import Envelope
from schemas.registry import Unreadable
from schemas.sequencer import MessageSkipped
from schemas.upgrade import Upgraded
from shared.basics.errors import OperationFailed
from shared.engine.roots import is_root
from shared.engine.rules import RULES, StatesCode, code_note, forms_of
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, TWIN
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.worker.fold import PartitionFold, ServedService
from shared.storage.memory import MemoryStore
from shared.storage.residents import residents
from shared.storage.store import Commit, OutboxEntry, OutboxTrim

ADVICE = "nothing was changed; rebuild with the version that wrote the log"


class SaysOtherwise(OperationFailed):
    """A service says other things than the log holds of it: this is another version of the twin."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a fold said, until it is found on the log."""

    entry: OutboxEntry
    source: str
    seq: int


@dataclass(frozen=True, slots=True)
class Begun:
    """What a fold of a partition begins with in place of all before `offset`: a commit from a snapshot of
    each site that has one, at or beyond that offset, how much every service had said in it, by source, and
    the offset from which on each site is folded."""

    offset: int
    commits: tuple[Commit, ...]
    said: Mapping[str, int]
    sites: Mapping[str, int]


class Refold:
    """Takes the records of a partition from its beginning on, or from where it is begun. `end` is the offset
    of the next one."""

    def __init__(
        self, partition: int, twin: str, served: Sequence[ServedService], begun: Begun | None = None
    ) -> None:
        self.partition = partition
        self.end = begun.offset if begun is not None else 0
        self._twin = twin
        self._store = MemoryStore()
        self._seen: dict[str, int] = dict(begun.said) if begun is not None else {}
        """Source of a service → last seq of it on the log; what comes again readers drop."""
        forms = forms_of(service for one in served for service in one.by_kind.values())
        note = code_note(StatesCode(RULES, forms, ""))  # as the folds note it with their first commits
        for commit in begun.commits if begun is not None else ():
            positions = {one.name: self.end for one in served}
            self._store.commit(replace(commit, positions=positions, fields={**commit.fields, **note}))
        self._folds = [PartitionFold(one, partition, twin, self._store) for one in served]
        self._begun = begun.sites if begun is not None else {}
        self._said: dict[str, _Said] = {}
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
        self._note_said()
        for record in records:
            self._compare(record)
        self.end = records[-1].offset + 1

    def image(self) -> Commit:
        """All of the partition as of now. What services say that is not on the log is the sequencer's to
        append. SaysOtherwise if it ought to be there."""
        for message_id, said in self._said.items():
            if said.entry.position < self._quiet:
                raise self._otherwise(
                    said,
                    f"says {said.entry.kind} {message_id}, which the log does not hold",
                    said.entry.position,
                )
        image = self._store.image(self.partition)
        outbox = tuple(sorted((said.entry for said in self._said.values()), key=lambda entry: entry.order))
        return replace(image, outbox=outbox, fields={**image.fields, "end": str(self.end)})

    def _note_said(self) -> None:
        entries = self._store.view(self.partition, 1).outbox
        for entry in entries:
            line = orjson.loads(entry.line)
            self._said[line["id"]] = _Said(entry, line["source"], line["seq"])
        self._store.trim(OutboxTrim(self.partition, entries))

    def _compare(self, record: Record) -> None:
        marks = record.headers.keys() & {EXPECTED_OFFSET, LEVEL_AT}
        if not marks and record.header(TWIN) == self._twin:
            message_id = id_of(record.value)
            said = self._said.get(message_id)
            if said is not None and said.entry.line == record.value:  # nearly always
                del self._said[message_id]
                self._seen[said.source] = said.seq
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
            self._differs(record, message)

    def _check_rules(self, record: Record, message: Envelope, body: Upgraded) -> None:
        """Behind a change of the rules other states are folded on than this fold has."""
        resident = residents(self._store.values(self.partition)).get(message.fabric)
        if resident is None or not body.changed_rules:
            return
        if record.offset >= self._begun.get(resident.site, 0):
            why = (
                f"this is of rules {RULES}, which are older: use that version"
                if body.after.rules > RULES
                else "what follows is made from the snapshot of that upgrade, which is not there, or not as "
                "the log says; restore it from a backup"
            )
            raise SaysOtherwise(
                f"partition {self.partition}, offset {record.offset}: {resident.site} was upgraded there to "
                f"rules {body.after.rules} by {body.after.software}, and {why}; nothing was changed"
            )

    def _is_new(self, message: Envelope) -> bool:
        lives = message.fabric in residents(self._store.values(self.partition))
        return lives and message.seq > self._seen.get(message.source, -1)

    def _differs(self, record: Record, message: Envelope) -> None:
        said = self._said.get(message.id)
        if said is not None:
            line = said.entry.line.decode()
            raise self._otherwise(
                said, f"says {line} where the log holds {record.value.decode()}", record.offset
            )
        raise SaysOtherwise(
            f"partition {self.partition}, offset {record.offset}: the log holds {message.type} {message.id}, "
            f"which {message.source} of this version does not say; {ADVICE}"
        )

    def _otherwise(self, said: _Said, what: str, offset: int) -> SaysOtherwise:
        entry = said.entry
        return SaysOtherwise(
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
