"""The manifest of a backup, with its own digest, and the verification of a backup."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson
from pydantic import ValidationError

from ops.twin.backups.backup_files import INBOX, MANIFEST, digest_of, folder_error
from schemas.body import Model
from schemas.files.backup_manifest import BACKUP_FORMAT, BackupManifest, CancelledKey, WaitingRequest
from shared.basics.errors import NotFound, OperationFailed
from shared.storage.files.own_files import LARGE_MAX, read_own
from shared.storage.files.own_folders import check_own_parents

OWN_DIGEST = "sha256"
"""The manifest's field with the digest of all others."""
MANIFEST_MAX = 64 << 20

ReportBytes = Callable[[int, int], None]
"""Receives (bytes read, bytes in total)."""


class KeptInbox(Model):
    """The pending requests, and the cancelled idempotency keys."""

    waiting: tuple[WaitingRequest, ...]
    cancelled: tuple[CancelledKey, ...]


def manifest_bytes(manifest: BackupManifest) -> bytes:
    """The content of the manifest file: JSON with its own digest."""
    fields = manifest.model_dump(mode="json")
    kept = {OWN_DIGEST: _digest(fields), **fields}
    return orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_manifest(backup: Path) -> BackupManifest:
    """Read the manifest of a backup. Raises NotFound if there is none; raises OperationFailed if it is
    damaged or of another format."""
    where = f"backup {backup}"
    path = backup / MANIFEST
    if not backup.is_dir():
        raise NotFound(f"{where}: no such folder")
    try:
        text = read_own(path, MANIFEST_MAX)
    except FileNotFoundError:
        raise NotFound(f"{where}: is not a complete backup of a twin: it has no {MANIFEST}") from None
    except OSError as error:
        raise folder_error("backup", backup, error) from None
    try:
        fields = orjson.loads(text)
        own = fields.pop(OWN_DIGEST)
        if fields["format"] != BACKUP_FORMAT:
            raise OperationFailed(
                f"{where}: {MANIFEST} has format {fields['format']!r}; must be {BACKUP_FORMAT}"
            )
        if own != _digest(fields):
            raise OperationFailed(f"{where}: {MANIFEST} was changed: its digest differs")
        return BackupManifest.model_validate_json(orjson.dumps(fields))
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError):
        raise OperationFailed(f"{where}: {MANIFEST} is not a valid manifest") from None


def verify_backup(backup: Path, report_progress: ReportBytes = lambda _done, _whole: None) -> BackupManifest:
    """Compare every file with its digest. Raises OperationFailed that names the first file that differs."""
    manifest = read_manifest(backup)
    whole, done = sum(row.size for row in manifest.files), 0
    for row in manifest.files:
        path = backup / row.path
        try:
            check_own_parents(backup, row.path)
            size = path.lstat().st_size
            sha256 = digest_of(path) if size == row.size else ""  # a file with holes may have exabytes
        except FileNotFoundError:
            raise OperationFailed(f"backup {backup}: {row.path} is missing") from None
        except OSError as error:
            raise folder_error("backup", backup, error) from None
        if size != row.size:
            raise OperationFailed(
                f"backup {backup}: {row.path} has {size} bytes; it was written with {row.size}"
            )
        if sha256 != row.sha256:
            raise OperationFailed(f"backup {backup}: {row.path} was changed: its digest differs")
        done += size
        report_progress(done, whole)
    return manifest


def read_inbox(backup: Path) -> KeptInbox:
    """Read the pending requests. Raises OperationFailed if this version cannot read them."""
    try:
        return KeptInbox.model_validate_json(read_own(backup / INBOX, LARGE_MAX))
    except (OSError, ValidationError):
        raise OperationFailed(f"backup {backup}: this version cannot read its {INBOX}") from None


def _digest(fields: dict[str, object]) -> str:
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()
