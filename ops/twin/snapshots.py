"""The snapshots of a living twin's sites: who takes them, and what of the past they lead to."""

import logging

from ops.twin.data import DataFolder
from ops.twin.history import history_of, snapshots_of
from shared.basics.errors import OperationFailed
from shared.engine.roots import upgrade_source
from shared.runtimes.embedded.snapshot_taker import SnapshotTaker
from shared.storage.log.indexed import IndexedLogs
from shared.storage.snapshots.base import lost_records
from shared.storage.snapshots.folder import SnapshotFolder
from shared.storage.snapshots.history import History
from shared.storage.snapshots.site_snapshot import SiteSnapshot

log = logging.getLogger("lightwave.up")


class TwinSnapshots:
    """Those of every site whose log is here."""

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
        """Why some could not be written last, and which of upgrades are lost, a sentence each."""
        failing = [taker.problem for taker in self._takers.values() if taker.problem is not None]
        return [*self._lost, *failing]

    def taker(self, site: str) -> SnapshotTaker:
        """Who takes a site's from now on. Those that are of a longer log than it has are removed."""
        folder = self.folder(site)
        self._look_for_records(site)
        try:
            gone = folder.forget_beyond(self._logs.open(site).end)
        except OperationFailed as error:
            log.warning("%s", error)
        else:
            if gone:
                log.info("%s: %d snapshots removed of a longer log than there is", site, gone)
        self._newest[site] = newest = next(self.history(site).fitting(), None)
        self._takers[site] = taker = SnapshotTaker(folder, newest.position if newest is not None else 0)
        return taker

    def _look_for_records(self, site: str) -> None:
        """The twin lives without them, and nothing can be made of its log."""
        opened = self._logs.open(site)
        if opened.last_seq(upgrade_source(site)) < 0:
            return
        try:
            lost = [*lost_records(opened, self.folder(site))]
        except OperationFailed as error:  # an archived stretch is
            lost = [str(error)]
        for sentence in lost:
            log.error("%s", sentence)
        self._lost += lost

    def folder(self, site: str) -> SnapshotFolder:
        return snapshots_of(self._folder, site)

    def history(self, site: str) -> History:
        return history_of(self._folder, site, self._logs.open(site))

    def newest(self, site: str) -> SiteSnapshot | None:
        """The newest good one of a site's log as it stood when its taker was made; given once."""
        return self._newest.pop(site, None)
