"""A site's past: the log folded to any position, from the newest snapshot before it."""

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
from shared.storage.snapshots.fold_start import (
    RulesUpgrade,
    SiteLog,
    last_rules_upgrade,
    line_before,
    message_or_none,
    upgrade_snapshot,
)
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES

log = logging.getLogger("lightwave.log")

OnRead = Callable[[ServiceInstance, Envelope], None]


@dataclass(slots=True)
class ReplayedSite:
    """A site at a quiet point: it has read the first `position` messages of its log."""

    site: Site
    position: int
    kinds: dict[str, str]
    """Fabric → its kind."""
    folded: int = 0
    """Messages folded since the nearest snapshot."""
    last_line: bytes = b""
    """The last line that it read."""
    started_from: str = ""
    """The build that took the snapshot."""

    def replace_with(self, other: "ReplayedSite") -> None:
        """Take over a replay to the same position from another start."""
        for field in fields(self):
            setattr(self, field.name, getattr(other, field.name))

    def snapshot(self, software: str, offset: int | None = None) -> SiteSnapshot:
        return take_snapshot(
            self.site, self.position, self.last_line, software=software, kinds=self.kinds, offset=offset
        )


class SiteHistory:
    """The past of one site. The sites that it returns belong to the caller, who may advance them."""

    def __init__(
        self, lines: SiteLog, snapshots: SnapshotFolder, services_of: ServicesOf, skips: Collection[Skip] = ()
    ) -> None:
        self._log = lines
        self._snapshots = snapshots
        self._services_of = services_of
        self._skips = skips

    def at(self, position: int, on_quiet: Callable[[ReplayedSite], None] | None = None) -> ReplayedSite:
        """The site after it has read `position` messages, with all that follows from the last of them, even
        if that is not on the log yet. `on_quiet` is called at every quiet point on the way. LogDamaged if the
        log differs from the fold."""
        replayed = self.nearest(position)
        for cascade in self.advance(replayed, position):
            if cascade and on_quiet is not None:
                on_quiet(replayed)
        return replayed

    def advance(
        self, replayed: ReplayedSite, position: int, on_delivery: OnRead | None = None
    ) -> Iterator[list[Envelope]]:
        """Advance a site until it has read `position` messages, with all that follows from the last of them.

        Yields the messages of each cascade that is complete on the log; the site is then quiet. `on_delivery`
        is called for every reading. An empty list means that the site was rebuilt from another start: discard
        what `on_delivery` received since the last cascade. LogDamaged if the log differs from the fold.
        """
        try:
            yield from self._advance(replayed, position, on_delivery)
        except (LogDamaged, ServiceFailed) as error:
            if replayed.started_from in ("", self._snapshots.software):
                raise
            # Only the golden logs show that another build folds identically.
            log.warning("%s; folding again without snapshots of other builds", error)
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
        if replay.pending:  # the log ends within a cascade
            replayed.position = reached + len(replay.pending)
            replayed.folded = folded + replayed.position - began

    def take_due_snapshots(self, every: int = SNAPSHOT_INTERVAL_MESSAGES) -> int:
        """Take a snapshot at the first quiet point after every `every` messages, up to the end of the log;
        returns their number."""
        taken = 0
        last = self.nearest(self._log.end).position

        def take_if_due(replayed: ReplayedSite) -> None:
            nonlocal taken, last
            if replayed.position >= last + every:
                self._snapshots.put(replayed.snapshot(self._snapshots.software))
                taken, last = taken + 1, replayed.position

        self.at(self._log.end, take_if_due)
        return taken

    def matching_snapshots(self, most: int | None = None) -> Iterator[SiteSnapshot]:
        """The good snapshots of this log up to a position, newest first."""
        end = self._log.end
        base = self.base()
        least = base.position if base is not None else 0
        good = self._snapshots.good(end if most is None else min(most, end), least)
        return snapshots_of_log(good, lambda snapshot: line_before(self._log, snapshot.position))

    def base(self) -> RulesUpgrade | None:
        """The last upgrade to other rules; nothing before it can be folded."""
        return last_rules_upgrade(self._log, self._snapshots)

    def starting_snapshot(self) -> SiteSnapshot | None:
        """The states that the fold starts from; None for the log's first message. SnapshotRefused if they are
        lost."""
        base = self.base()
        return None if base is None else upgrade_snapshot(base, self._snapshots)

    def nearest(self, position: int, *, own: bool = False) -> ReplayedSite:
        """The site at the newest good snapshot up to a position (with `own`, only of this build), or where
        the fold starts. UpgradeNeeded for a position before that."""
        base = self.base()
        if base is not None and position < base.position:
            raise base.refusal(self._snapshots.site)
        for snapshot in self.matching_snapshots(position):
            if own and snapshot.software != self._snapshots.software:
                continue
            try:
                site = snapshot.restored(self._services_of)
            except (LogDamaged, SnapshotRefused) as error:
                log.warning("snapshot at position %d: %s; using an older one", snapshot.position, error)
                continue
            return self._replayed_from(snapshot, site)
        start = self.starting_snapshot()
        if start is not None:
            return self._replayed_from(start, start.restored(self._services_of))
        return ReplayedSite(Site(self._snapshots.site, self._services_of, skips=self._skips), 0, {})

    def _replayed_from(self, snapshot: SiteSnapshot, site: Site) -> ReplayedSite:
        site.skips = self._skips
        last_line = line_before(self._log, snapshot.position)
        return ReplayedSite(
            site, snapshot.position, dict(snapshot.kinds), last_line=last_line, started_from=snapshot.software
        )

    def _feed(self, replay: Replay, position: int, message: Envelope) -> None:
        difference = replay.feed(position, message)
        if difference is not None:
            raise LogDamaged(
                f"{self._snapshots.site}: the log differs from what its services emit: {difference}"
            )


def snapshots_of_log(
    good: Iterable[SiteSnapshot], last_line: Callable[[SiteSnapshot], bytes]
) -> Iterator[SiteSnapshot]:
    """The snapshots that belong to a log; logs the others. `last_line` returns the line of the log before a
    snapshot's position."""
    for snapshot in good:
        try:
            line = last_line(snapshot)
        except ArchiveDamaged as error:
            log.warning("snapshot at position %d: %s; using an older one", snapshot.position, error)
            continue
        if sha256(line).hexdigest() == snapshot.last_sha256:
            yield snapshot
        else:
            log.warning(
                "snapshot at position %d: belongs to another log; using an older one", snapshot.position
            )
