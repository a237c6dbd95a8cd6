"""A living site, folded along with its log: what the log says is compared with the fold, message by message,
what a store holds with the states of the fold, and now and then a snapshot is taken.

The fold goes as far as every service has come in the store. There it knows what each of them must hold,
unless the service is still to read more of the last cascade, which the fold has unfolded to its end: of that
one it says nothing, for it can be compared a moment later.
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
from shared.storage.snapshots.rules_upgrade import SiteLog, message_or_none
from shared.storage.snapshots.site_history import SNAPSHOT_EVERY, ReplayedSite, SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot, States
from shared.storage.snapshots.snapshot_folder import SnapshotFolder

SKIPPED_TYPE = MessageSkipped.__name__.encode()
"""What a line holds that is a skip."""

log = logging.getLogger("lightwave.log")

StateKey = tuple[str, str]
"""(service, fabric)."""


@dataclass(frozen=True, slots=True)
class StateDifference:
    """A stored field that is not what the log comes to, when its service had read so many messages of the
    site. Either side is None where there is no such field."""

    service: str
    fabric: str
    field: str
    position: int
    expected: bytes | None
    found: bytes | None


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Which states a look compared with the fold, and how they differ."""

    states: tuple[StateKey, ...] = ()
    differences: tuple[StateDifference, ...] = ()


class ShadowFold:
    """`difference` is the first place where the log is not what its services say, where the fold ends;
    `stopped` the sentence of a service that raises: the fold waits there for the skip of a person."""

    def __init__(
        self,
        lines: SiteLog,
        snapshots: SnapshotFolder,
        services_of: ServicesOf,
        *,
        offset_after: Callable[[int], int] | None = None,
        every: int = SNAPSHOT_EVERY,
    ) -> None:
        self.difference: ReplayMismatch | None = None
        self.stopped: str | None = None
        self._log = lines
        self._snapshots = snapshots
        self._services_of = services_of
        self._offset_after = offset_after
        """From a position to where the log goes on beyond the message before it."""
        self._every = every
        self._skips: set[Skip] = set()
        self._scanned = lines.end
        """Up to where the log was searched for skips, from the moment on at which the fold began."""
        self._begin()

    @property
    def position(self) -> int:
        """How many messages of the log were fed to the fold."""
        return self._reached

    def compare(
        self,
        positions: Mapping[str, int],
        stored: States,
        *,
        keep: Callable[[SiteSnapshot], None],
        is_ended: Callable[[], bool] = lambda: False,
    ) -> StateComparison:
        """Fold on as far as all services have read, and compare what they hold: `positions` is how many
        messages of the site each has read, `held` the stored fields of each in every fabric, both of one
        moment. `keep` is given the snapshots that are due."""
        self._find_skips()
        self._follow(min(positions.values()), keep, is_ended)
        if self.difference is not None or self.stopped is not None:
            return StateComparison()
        keys = [key for key in stored if self._is_known(key, positions[key[0]])]
        found = [one for key in keys for one in self._differences(key, positions[key[0]], stored[key])]
        return StateComparison(tuple(keys), tuple(found))

    # --- the fold -------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """From the newest good snapshot on, or the log's beginning."""
        history = SiteHistory(self._log, self._snapshots, self._services_of, frozenset(self._skips))
        self._replayed: ReplayedSite = history.nearest(self._log.end)
        self._reached = self._taken = self._root_at = self._replayed.position
        self._scanned = min(self._scanned, self._reached)
        self._replay = Replay(self._replayed.site, self._on_read, may_repeat=False)
        self._read_last: dict[StateKey, str] = {}
        """Service and fabric → id of the message of the last cascade that it read last."""
        self._placed: dict[str, int] = {}
        """Id → position of each message of the last cascade that is on the log."""
        self.stopped = None

    def _find_skips(self) -> None:
        """What people let services pass over stands on the log after the message; a fold must know before."""
        before = len(self._skips)
        for at, line in self._log.lines(self._scanned):
            message = message_or_none(line) if SKIPPED_TYPE in line else None
            if message is not None and isinstance(message.body, MessageSkipped):
                self._skips.add((message.fabric, message.body.service, message.body.message))
            self._scanned = at + 1
        if len(self._skips) > before:
            self._begin()

    def _follow(self, low: int, keep: Callable[[SiteSnapshot], None], is_ended: Callable[[], bool]) -> None:
        """Unfold every cascade whose root stands below this position."""
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
        """False where the fold ends."""
        if not self._replay.pending:
            self._read_last.clear()
            self._placed.clear()
            self._root_at = at
        self._placed[message.id] = at
        try:
            self.difference = self._replay.feed(at, message)
        except ServiceFailed as error:
            self._begin()  # half of a cascade is of no use
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

    # --- what a store holds ---------------------------------------------------------------------------------

    def _is_known(self, key: StateKey, position: int) -> bool:
        """Whether the fold stands where this service does: it has fed all that the service has read, and
        the service has nothing left of what the fold has unfolded beyond."""
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
        own = next((one for one in instances if (one.name, one.fabric) == key), None)
        expected = {} if own is None else encode_instance(own)
        for field in sorted(expected.keys() | found.keys()):
            if expected.get(field) != found.get(field):
                yield StateDifference(service, fabric, field, position, expected.get(field), found.get(field))
