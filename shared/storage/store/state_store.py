"""The port of the state store: what a runtime stores of its services, committed in one fenced transaction.

A *position* belongs to a partition and a reader: the number of messages of the partition's log that the
reader has handled. A *state* belongs to a service and a fabric. A commit names the positions that it started
from; if one of them has moved, nothing changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.basics.errors import OperationFailed
from shared.engine.message_order import ReaderOrder, Request, ServiceProgress, reader_order

ORDER_PREFIX = "skip:"
"""Prefix of the fields for operators' orders that are not on the log yet."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """The change of one service's state for one fabric: stored fields to write, and those to remove."""

    service: str
    fabric: str
    written: Mapping[str, bytes]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A status document's new JSON, or None if the document was removed."""

    fabric: str
    kind: str
    name: str
    text: bytes | None
    service: str = ""
    """The service whose document it is."""


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A message that a service emitted, on its way to the log."""

    position: int
    """Position of the message that it answers."""
    fabric: str
    """Fabric of the service that answers; `service` is its name."""
    service: str
    index: int
    """Its number among the answers to that message."""
    kind: str
    """Its message type; `source` is its source."""
    source: str
    line: bytes
    """The encoded message."""

    @property
    def place(self) -> tuple[int, str, str, int]:
        """Its unique key. The fabric is part of it, because schedulers of two fabrics may answer one
        message."""
        return self.position, self.fabric, self.service, self.index

    @property
    def order(self) -> tuple[int, ReaderOrder, int]:
        """Its place in the order of the log."""
        return self.position, reader_order(self.fabric, self.service), self.index


@dataclass(frozen=True, slots=True)
class Commit:
    """All changes of one step of a runtime in one partition."""

    partition: int
    expected: Mapping[str, int]
    """Reader → position before; 0 for a reader that is not stored yet."""
    positions: Mapping[str, int]
    """Reader → position after."""
    states: tuple[StateChange, ...] = ()
    documents: tuple[DocumentChange, ...] = ()
    progress: tuple[ServiceProgress, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()
    """Entries to add, each under its own `place`."""
    dead_letters: Mapping[int, bytes] = field(default_factory=dict)
    """Position → dead letter; replaces an older one there."""
    inbox_taken: int | None = None
    """The highest inbox number on the log; requests up to it are removed."""
    fields: Mapping[str, str | None] = field(default_factory=dict)
    """Further values of the partition for the same view; None removes one."""
    required_values: Mapping[str, str] = field(default_factory=dict)
    """Values of the partition that must be equal or absent; else nothing changes."""
    wake_readers: tuple[str, ...] = ()
    """Readers whose sequencer is woken when, after this commit, all of them have one position."""
    generation: int = 0
    """The partition's generation when the commit was prepared; it rises when the whole partition is
    replaced."""
    sums: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(service, fabric) → the digests of its state, documents and outbox entries (`ServiceSums`)."""
    seals: Mapping[str, str] = field(default_factory=dict)
    """Reader → the last digest: over its position, progress and sums."""


@dataclass(frozen=True, slots=True)
class PartitionSnapshot:
    """A consistent view of a partition: positions, values, progress, some states by (service, fabric), number
    of outbox entries, generation, and digests.

    Nothing in it is checked. `SealedCommits` and `check_states` compare states with the digests."""

    positions: Mapping[str, int]
    values: Mapping[str, str]
    progress: Mapping[tuple[str, str], ServiceProgress]
    states: Mapping[tuple[str, str], Mapping[str, bytes]]
    outbox_size: int
    generation: int = 0
    sums: Mapping[tuple[str, str], str] = field(default_factory=dict)
    seals: Mapping[str, str] = field(default_factory=dict)
    trimmed: str = ""
    """The digest of the outbox entries that a sequencer removed; empty if there were none."""
    documents: Mapping[tuple[str, str], Mapping[str, bytes]] | None = None
    """(fabric, kind) → name → document, of the whole partition; None if they were not requested."""
    outbox: tuple[OutboxEntry, ...] | None = None
    """All entries in order; None if they were not requested."""


@dataclass(frozen=True, slots=True)
class SequencerView:
    """A consistent view of a partition with everything that a sequencer needs."""

    positions: Mapping[str, int]
    values: Mapping[str, str]
    progress: Mapping[tuple[str, str], ServiceProgress]
    outbox: tuple[OutboxEntry, ...]
    """In order."""
    dead_letters: Mapping[int, bytes]
    waiting: tuple[Request, ...]
    """The oldest requests of the inbox."""
    wall_us: int
    """The store's wall clock."""
    inbox_informed: int
    """The inbox knows every request on the log up to here."""
    sums: Mapping[tuple[str, str], str] = field(default_factory=dict)
    seals: Mapping[str, str] = field(default_factory=dict)
    trimmed: str = ""
    """Digests, as in a `PartitionSnapshot`."""


@dataclass(frozen=True, slots=True)
class GuardedFields:
    """Values of a partition that are written only if the value `name` is still the one in the view, or is
    still absent. Otherwise another process has read a later message, and knows more."""

    name: str
    seen: str | None
    """The value `name` in the view; None if it was absent."""
    fields: Mapping[str, str]
    """The values to write: `name`, and what belongs to it."""


