"""The port of the state store: what a runtime keeps of its services, committed in one fenced transaction.

A *position* belongs to a partition and a reader: how many messages of the partition's log that reader has
handled. A *state* belongs to a service and a fabric. A commit names the positions it started from; if any of
them has moved, nothing is changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.basics.errors import OperationFailed
from shared.engine.roots import ReaderOrder, Request, ServiceProgress, reader_order

ORDER_PREFIX = "skip:"
"""Beginning of the fields in which people order something that is not on the log yet."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """What changed of one service's state for one fabric: stored fields to write, and those to remove."""

    service: str
    fabric: str
    written: Mapping[str, bytes]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A status document's new JSON, or None if it is gone."""

    fabric: str
    kind: str
    name: str
    text: bytes | None


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """What a service has to say, on its way to the log.

    `position` is that of the message it answers, `fabric` and `service` are the reader's that answers,
    `index` counts what it said to that message; `kind` and `source` are those of what it says, `line` is the
    message.
    """

    position: int
    fabric: str
    service: str
    index: int
    kind: str
    source: str
    line: bytes

    @property
    def place(self) -> tuple[int, str, str, int]:
        """What tells it from every other entry: two fabrics' schedulers may answer one message."""
        return self.position, self.fabric, self.service, self.index

    @property
    def order(self) -> tuple[int, ReaderOrder, int]:
        """Where the log will hold it."""
        return self.position, reader_order(self.fabric, self.service), self.index


@dataclass(frozen=True, slots=True)
class Commit:
    """All that one step of a runtime changes in one partition.

    `expected` and `positions` map a reader to its position before and after; a reader that is not stored yet
    stands at 0. `outbox` are put into the outbox, each under its own `place`, and
    `dead_letters` under their position: one put there again replaces the first.
    `inbox_taken` is the highest number of the inbox that the log now holds; entries up to it are removed.
    `agreed` are values of the partition that must be so or absent, else nothing is changed.
    `together` are the readers whose keeper is woken when, after this commit, all of them stand at one
    position.
    """

    partition: int
    expected: Mapping[str, int]
    positions: Mapping[str, int]
    states: tuple[StateChange, ...] = ()
    documents: tuple[DocumentChange, ...] = ()
    progress: tuple[ServiceProgress, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()
    dead_letters: Mapping[int, bytes] = field(default_factory=dict)
    inbox_taken: int | None = None
    fields: Mapping[str, str | None] = field(default_factory=dict)
    """Further values of the partition that must belong to the same view; None removes one."""
    required_values: Mapping[str, str] = field(default_factory=dict)
    wake_readers: tuple[str, ...] = ()
    generation: int = 0
    """That of the partition when the commit was begun; it rises when all of it is taken over."""


@dataclass(frozen=True, slots=True)
class PartitionSnapshot:
    """One view of a partition: positions, fields, progress, some states by (service, fabric), how many
    outbox are not on the log yet, and its generation."""

    positions: Mapping[str, int]
    values: Mapping[str, str]
    progress: Mapping[tuple[str, str], ServiceProgress]
    states: Mapping[tuple[str, str], Mapping[str, bytes]]
    outbox_size: int
    generation: int = 0


@dataclass(frozen=True, slots=True)
class SequencerView:
    """All that a sequencer decides on, of one view of a partition. `outbox` are in order; `waiting` are
    the oldest requests of the inbox; `wall_us` is the store's wall clock. Up to `noted` the inbox was told of
    every request that the log holds."""

    positions: Mapping[str, int]
    values: Mapping[str, str]
    progress: Mapping[tuple[str, str], ServiceProgress]
    outbox: tuple[OutboxEntry, ...]
    dead_letters: Mapping[int, bytes]
    waiting: tuple[Request, ...]
    wall_us: int
    inbox_informed: int


@dataclass(frozen=True, slots=True)
class OutboxTrim:
    """What a sequencer has done with a view of a partition: all of it stands on the log by now."""

    partition: int
    outbox: tuple[OutboxEntry, ...] = ()
    dead_letters: tuple[int, ...] = ()
    requests: tuple[int, ...] = ()
    fields: Mapping[str, str | None] = field(default_factory=dict)
    begin: Mapping[str, int] = field(default_factory=dict)
    """Readers that begin at a position, where they have read nothing yet."""
    inbox_informed: tuple[tuple[int, int], ...] = ()
    """From where to where this sequencer wrote or read the log: which requests stand there, the inbox was
    told."""


class StateStore(Protocol):
    """Kept by memory or by Redis; one contract test class for both. Raises OperationFailed if it cannot be
    reached; a commit that raised may or may not have happened, which the next commit's fence tells."""

    def commit(self, commit: Commit) -> bool:
        """Apply all of it in one transaction; or nothing, and False, if a position is not as expected."""

    def positions(self, partition: int) -> dict[str, int]:
        """Reader → position, for every reader that ever committed."""

    def values(self, partition: int) -> dict[str, str]:
        """The `fields` committed so far."""

    def load(self, partition: int, service: str, fabric: str) -> dict[str, bytes]:
        """Every stored field of one state; empty if there is none."""

    def snapshot(self, partition: int, states: Sequence[tuple[str, str]]) -> PartitionSnapshot:
        """Positions, fields, progress and these states, all of one view."""

    def progress(self, partition: int) -> dict[tuple[str, str], ServiceProgress]:
        """(service, fabric) → its progress."""

    def view(self, partition: int, waiting: int) -> SequencerView:
        """What a sequencer decides on, with the `waiting` oldest requests."""

    def trim(self, trim: "OutboxTrim") -> None:
        """Remove what a sequencer has appended to the log, and note what it knows, in one transaction."""

    def erase(self, partition: int) -> None:
        """Forget everything of this partition but its inbox."""

    def stage(self, image: Commit, mark: str) -> bool:
        """Keep the image of a partition beside what lives there, where nobody reads it: the commit that makes
        all of it from nothing. Of several one is kept; False if somebody removed this one meanwhile."""

    def staged(self, partition: int) -> str | None:
        """The mark of the image that is kept, whole, beside a partition; None if there is none."""

    def promote_staged(self, partition: int) -> bool:
        """Put the image in the place of all that a log makes of a partition, in one transaction, and raise
        the generation; the inbox stays, and what people ordered. The image is kept. False if there is
        none."""

    def discard_staged(self, partition: int) -> None:
        """Forget the image."""

    def place(self, fabric: str, where: "FabricPlace") -> None:
        """Say where a fabric lives; done once more it changes nothing."""


@dataclass(frozen=True, slots=True)
class FabricPlace:
    """Where a fabric lives: its partition, the site whose log it shares, what kind it is, and the simulated
    time at which it retired, None while it lives."""

    partition: int
    site: str
    kind: str
    retired_us: int | None = None


class GlobalNotes(Protocol):
    """What belongs to no partition: named notes, each with its fields, and the wall clock that all share.
    `name` is how people know the store."""

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
        """The same if a field is as expected, None if it is not there; else False, and nothing is set."""


class DocumentReader(Protocol):
    """Status documents as JSON, for the gateway."""

    def fabrics(self) -> dict[str, FabricPlace]:
        """Every fabric that was commissioned, in order, those that have retired, too: the runtime places it
        when its services begin, and again when they have read its end."""

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        """Name → document; empty if there are none."""

    def one(self, fabric: str, kind: str, name: str) -> bytes | None: ...


def fabric_not_in_store(fabric: str) -> OperationFailed:
    return OperationFailed(f"fabric {fabric}: not in this store")
