"""The snapshots of one site in a folder, by position in its log."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from shared.basics.errors import OperationFailed, SnapshotRefused
from shared.engine.compatibility import RULES
from shared.storage.files.atomic_files import PART_SUFFIX, open_regular, write_atomically
from shared.storage.files.file_errors import file_error
from shared.storage.snapshots.site_snapshot import SNAPSHOT_BYTES_MAX, SiteSnapshot, from_bytes, to_bytes

SNAPSHOT_SUFFIX = ".snapshot"
_NAME = re.compile(r"[0-9]{12}\.snapshot")
"""Whatever else is in a folder is nobody's snapshot."""

log = logging.getLogger("lightwave.log")


class OlderRules(SnapshotRefused):
    """It is of earlier rules, as are all before it."""


class SnapshotFolder:
    """`FOLDER/POSITION.snapshot`, of one site. One process writes, of a build; any may read those of its
    rules. `upgrades` has those of the site's upgrades, where anybody keeps them."""

    def __init__(
        self, folder: Path, site: str, software: str, upgrades: "SnapshotFolder | None" = None
    ) -> None:
        self.folder = folder
        self.site = site
        self.software = software
        self.upgrades = upgrades

    @property
    def kept_upgrades(self) -> "SnapshotFolder":
        """Those of upgrades, of a site whose upgrades are kept."""
        if self.upgrades is None:
            raise ValueError(f"{self.site}: nobody keeps its upgrades")
        return self.upgrades

    def positions(self) -> list[int]:
        """Those of all snapshots, rising, be they good or not; OperationFailed if the folder cannot be
        read."""
        try:
            names = [path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise file_error(self.folder, error, "snapshots") from None
        return sorted(int(name.removesuffix(SNAPSHOT_SUFFIX)) for name in names)

    def put(self, snapshot: SiteSnapshot, *, durable: bool = False) -> None:
        """Write one, whole or not at all, in the place of another of its position, and to the disk if it is
        to last; OperationFailed if that is impossible."""
        path = self.path(snapshot.position)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, to_bytes(snapshot), durable=durable)
        except OSError as error:
            raise file_error(self.folder, error, "snapshots") from None

    def read(self, position: int, *, rules: int = RULES) -> SiteSnapshot:
        """SnapshotRefused where it is damaged, of another site, place or rules than these."""
        path = self.path(position)
        try:
            with open_regular(path) as file:
                data = file.read(SNAPSHOT_BYTES_MAX)
        except OSError as error:
            raise file_error(path, error, "snapshot") from None
        try:
            found = from_bytes(data)
        except SnapshotRefused as refusal:
            raise SnapshotRefused(f"snapshot {path}: {refusal}") from None
        for what, is_, wanted in (
            ("site", found.site, self.site),
            ("position", found.position, position),
            ("rules", found.rules, rules),
        ):
            if is_ != wanted:
                kind = OlderRules if what == "rules" and found.rules < rules else SnapshotRefused
                raise kind(f"snapshot {path}: is of {what} {is_!r}; allowed is {wanted!r}")
        return found

    def newest(self, most: int | None = None) -> SiteSnapshot | None:
        """The newest good one, of those up to a position; one that is refused is told of and passed over."""
        return next(self.good(most), None)

    def good(self, most: int | None = None, least: int = 0) -> Iterator[SiteSnapshot]:
        """The good ones between two positions, the newest first. Each that cannot be used is told of: nobody
        needs one."""
        try:
            positions = self.positions()
        except OperationFailed as error:
            log.warning("%s; the log is folded from its beginning", error)
            return
        for position in reversed(positions):
            if position >= least and (most is None or position <= most):
                try:
                    yield self.read(position)
                except OlderRules as error:
                    log.warning("%s; so are those before it", error)
                    return
                except OperationFailed as error:
                    log.warning("%s; an older one is used", error)

    def discard_after(self, end: int) -> int:
        """Remove those of a log that is longer than this site's is now: it lost its end, or an older copy was
        put back, and what follows will be otherwise. Returns how many. What one left behind who was killed
        as he wrote goes, too. Only for who writes; OperationFailed if that is impossible."""
        outdated = [self.path(position) for position in self.positions() if position > end]
        try:
            for path in [*outdated, *self.folder.glob(f"*{PART_SUFFIX}")]:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise file_error(self.folder, error, "snapshots") from None
        return len(outdated)

    def path(self, position: int) -> Path:
        """Where the one of a position lies, or would."""
        return self.folder / f"{position:012d}{SNAPSHOT_SUFFIX}"
