"""Snapshots of the sites of a `LiveSwarm`, as the historian takes them from its copy of the log."""

from collections.abc import Iterator
from pathlib import Path

from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import Unreadable
from services.fabric_kinds import services_of
from shared.runtimes.live.kafka.records import open_record
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from tests.support.live_swarm import TWIN, LiveSwarm


class LogCopy:
    """A copy of a site's log without the records that readers skip, and the offset of each message."""

    def __init__(self, swarm: LiveSwarm, site: str) -> None:
        self.offsets: list[int] = []
        self._lines: list[bytes] = []
        seen: dict[str, int] = {}
        fabrics: set[str] = set()
        for record in swarm.log.records[swarm.partitions[site]]:
            try:
                message = open_record(record, TWIN)
            except Unreadable:
                continue
            if message is None or message.seq <= seen.get(message.source, -1):
                continue
            if isinstance(message.body, FabricCommissioned) and message.body.site == site:
                fabrics.add(message.fabric)
            if message.fabric in fabrics:
                seen[message.source] = message.seq
                self.offsets.append(record.offset)
                self._lines.append(record.value)

    @property
    def end(self) -> int:
        return len(self._lines)

    def lines(self, start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        stop = self.end if most is None else min(self.end, start + most)
        return iter([(at, self._lines[at]) for at in range(max(0, start), stop)])


def keep_snapshots(swarm: LiveSwarm, site: str, folder: Path, every: int, build: str) -> list[int]:
    """Write a snapshot to `folder`/SITE after every `every` messages; return the positions."""
    kept = SnapshotFolder(folder / site, site, build)
    log_copy = LogCopy(swarm, site)
    last = 0

    def take_snapshot(site_then: ReplayedSite) -> None:
        nonlocal last
        if site_then.position >= last + every:
            last = site_then.position
            kept.put(site_then.snapshot(build, log_copy.offsets[last - 1] + 1))

    SiteHistory(log_copy, SnapshotFolder(folder / "none", site, build), services_of).at(
        log_copy.end, take_snapshot
    )
    return kept.positions()
