"""The manifest of a backup, which carries its own digest, and what a backup is held against it."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson
from pydantic import ValidationError

from ops.twin.backups.backup_files import INBOX, MANIFEST, digest_of, folder_error
from schemas.body import Model
from schemas.files.backup_manifest import BACKUP_FORMAT, BackupManifest, CancelledKey, WaitingRequest
from shared.basics.errors import NotFound, OperationFailed

OWN_DIGEST = "sha256"
"""The manifest's field with the digest of all others."""
MANIFEST_MAX = 64 << 20

ReportBytes = Callable[[int, int], None]
"""Is told (bytes read, bytes in all)."""


class KeptInbox(Model):
    """What waited, and what was cancelled."""

    waiting: tuple[WaitingRequest, ...]
    cancelled: tuple[CancelledKey, ...]


def manifest_bytes(manifest: BackupManifest) -> bytes:
    """As it is kept: JSON with its own digest."""
    fields = manifest.model_dump(mode="json")
    kept = {OWN_DIGEST: _digest(fields), **fields}
    return orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_manifest(backup: Path) -> BackupManifest:
    """NotFound where there is no backup; OperationFailed where it is none of this version, or damaged."""
    where = f"backup {backup}"
    path = backup / MANIFEST
    if not backup.is_dir():
        raise NotFound(f"{where}: no such folder")
    try:
        if path.stat().st_size > MANIFEST_MAX:
            raise OperationFailed(f"{where}: {MANIFEST} is longer than any manifest")
        text = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"{where}: is no backup of a twin, or not a whole one: it has no {MANIFEST}") from None
    except OSError as error:
        raise folder_error("backup", backup, error) from None
    try:
        fields = orjson.loads(text)
        own = fields.pop(OWN_DIGEST)
        if fields["form"] != BACKUP_FORMAT:
            raise OperationFailed(
                f"{where}: {MANIFEST} is of form {fields['form']!r}; must be {BACKUP_FORMAT}"
            )
        if own != _digest(fields):
            raise OperationFailed(f"{where}: {MANIFEST} is not as it was written: its digest is another one")
        return BackupManifest.model_validate_json(orjson.dumps(fields))
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError):
        raise OperationFailed(f"{where}: {MANIFEST} is no manifest of a backup") from None


def verify_backup(backup: Path, report_progress: ReportBytes = lambda _done, _whole: None) -> BackupManifest:
    """Hold every file against its digest; OperationFailed names the first that is not as it was written."""
    manifest = read_manifest(backup)
    whole, done = sum(row.size for row in manifest.files), 0
    for row in manifest.files:
        path = backup / row.path
        try:
            size, sha256 = digest_of(path)
        except FileNotFoundError:
            raise OperationFailed(f"backup {backup}: {row.path} is missing") from None
        except OSError as error:
            raise folder_error("backup", backup, error) from None
        if size != row.size:
            raise OperationFailed(
                f"backup {backup}: {row.path} has {size} bytes, and was written with {row.size}"
            )
        if sha256 != row.sha256:
            raise OperationFailed(
                f"backup {backup}: {row.path} is not as it was written: its digest is another one"
            )
        done += size
        report_progress(done, whole)
    return manifest


def read_inbox(backup: Path) -> KeptInbox:
    """What waited; OperationFailed where this version cannot read it."""
    try:
        return KeptInbox.model_validate_json((backup / INBOX).read_bytes())
    except (OSError, ValidationError):
        raise OperationFailed(f"backup {backup}: this version cannot read its {INBOX}") from None


def _digest(fields: dict[str, object]) -> str:
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()
