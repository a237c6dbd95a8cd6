"""A site's past: the log folded up to any moment, from the newest snapshot before it."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from hashlib import sha256

from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned
from shared.basics.errors import ArchiveDamaged, LogDamaged, ServiceFailed, SnapshotRefused
from shared.engine.dispatch import ServiceInstance
from shared.engine.replay import Replay
from shared.engine.site import ServicesOf, Site, Skip
from shared.storage.snapshots.base import Base, Lines, base_of, line_before, message_in, snapshot_of
from shared.storage.snapshots.folder import SnapshotFolder
from shared.storage.snapshots.site_snapshot import SiteSnapshot, taken

EVERY = 2_000
"""Messages between two snapshots: 254 a pod-year of some 60 kB, and any moment within 0.2 s of folding."""


log = logging.getLogger("lightwave.log")

OnRead = Callable[[ServiceInstance, Envelope], None]


@dataclass(slots=True)
class Moment:
    """A site at a quiet moment: it has read the first `position` messages of its log. `kinds` has the kind of
    every fabric; `folded` is how many messages it took from the snapshot that was nearest, `last_line` what
    it read last, `begun_by` the build that took that snapshot."""

    site: Site
    position: int
    kinds: dict[str, str]
    folded: int = 0
    last_line: bytes = b""
    begun_by: str = ""

    def become(self, other: "Moment") -> None:
        """The same position, from another beginning."""
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))

    def snapshot(self, software: str, offset: int | None = None) -> SiteSnapshot:
        return taken(
            self.site, self.position, self.last_line, software=software, kinds=self.kinds, offset=offset
        )


class History:
    """Every moment of one site. What it makes is the caller's own, who may drive it on."""

    def __init__(
        self, lines: Lines, snapshots: SnapshotFolder, services_of: ServicesOf, skips: Collection[Skip] = ()
    ) -> None:
        self._log = lines
        self._snapshots = snapshots
        self._services_of = services_of
        self._skips = skips

    def at(self, position: int, on_quiet: Callable[[Moment], None] | None = None) -> Moment:
        """The site when it had read so many messages, and all that follows from the last of them, be that on
        the log yet or not. `on_quiet` is told of every quiet moment on the way. LogDamaged where the log is
        not what the fold gives."""
        moment = self.nearest(position)
        for cascade in self.onward(moment, position):
            if cascade and on_quiet is not None:
                on_quiet(moment)
        return moment

    def onward(
        self, moment: Moment, position: int, on_read: OnRead | None = None
    ) -> Iterator[list[Envelope]]:
        """Take a moment on until it has read so many messages, and all that follows from the last of them.
        After every cascade that is on the log whole its messages are given, and the moment is quiet;
        `on_read` is told of every reading on the way. No messages are given where the moment was made anew
        instead: its site is another one then, and what `on_read` was told since the last ones was in vain.
        LogDamaged where the log is not what the fold gives."""
        try:
            yield from self._onward(moment, position, on_read)
        except (LogDamaged, ServiceFailed) as error:
            if moment.begun_by in ("", self._snapshots.software):
                raise
            # That another build folds alike is known as far as the golden logs can tell.
            log.warning("%s; folded once more without snapshots of other builds", error)
            anew = self.nearest(moment.position, own=True)
            for _ in self._onward(anew, moment.position, None):
                pass
            moment.become(anew)
            yield []
            yield from self._onward(moment, position, on_read)

    def _onward(self, moment: Moment, position: int, on_read: OnRead | None) -> Iterator[list[Envelope]]:
        began = reached = moment.position
        folded = moment.folded
        replay = Replay(moment.site, on_read, may_repeat=False)
        cascade: list[Envelope] = []
        for at, line in self._log.lines(began):
            if reached >= position and not replay.pending:
                break
            message = message_in(line)
            if message is not None:
                self._feed(replay, at, message)
                cascade.append(message)
                if isinstance(message.body, FabricCommissioned):
                    moment.kinds[message.fabric] = message.body.kind
            reached = at + 1
            if not replay.pending:
                moment.position = reached
                moment.folded = folded + reached - began
                moment.last_line = line
                yield cascade
                cascade = []
        if replay.pending:  # the log ends before all is said that follows
            moment.position = reached + len(replay.pending)
            moment.folded = folded + moment.position - began

    def keep_up(self, every: int = EVERY) -> int:
        """Take a snapshot at the first quiet moment after every so many messages up to the end of the log;
        returns how many."""
        made = 0
        last = self.nearest(self._log.end).position

        def look(moment: Moment) -> None:
            nonlocal made, last
            if moment.position >= last + every:
                self._snapshots.put(moment.snapshot(self._snapshots.software))
                made, last = made + 1, moment.position

        self.at(self._log.end, look)
        return made

    def fitting(self, most: int | None = None) -> Iterator[SiteSnapshot]:
        """The good snapshots up to a position, of this log as it stands, the newest first."""
        end = self._log.end
        base = self.base()
        least = base.position if base is not None else 0
        good = self._snapshots.good(end if most is None else min(most, end), least)
        return of_log(good, lambda found: line_before(self._log, found.position))

    def base(self) -> Base | None:
        """The last upgrade to other rules, before which nothing can be told."""
        return base_of(self._log, self._snapshots)

    def begin_at(self) -> SiteSnapshot | None:
        """The states that the fold begins with, None where that is at the log's beginning; SnapshotRefused
        where they are lost."""
        base = self.base()
        return None if base is None else snapshot_of(base, self._snapshots)

    def nearest(self, position: int, *, own: bool = False) -> Moment:
        """The newest moment up to a position at which a good snapshot was taken, of this build alone if
        `own`, or where the fold begins; UpgradeNeeded for one before that."""
        base = self.base()
        if base is not None and position < base.position:
            raise base.refusal(self._snapshots.site)
        for found in self.fitting(position):
            if own and found.software != self._snapshots.software:
                continue
            try:
                site = found.restored(self._services_of)
            except (LogDamaged, SnapshotRefused) as error:
                log.warning("snapshot of position %d: %s; an older one is used", found.position, error)
                continue
            return self._begun(found, site)
        begin = self.begin_at()
        if begin is not None:
            return self._begun(begin, begin.restored(self._services_of))
        return Moment(Site(self._snapshots.site, self._services_of, skips=self._skips), 0, {})

    def _begun(self, found: SiteSnapshot, site: Site) -> Moment:
        site.skips = self._skips
        last_line = line_before(self._log, found.position)
        return Moment(site, found.position, dict(found.kinds), last_line=last_line, begun_by=found.software)

    def _feed(self, replay: Replay, position: int, message: Envelope) -> None:
        difference = replay.feed(position, message)
        if difference is not None:
            raise LogDamaged(f"{self._snapshots.site}: the log is not what its services say: {difference}")


def of_log(
    good: Iterable[SiteSnapshot], last_line: Callable[[SiteSnapshot], bytes]
) -> Iterator[SiteSnapshot]:
    """Those of some snapshots that are of a log, which has the line that `last_line` says just before
    each; others are told of."""
    for found in good:
        try:
            line = last_line(found)
        except ArchiveDamaged as error:
            log.warning("snapshot of position %d: %s; an older one is used", found.position, error)
            continue
        if sha256(line).hexdigest() == found.last_sha256:
            yield found
        else:
            log.warning("snapshot of position %d: is of another log; an older one is used", found.position)
