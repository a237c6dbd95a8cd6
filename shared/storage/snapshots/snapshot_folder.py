"""The snapshots of one site in a folder, by position in its log."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from shared.basics.errors import OperationFailed, SnapshotRefused
from shared.engine.code_version import RULES
from shared.storage.files.atomic_files import PART_SUFFIX, write_atomically
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_files import open_own
from shared.storage.files.own_folders import is_own_folder, make_own_folders
from shared.storage.snapshots.site_snapshot import SNAPSHOT_BYTES_MAX, SiteSnapshot, from_bytes, to_bytes

SNAPSHOT_SUFFIX = ".snapshot"
_NAME = re.compile(r"[0-9]{12}\.snapshot")
"""Other files in the folder are ignored."""

log = logging.getLogger("lightwave.log")


class OlderRules(SnapshotRefused):
    """The snapshot is of older rules, and so are all before it."""


class SnapshotFolder:
    """`FOLDER/POSITION.snapshot`, of one site. One process of one build writes; any process may read those of
    its rules. `upgrades` has the snapshots of the site's upgrades, if they are kept."""

    def __init__(
        self, folder: Path, site: str, software: str, upgrades: "SnapshotFolder | None" = None
    ) -> None:
        self.folder = folder
        self.site = site
        self.software = software
        self.upgrades = upgrades

    @property
    def kept_upgrades(self) -> "SnapshotFolder":
        """The folder of upgrade snapshots; ValueError if they are not kept."""
        if self.upgrades is None:
            raise ValueError(f"{self.site}: its upgrades are not kept")
        return self.upgrades

    def positions(self) -> list[int]:
        """The positions of all snapshots, good or not, ascending; OperationFailed if the folder cannot be
        read."""
        try:
            if not self._exists():
                return []
            names = [path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        except OSError as error:
            raise file_error(self.folder, error, "snapshots") from None
        return sorted(int(name.removesuffix(SNAPSHOT_SUFFIX)) for name in names)

    def put(self, snapshot: SiteSnapshot, *, durable: bool = False) -> None:
        """Write a snapshot atomically; replaces another one at its position. `durable` syncs it to the disk.
        OperationFailed if that fails."""
        path = self.path(snapshot.position)
        try:
            make_own_folders(self.folder.parent, self.folder)
            write_atomically(path, to_bytes(snapshot), durable=durable)
        except OSError as error:
            raise file_error(self.folder, error, "snapshots") from None

    def read(self, position: int, *, rules: int = RULES) -> SiteSnapshot:
        """Read a snapshot. SnapshotRefused if it is damaged, or of another site, position or rules."""
        path = self.path(position)
        try:
            self._exists()
            with open_own(path) as file:
                data = file.read(SNAPSHOT_BYTES_MAX)
        except OSError as error:
            raise file_error(path, error, "snapshot") from None
        try:
            snapshot = from_bytes(data)
        except SnapshotRefused as refusal:
            raise SnapshotRefused(f"snapshot {path}: {refusal}") from None
        for what, actual, wanted in (
            ("site", snapshot.site, self.site),
            ("position", snapshot.position, position),
            ("rules", snapshot.rules, rules),
        ):
            if actual != wanted:
                kind = OlderRules if what == "rules" and snapshot.rules < rules else SnapshotRefused
                raise kind(f"snapshot {path}: {what} is {actual!r}; must be {wanted!r}")
        return snapshot

    def newest(self, most: int | None = None) -> SiteSnapshot | None:
        """The newest good snapshot up to a position; logs and skips refused ones."""
        return next(self.good(most), None)

    def good(self, most: int | None = None, least: int = 0) -> Iterator[SiteSnapshot]:
        """The good snapshots between two positions, newest first. Logs each one that cannot be used; none is
        essential."""
        try:
            positions = self.positions()
        except OperationFailed as error:
            log.warning("%s; folding the log from its first message", error)
            return
        for position in reversed(positions):
            if position >= least and (most is None or position <= most):
                try:
                    yield self.read(position)
                except OlderRules as error:
                    log.warning("%s; ignoring all older ones, too", error)
                    return
                except OperationFailed as error:
                    log.warning("%s; using an older one", error)

    def discard_after(self, end: int) -> int:
        """Remove the snapshots beyond the end of the log, and leftovers of killed writers; returns the number
        of snapshots. The log lost its tail or was restored, and will continue differently. Only for the
        writer; OperationFailed if that fails."""
        outdated = [self.path(position) for position in self.positions() if position > end]
        try:
            for path in [*outdated, *self.folder.glob(f"*{PART_SUFFIX}")]:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise file_error(self.folder, error, "snapshots") from None
        return len(outdated)

    def _exists(self) -> bool:
        """Whether the folder exists. OSError if it, or that of all sites, is a link."""
        return is_own_folder(self.folder.parent) and is_own_folder(self.folder)

    def path(self, position: int) -> Path:
        """The path for a position; the file may not exist."""
        return self.folder / f"{position:012d}{SNAPSHOT_SUFFIX}"
