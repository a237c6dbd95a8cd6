"""Create a data folder from a backup: a new twin, which continues from the point of the backup."""

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
    stream_chunks,
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
from shared.storage.files.own_files import open_own
from shared.storage.files.own_folders import check_own_parents
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX
from shared.storage.log.log_lines import plain_stream, read_errors

WHAT = "data folder"


def run_restore(
    backup: Path,
    data: Path,
    report_progress: ReportBytes = lambda _done, _whole: None,
    *,
    redis: str | None = None,
) -> BackupManifest:
    """Create a twin's data folder, completely or not at all. Its states go to `redis`, or else to the folder.

    `report_progress` receives the number of verified bytes. Raises NotFound if there is no backup. Raises
    OperationFailed if the backup is damaged, if the folder is not empty or cannot be written, or if the
    services of this build emit other messages than the log has.
    """
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
                f"backup {backup}: was created by {manifest.software}; the services of this version, "
                f"{software_version()}, emit other messages; restore it with that version: {error}"
            ) from None
        restored = TwinRestored(twin=uuid.uuid4().hex, origin=manifest.twin, wall_us=manifest.wall_us)
        OperationsFile(folder.operations).append(new_operation(restored, local_person()))
    return manifest


def _copy(backup: Path, part: Path, manifest: BackupManifest) -> None:
    """Decompress the logs, and copy the other files of a data folder."""
    cuts = {f"log/{cut.site}{LOG_SUFFIX}": cut for cut in manifest.sites}
    if missing := cuts.keys() - {row.path for row in manifest.files}:
        raise OperationFailed(f"backup {backup}: its manifest has no {min(missing)}")
    for row in manifest.files:
        if row.path in cuts:
            cut = cuts[row.path]
            made = write_file(part, f"log/{cut.site}{SITE_LOG_SUFFIX}", _log(backup, row.path, cut.size))
            if made.size != cut.size:
                raise OperationFailed(
                    f"backup {backup}: {row.path} holds {'more' if made.size > cut.size else 'fewer'} bytes "
                    f"of log than the {cut.size} with which it was written"
                )
        elif row.path in (IDENTITY_FILE, CLOCK, OPERATIONS, LETTERS, ORIGIN) or row.path.startswith(
            ("snapshots/", "upgrades/", "telemetry/")
        ):
            made = write_file(part, row.path, _read(backup, row.path, row.size))
            if made.sha256 != row.sha256:
                raise OperationFailed(f"backup {backup}: {row.path} was changed while it was read")


def _log(backup: Path, name: str, size: int) -> Iterator[bytes]:
    """The decompressed log of this size. One byte more if there is more: a file of some kilobytes may
    decompress to terabytes."""
    source = backup / name
    with read_errors(source):
        check_own_parents(backup, name)
        with open_own(source) as raw:
            yield from stream_chunks(plain_stream(raw), size + 1)


def _read(backup: Path, name: str, size: int) -> Iterator[bytes]:
    """The first `size` bytes of a file of the backup."""
    try:
        check_own_parents(backup, name)
        yield from file_chunks(backup / name, size)
    except OSError as error:
        raise folder_error("backup", backup, error) from None


def _make_states(backup: Path, folder: DataFolder, identity: TwinIdentity, redis: str | None) -> None:
    """Fold every log, and put the pending requests into the inbox."""
    kept = read_inbox(backup)
    with rebuilt_states(
        folder, identity, fill=lambda copy: copy.fill(kept.waiting, kept.cancelled), redis=redis
    ):
        pass
