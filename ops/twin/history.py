"""What is kept of a twin's past in its folder, and every moment of it."""

from collections.abc import Iterator
from pathlib import Path

from ops.common.version import software
from ops.twin.data import DataFolder
from services.fleet import services_of
from shared.basics.errors import OperationFailed
from shared.storage.snapshots.base import Lines, lost_records
from shared.storage.snapshots.folder import SUFFIX, SnapshotFolder
from shared.storage.snapshots.history import History


def snapshots_of(folder: DataFolder, site: str) -> SnapshotFolder:
    """A site's snapshots, with those of its upgrades."""
    upgrades = SnapshotFolder(folder.upgrades / site, site, software())
    return SnapshotFolder(folder.snapshots / site, site, software(), upgrades)


def history_of(folder: DataFolder, site: str, log: Lines) -> History:
    """Every moment of a site with this log."""
    return History(log, snapshots_of(folder, site), services_of)


def snapshots_up_to(folder: DataFolder, site: str, position: int) -> Iterator[Path]:
    """The files of both, be they good or not, of no later than a position of the site's log."""
    for place in (folder.snapshots / site, folder.upgrades / site):
        for path in sorted(place.glob(f"*{SUFFIX}")):
            if path.is_file() and path.stem.isdecimal() and int(path.stem) <= position:
                yield path


def check_records(folder: DataFolder, site: str, log: Lines) -> None:
    """OperationFailed where the snapshot of an upgrade is gone or damaged: a copy of the twin could not be
    folded."""
    for sentence in lost_records(log, snapshots_of(folder, site)):
        raise OperationFailed(sentence)