@dataclass(frozen=True, slots=True)
class OutboxTrim:
    """What a sequencer has finished of a view of a partition: all of it is on the log now."""

    partition: int
    outbox: tuple[OutboxEntry, ...] = ()
    dead_letters: tuple[int, ...] = ()
    requests: tuple[int, ...] = ()
    fields: Mapping[str, str | None] = field(default_factory=dict)
    begin: Mapping[str, int] = field(default_factory=dict)
    """Readers that start at a position, if they have read nothing yet."""
    begin_seals: Mapping[str, str] = field(default_factory=dict)
    """The seals of the readers in `begin`."""
    trimmed: tuple[str, str] | None = None
    """The digest of removed outbox entries before and after this trim. If the store has another one, another
    sequencer or a rebuild was faster, and the outbox stays as it is. None if the twin keeps no digests."""
    inbox_informed: tuple[tuple[int, int], ...] = ()
    """Ranges of the log that this sequencer wrote or read, and whose requests it reported to the inbox."""
    end: tuple[str, int] | None = None
    """The value `end` in the view, and the end of the log to store there. If the store has another, higher
    value by now, it stays: this sequencer was stopped, and another one has appended since."""
    guarded: tuple[GuardedFields, ...] = ()
    """The registrations of fabrics that this sequencer commissioned or retired."""


class StateStore(Protocol):
    """Implemented in memory and on Redis, with one contract test class for both. Raises OperationFailed if it
    cannot be reached. A commit that raised may or may not have happened; the fence of the next one tells."""

    def commit(self, commit: Commit) -> bool:
        """Apply everything in one transaction; nothing, and False, if a position is not as expected."""

    def positions(self, partition: int) -> dict[str, int]:
        """Reader → position, for every reader that ever committed."""

    def values(self, partition: int) -> dict[str, str]:
        """The `fields` committed so far."""

    def load(self, partition: int, service: str, fabric: str) -> dict[str, bytes]:
        """Every stored field of one state, unchecked; empty without a state."""

    def snapshot(
        self, partition: int, states: Sequence[tuple[str, str]], *, whole: bool = False
    ) -> PartitionSnapshot:
        """Positions, values, progress and these states, as a consistent view; with `whole` also all documents
        and the outbox. StateRefused if the store has something there that no commit writes."""

    def progress(self, partition: int) -> dict[tuple[str, str], ServiceProgress]:
        """(service, fabric) → its progress."""

    def view(self, partition: int, waiting: int) -> SequencerView:
        """The view for a sequencer, with the `waiting` oldest requests."""

    def trim(self, trim: "OutboxTrim") -> None:
        """Remove what a sequencer has appended to the log, and store what it knows, in one transaction."""

    def erase(self, partition: int) -> None:
        """Remove everything of this partition except its inbox."""

    def stage(self, image: Commit, mark: str) -> bool:
        """Store the image of a partition next to its live data: the commit that creates all of it from
        nothing. Only one image is kept. False if it was removed meanwhile."""

    def staged(self, partition: int) -> str | None:
        """The mark of the complete image of a partition; None if there is none."""

    def promote_staged(self, partition: int, generation: int | None = None) -> bool:
        """Replace everything that a log produces in a partition by the image, in one transaction, and raise
        the generation. The inbox and operators' orders stay; so does the image. False without an image, or if
        the partition no longer has the given generation: another process replaced its states meanwhile."""

    def discard_staged(self, partition: int) -> None:
        """Remove the image."""

    def place(self, fabric: str, where: "FabricPlace") -> None:
        """Record where a fabric is; idempotent."""


@dataclass(frozen=True, slots=True)
class FabricPlace:
    """Where a fabric is: its partition, the site whose log it shares, its kind, and the simulated time at
    which it retired (None while active)."""

    partition: int
    site: str
    kind: str
    retired_us: int | None = None


class GlobalNotes(Protocol):
    """Data outside of partitions: named notes, each with fields, and the shared wall clock. `name` is the
    store's name for people."""

    name: str

    def wall_us(self) -> int:
        """Microseconds since 1970."""

    def read_globals(self, name: str) -> dict[str, str]:
        """All fields of a note."""

    def set_globals(self, name: str, fields: Mapping[str, str | None]) -> None:
        """Set fields of a note, and remove those that are None; in one transaction."""

    def swap_globals(
        self, name: str, field: str, expected: str | None, fields: Mapping[str, str | None]
    ) -> bool:
        """Set fields if `field` has the expected value (None: it does not exist); else change nothing and
        return False."""


class DocumentReader(Protocol):
    """Status documents as JSON, for the gateway."""

    def fabrics(self) -> dict[str, FabricPlace]:
        """Every commissioned fabric, in order, also the retired ones. The runtime records a fabric when its
        services start, and again when they have read its last message."""

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        """Name → document; empty if there are none."""

    def one(self, fabric: str, kind: str, name: str) -> bytes | None: ...


def fabric_not_in_store(fabric: str) -> OperationFailed:
    return OperationFailed(f"fabric {fabric}: not in this store")
