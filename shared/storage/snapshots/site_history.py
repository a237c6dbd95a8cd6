"""A site's past: the log folded up to any moment, from the newest snapshot before it."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from hashlib import sha256

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from shared.basics.errors import ArchiveDamaged, LogDamaged, ServiceFailed, SnapshotRefused
from shared.engine.dispatch import ServiceInstance
from shared.engine.replay import Replay
from shared.engine.site import ServicesOf, Site, Skip
from shared.storage.snapshots.rules_upgrade import (
    RulesUpgrade,
    SiteLog,
    last_rules_upgrade,
    line_before,
    message_or_none,
    upgrade_snapshot,
)
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder

SNAPSHOT_EVERY = 2_000
"""Messages between two snapshots: 254 a pod-year of some 60 kB, and any moment within 0.2 s of folding."""


log = logging.getLogger("lightwave.log")

OnRead = Callable[[ServiceInstance, Envelope], None]


@dataclass(slots=True)
class ReplayedSite:
    """A site at a quiet moment: it has read the first `position` messages of its log. `kinds` has the kind of
    every fabric; `folded` is how many messages it took from the snapshot that was nearest, `last_line` what
    it read last, `begun_by` the build that took that snapshot."""

    site: Site
    position: int
    kinds: dict[str, str]
    folded: int = 0
    last_line: bytes = b""
    started_from: str = ""

    def replace_with(self, other: "ReplayedSite") -> None:
        """The same position, from another beginning."""
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))

    def snapshot(self, software: str, offset: int | None = None) -> SiteSnapshot:
        return take_snapshot(
            self.site, self.position, self.last_line, software=software, kinds=self.kinds, offset=offset
        )


class SiteHistory:
    """Every moment of one site. What it makes is the caller's own, who may drive it on."""

    def __init__(
        self, lines: SiteLog, snapshots: SnapshotFolder, services_of: ServicesOf, skips: Collection[Skip] = ()
    ) -> None:
        self._log = lines
        self._snapshots = snapshots
        self._services_of = services_of
        self._skips = skips

    def at(self, position: int, on_quiet: Callable[[ReplayedSite], None] | None = None) -> ReplayedSite:
        """The site when it had read so many messages, and all that follows from the last of them, be that on
        the log yet or not. `on_quiet` is told of every quiet moment on the way. LogDamaged where the log is
        not what the fold gives."""
        replayed = self.nearest(position)
        for cascade in self.advance(replayed, position):
            if cascade and on_quiet is not None:
                on_quiet(replayed)
        return replayed

    def advance(
        self, replayed: ReplayedSite, position: int, on_delivery: OnRead | None = None
    ) -> Iterator[list[Envelope]]:
        """Take a moment on until it has read so many messages, and all that follows from the last of them.
        After every cascade that is on the log whole its messages are given, and the moment is quiet;
        `on_read` is told of every reading on the way. No messages are given where the moment was made anew
        instead: its site is another one then, and what `on_read` was told since the last ones was in vain.
        LogDamaged where the log is not what the fold gives."""
        try:
            yield from self._advance(replayed, position, on_delivery)
        except (LogDamaged, ServiceFailed) as error:
            if replayed.started_from in ("", self._snapshots.software):
                raise
            # That another build folds alike is known as far as the golden logs can tell.
            log.warning("%s; folded once more without snapshots of other builds", error)
            refolded = self.nearest(replayed.position, own=True)
            for _ in self._advance(refolded, replayed.position, None):
                pass
            replayed.replace_with(refolded)
            yield []
            yield from self._advance(replayed, position, on_delivery)

    def _advance(
        self, replayed: ReplayedSite, position: int, on_delivery: OnRead | None
    ) -> Iterator[list[Envelope]]:
        began = reached = replayed.position
        folded = replayed.folded
        replay = Replay(replayed.site, on_delivery, may_repeat=False)
        cascade: list[Envelope] = []
        for at, line in self._log.lines(began):
            if reached >= position and not replay.pending:
                break
            message = message_or_none(line)
            if message is not None:
                self._feed(replay, at, message)
                cascade.append(message)
                if isinstance(message.body, FabricCommissioned):
                    replayed.kinds[message.fabric] = message.body.kind
            reached = at + 1
            if not replay.pending:
                replayed.position = reached
                replayed.folded = folded + reached - began
                replayed.last_line = line
                yield cascade
                cascade = []
        if replay.pending:  # the log ends before all is said that follows
            replayed.position = reached + len(replay.pending)
            replayed.folded = folded + replayed.position - began

    def take_due_snapshots(self, every: int = SNAPSHOT_EVERY) -> int:
        """Take a snapshot at the first quiet moment after every so many messages up to the end of the log;
        returns how many."""
        made = 0
        last = self.nearest(self._log.end).position

        def take_if_due(replayed: ReplayedSite) -> None:
            nonlocal made, last
            if replayed.position >= last + every:
                self._snapshots.put(replayed.snapshot(self._snapshots.software))
                made, last = made + 1, replayed.position

        self.at(self._log.end, take_if_due)
        return made

    def matching_snapshots(self, most: int | None = None) -> Iterator[SiteSnapshot]:
        """The good snapshots up to a position, of this log as it stands, the newest first."""
        end = self._log.end
        base = self.base()
        least = base.position if base is not None else 0
        good = self._snapshots.good(end if most is None else min(most, end), least)
        return snapshots_of_log(good, lambda found: line_before(self._log, found.position))

    def base(self) -> RulesUpgrade | None:
        """The last upgrade to other rules, before which nothing can be told."""
        return last_rules_upgrade(self._log, self._snapshots)

    def starting_snapshot(self) -> SiteSnapshot | None:
        """The states that the fold begins with, None where that is at the log's beginning; SnapshotRefused
        where they are lost."""
        base = self.base()
        return None if base is None else upgrade_snapshot(base, self._snapshots)

    def nearest(self, position: int, *, own: bool = False) -> ReplayedSite:
        """The newest moment up to a position at which a good snapshot was taken, of this build alone if
        `own`, or where the fold begins; UpgradeNeeded for one before that."""
        base = self.base()
        if base is not None and position < base.position:
            raise base.refusal(self._snapshots.site)
        for found in self.matching_snapshots(position):
            if own and found.software != self._snapshots.software:
                continue
            try:
                site = found.restored(self._services_of)
            except (LogDamaged, SnapshotRefused) as error:
                log.warning("snapshot of position %d: %s; an older one is used", found.position, error)
                continue
            return self._replayed_from(found, site)
        begin = self.starting_snapshot()
        if begin is not None:
            return self._replayed_from(begin, begin.restored(self._services_of))
        return ReplayedSite(Site(self._snapshots.site, self._services_of, skips=self._skips), 0, {})

    def _replayed_from(self, found: SiteSnapshot, site: Site) -> ReplayedSite:
        site.skips = self._skips
        last_line = line_before(self._log, found.position)
        return ReplayedSite(
            site, found.position, dict(found.kinds), last_line=last_line, started_from=found.software
        )

    def _feed(self, replay: Replay, position: int, message: Envelope) -> None:
        difference = replay.feed(position, message)
        if difference is not None:
            raise LogDamaged(f"{self._snapshots.site}: the log is not what its services say: {difference}")


def snapshots_of_log(
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
