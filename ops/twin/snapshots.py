"""The snapshots of an embedded twin's sites: taking them, and restoring the past from them."""

import logging
from collections.abc import Iterator
from pathlib import Path

from ops.local.software_version import software_version
from ops.twin.data_folder import DataFolder
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.message_order import upgrade_source
from shared.runtimes.embedded.snapshot_taker import SnapshotTaker
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.snapshots.fold_start import SiteLog, lost_upgrade_snapshots
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SNAPSHOT_SUFFIX, SnapshotFolder


def snapshot_folder(folder: DataFolder, site: str) -> SnapshotFolder:
    """A site's snapshots, with those of its upgrades."""
    upgrades = SnapshotFolder(folder.upgrades / site, site, software_version())
    return SnapshotFolder(folder.snapshots / site, site, software_version(), upgrades)


def site_history(folder: DataFolder, site: str, log: SiteLog) -> SiteHistory:
    """The states of a site with this log at any time."""
    return SiteHistory(log, snapshot_folder(folder, site), services_of)


def snapshot_files_up_to(folder: DataFolder, site: str, position: int) -> Iterator[Path]:
    """Snapshot files of both folders, up to a position of the site's log, without a check of their
    content."""
    for place in (folder.snapshots / site, folder.upgrades / site):
        for path in sorted(place.glob(f"*{SNAPSHOT_SUFFIX}")):
            if path.is_file() and path.stem.isdecimal() and int(path.stem) <= position:
                yield path


def check_records(folder: DataFolder, site: str, log: SiteLog) -> None:
    """Raise OperationFailed if an upgrade snapshot is missing or damaged: a copy of the twin could not be
    folded."""
    for sentence in lost_upgrade_snapshots(log, snapshot_folder(folder, site)):
        raise OperationFailed(sentence)


log = logging.getLogger("lightwave.up")


class TwinSnapshots:
    """The snapshots of every site whose log is in the folder."""

    def __init__(self, folder: DataFolder, logs: IndexedLogs) -> None:
        self._folder = folder
        self._logs = logs
        self._lost: list[str] = []
        self._takers: dict[str, SnapshotTaker] = {}
        self._newest: dict[str, SiteSnapshot | None] = {}

    def close(self) -> None:
        for taker in self._takers.values():
            taker.close()

    @property
    def problems(self) -> list[str]:
        """Sentences on snapshots that could not be written, and on lost upgrade snapshots."""
        failing = [taker.problem for taker in self._takers.values() if taker.problem is not None]
        return [*self._lost, *failing]

    def taker(self, site: str) -> SnapshotTaker:
        """The taker of a site's snapshots from now on. Removes snapshots beyond the end of its log."""
        folder = self.folder(site)
        self._check_upgrade_snapshots(site)
        try:
            gone = folder.discard_after(self._logs.open(site).end)
        except OperationFailed as error:
            log.warning("%s", error)
        else:
            if gone:
                log.info("%s: removed %d snapshots of a longer log", site, gone)
        self._newest[site] = newest = next(self.history(site).matching_snapshots(), None)
        self._takers[site] = taker = SnapshotTaker(folder, newest.position if newest is not None else 0)
        return taker

    def _check_upgrade_snapshots(self, site: str) -> None:
        """Log lost upgrade snapshots as errors. The twin can run without them, but its log cannot be
        folded."""
        opened = self._logs.open(site)
        if opened.last_seq(upgrade_source(site)) < 0:
            return
        try:
            lost = [*lost_upgrade_snapshots(opened, self.folder(site))]
        except OperationFailed as error:  # an archived segment is lost
            lost = [str(error)]
        for sentence in lost:
            log.error("%s", sentence)
        self._lost += lost

    def folder(self, site: str) -> SnapshotFolder:
        return snapshot_folder(self._folder, site)

    def history(self, site: str) -> SiteHistory:
        return site_history(self._folder, site, self._logs.open(site))

    def newest(self, site: str) -> SiteSnapshot | None:
        """The newest good snapshot of a site at the time when its taker was created. Returned once, then
        forgotten, because it is large."""
        return self._newest.pop(site, None)
