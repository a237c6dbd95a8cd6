"""Makes a data folder from a backup: another twin, which goes on from where the first one stood."""

import uuid
from collections.abc import Iterator
from pathlib import Path

from ops.local.software_version import software_version
from ops.twin.backups.backup_files import (
    CLOCK,
    LETTERS,
    LOG_SUFFIX,
    OPERATIONS,
    ORIGIN,
    atomic_folder,
    file_chunks,
    folder_error,
    write_file,
)
from ops.twin.backups.manifest import ReportBytes, read_inbox, verify_backup
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from ops.twin.rebuild import rebuilt_states
from schemas.files.backup_manifest import BackupManifest
from schemas.files.operations_log import TwinRestored
from shared.basics.errors import LogDamaged, OperationFailed
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.operations_log import local_person, new_operation
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX
from shared.storage.log.log_lines import raw_lines

WHAT = "data folder"


def run_restore(
    backup: Path,
    data: Path,
    report_progress: ReportBytes = lambda _done, _whole: None,
    *,
    redis: str | None = None,
) -> BackupManifest:
    """Make a twin's data folder, whole or not at all, its states in `redis`, if that is given, else in the
    folder. `tell` is told how many bytes are verified. OperationFailed where the backup is damaged or none;
    OperationFailed where the folder is not empty or cannot be written, or where this build folds the log to
    something else than the one that wrote it."""
    manifest = verify_backup(backup, report_progress)
    with atomic_folder(data, WHAT) as part:
        _copy(backup, part, manifest)
        folder = DataFolder(part)
        identity = folder.identity()
        if identity is None or [plan.site for plan in identity.sites] != [cut.site for cut in manifest.sites]:
            raise OperationFailed(f"backup {backup}: {IDENTITY_FILE} and the manifest are of different sites")
        try:
            _make_states(backup, folder, identity, redis)
        except LogDamaged as error:
            raise OperationFailed(
                f"backup {backup}: was made by {manifest.software}, and "
                f"this is {software_version()}, whose services "
                f"read its log otherwise; restore it with that version: {error}"
            ) from None
        restored = TwinRestored(twin=uuid.uuid4().hex, origin=manifest.twin, wall_us=manifest.wall_us)
        OperationsFile(folder.operations).append(new_operation(restored, local_person()))
    return manifest


def _copy(backup: Path, part: Path, manifest: BackupManifest) -> None:
    """Logs plain, all else as it is; what a data folder has no place for stays out."""
    cuts = {f"log/{cut.site}{LOG_SUFFIX}": cut for cut in manifest.sites}
    if missing := cuts.keys() - {row.path for row in manifest.files}:
        raise OperationFailed(f"backup {backup}: its manifest has no {min(missing)}")
    for row in manifest.files:
        source = backup / row.path
        if row.path in cuts:
            cut = cuts[row.path]
            made = write_file(part, f"log/{cut.site}{SITE_LOG_SUFFIX}", raw_lines(source))
            if made.size != cut.size:
                raise OperationFailed(
                    f"backup {backup}: {row.path} holds {made.size} bytes of log, and was written with "
                    f"{cut.size}"
                )
        elif row.path in (IDENTITY_FILE, CLOCK, OPERATIONS, LETTERS, ORIGIN) or row.path.startswith(
            ("snapshots/", "upgrades/", "telemetry/")
        ):
            made = write_file(part, row.path, _read(backup, source))
            if made.sha256 != row.sha256:
                raise OperationFailed(f"backup {backup}: {row.path} was changed while it was read")


def _read(backup: Path, source: Path) -> Iterator[bytes]:
    try:
        yield from file_chunks(source)
    except OSError as error:
        raise folder_error("backup", backup, error) from None


def _make_states(backup: Path, folder: DataFolder, identity: TwinIdentity, redis: str | None) -> None:
    """Fold every log, and let wait what waited."""
    kept = read_inbox(backup)
    with rebuilt_states(
        folder, identity, fill=lambda copy: copy.fill(kept.waiting, kept.cancelled), redis=redis
    ):
        pass
