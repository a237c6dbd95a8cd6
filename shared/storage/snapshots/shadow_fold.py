"""Folds the log of a living site in parallel, and compares.

It compares the log with what the services emit, message by message, and the store's states with the states of
the fold. Now and then it takes a snapshot.

The fold advances to the position that every service has reached in the store. There it knows the state of
each, unless the service has not read the whole last cascade, which the fold has unfolded to its end. Such a
state is skipped and compared at the next check.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, MessageSkipped
from shared.basics.errors import ServiceFailed
from shared.engine.dispatch import ServiceInstance
from shared.engine.replay import Replay, ReplayMismatch
from shared.engine.site import ServicesOf, Skip
from shared.engine.state_codec import encode_instance
from shared.storage.snapshots.fold_start import SiteLog, message_or_none
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot, States
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES
from shared.storage.store.change_tracking import DocumentDifference, document_differences

SKIPPED_TYPE = MessageSkipped.__name__.encode()
"""Text in every line that contains a skip."""

log = logging.getLogger("lightwave.log")

StateKey = tuple[str, str]
"""(service, fabric)."""
Documents = Mapping[tuple[str, str], Mapping[str, bytes]]
"""(fabric, kind) → name → JSON."""


@dataclass(frozen=True, slots=True)
class StateDifference:
    """A stored field that differs from the fold, when its service had read `position` messages of the site.
    Either side is None if the field is missing."""

    service: str
    fabric: str
    field: str
    position: int
    expected: bytes | None
    found: bytes | None


@dataclass(frozen=True, slots=True)
class StateComparison:
    """The states that one check compared with the fold, and their differences."""

    states: tuple[StateKey, ...] = ()
    differences: tuple[StateDifference, ...] = ()
    documents: tuple[DocumentDifference, ...] = ()
    """Documents that differ from those of the compared states."""


class ShadowFold:
    """A fold of one site next to its log."""

    def __init__(
        self,
        lines: SiteLog,
        snapshots: SnapshotFolder,
        services_of: ServicesOf,
        *,
        offset_after: Callable[[int], int] | None = None,
        every: int = SNAPSHOT_INTERVAL_MESSAGES,
    ) -> None:
        self.difference: ReplayMismatch | None = None
        """The first place where the log differs from what its services emit; the fold ends there."""
        self.stopped: str | None = None
        """The sentence of a service that raises; the fold waits for an operator's skip."""
        self._log = lines
        self._snapshots = snapshots
        self._services_of = services_of
        self._offset_after = offset_after
        """Position → the Kafka offset after the message before it."""
        self._every = every
        self._skips: set[Skip] = set()
        self._scanned = lines.end
        """Up to where the log was searched for skips, from the start of the fold."""
        self._begin()

    @property
    def position(self) -> int:
        """The number of messages of the log that the fold has read."""
        return self._reached

    def compare(
        self,
        positions: Mapping[str, int],
        stored: States,
        *,
        keep: Callable[[SiteSnapshot], None],
        is_ended: Callable[[], bool] = lambda: False,
        documents: Documents | None = None,
    ) -> StateComparison:
        """Advance the fold as far as all services have read, and compare their states. `positions` is the
        number of messages of the site that each service has read. `stored` has the stored fields of each in
        every fabric, of the same point in time, and `documents` all stored documents. Snapshots that are due
        go to `keep`."""
        self._find_skips()
        self._follow(min(positions.values()), keep, is_ended)
        if self.difference is not None or self.stopped is not None:
            return StateComparison()
        keys = [key for key in stored if self._is_known(key, positions[key[0]])]
        differences = [
            difference
            for key in keys
            for difference in self._differences(key, positions[key[0]], stored[key])
        ]
        compared = [one for one in self._replayed.site.instances if (one.name, one.fabric) in keys]
        wrong = (
            ()
            if documents is None
            else document_differences(compared, documents, whole=len(keys) == len(stored))
        )
        return StateComparison(tuple(keys), tuple(differences), tuple(wrong))

    # --- the fold -------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start from the newest good snapshot, or the log's first message."""
        history = SiteHistory(self._log, self._snapshots, self._services_of, frozenset(self._skips))
        self._replayed: ReplayedSite = history.nearest(self._log.end)
        self._reached = self._taken = self._root_at = self._replayed.position
        self._scanned = min(self._scanned, self._reached)
        self._replay = Replay(self._replayed.site, self._on_read, may_repeat=False)
        self._read_last: dict[StateKey, str] = {}
        """(service, fabric) → id of the last message of the last cascade that it read."""
        self._placed: dict[str, int] = {}
        """Id → position of each message of the last cascade that is on the log."""
        self.stopped = None

    def _find_skips(self) -> None:
        """Find new skips. A skip is on the log after its message, but the fold must know it before."""
        before = len(self._skips)
        for at, line in self._log.lines(self._scanned):
            message = message_or_none(line) if SKIPPED_TYPE in line else None
            if message is not None and isinstance(message.body, MessageSkipped):
                self._skips.add((message.fabric, message.body.service, message.body.message))
            self._scanned = at + 1
        if len(self._skips) > before:
            self._begin()

    def _follow(self, low: int, keep: Callable[[SiteSnapshot], None], is_ended: Callable[[], bool]) -> None:
        """Unfold every cascade whose root is below this position."""
        if self.difference is not None or self.stopped is not None:
            return
        for at, line in self._log.lines(self._reached):
            if is_ended() or (at >= low and not self._replay.pending):
                return
            message = message_or_none(line)
            if message is not None and not self._feed(at, message):
                return
            self._reached = at + 1
            if not self._replay.pending:
                self._replayed.position = self._reached
                self._replayed.last_line = line
                if self._taken + self._every <= self._reached <= low:
                    self._take(keep)

    def _feed(self, at: int, message: Envelope) -> bool:
        """Feed one message; False if the fold ends."""
        if not self._replay.pending:
            self._read_last.clear()
            self._placed.clear()
            self._root_at = at
        self._placed[message.id] = at
        try:
            self.difference = self._replay.feed(at, message)
        except ServiceFailed as error:
            self._begin()  # discard the partial cascade
            self.stopped = str(error)
            return False
        if isinstance(message.body, FabricCommissioned):
            self._replayed.kinds[message.fabric] = message.body.kind
        return self.difference is None

    def _on_read(self, instance: ServiceInstance, message: Envelope) -> None:
        self._read_last[instance.name, instance.fabric] = message.id

    def _take(self, keep: Callable[[SiteSnapshot], None]) -> None:
        offset = None if self._offset_after is None else self._offset_after(self._reached)
        self._taken = self._reached
        keep(self._replayed.snapshot(self._snapshots.software, offset))

    # --- comparing with the store ---------------------------------------------------------------------------

    def _is_known(self, key: StateKey, position: int) -> bool:
        """Whether the fold's state is the one this service must have: the fold has read all that the service
        has, and the service has nothing left to read of what the fold has unfolded beyond."""
        if position > self._reached:
            return False
        read_last = self._read_last.get(key)
        if read_last is not None:
            return self._placed.get(read_last, position) < position
        return position >= self._root_at

    def _differences(
        self, key: StateKey, position: int, found: Mapping[str, bytes]
    ) -> Iterator[StateDifference]:
        service, fabric = key
        instances = self._replayed.site.instances
        own = next((instance for instance in instances if (instance.name, instance.fabric) == key), None)
        expected = {} if own is None else encode_instance(own)
        for field in sorted(expected.keys() | found.keys()):
            if expected.get(field) != found.get(field):
                yield StateDifference(service, fabric, field, position, expected.get(field), found.get(field))
