"""Files of a backup, written with their digests, in a folder that appears only when it is complete."""

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import zstandard

from schemas.files.backup_manifest import BackupFile
from shared.basics.errors import OperationFailed
from shared.storage.files.folder_lock import LOCK
from shared.storage.files.own_files import open_own
from shared.storage.log.log_bytes import LogBytes

PARTIAL = ".partial"
"""Suffix of a folder's name until it is complete."""
CHUNK = 1 << 20
LEVEL = 3
"""Compression level, the same as of snapshots."""
MANIFEST = "manifest.json"
INBOX = "inbox.json"
LOG_SUFFIX = ".jsonl.zst"
OPERATIONS, LETTERS, CLOCK, ORIGIN = "operations.jsonl", "dead-letters.jsonl", "clock.json", "origin.json"
FOLDERS = ("log", "snapshots", "upgrades", "telemetry")
KNOWN_NAMES = frozenset(
    {
        MANIFEST,
        INBOX,
        OPERATIONS,
        LETTERS,
        CLOCK,
        ORIGIN,
        *FOLDERS,
        "redis",
        LOCK,
        "lightwave-twin.json",
        "digest.key",
    }
)
"""Names in a folder that a killed command left unfinished."""


def folder_error(what: str, folder: Path, error: OSError) -> OperationFailed:
    """An operating system error, with the file of this folder that caused it."""
    named = str(error.filename or "")
    about = f"{Path(named).name}: " if named and Path(named) != folder else ""
    return OperationFailed(f"{what} {folder}: {about}{error.strerror or error}")


def write_file(folder: Path, name: str, pieces: Iterable[bytes]) -> BackupFile:
    """Write and sync a new file, and return its size and digest. Raises OSError if it cannot be written."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("xb") as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
                size += len(piece)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    return BackupFile(path=name, size=size, sha256=digest.hexdigest())


def file_chunks(path: Path, size: int | None = None) -> Iterator[bytes]:
    """The first `size` bytes of a file, or all. Raises OSError if it cannot be read."""
    with open_own(path) as file:
        yield from stream_chunks(file, size)


def stream_chunks(file: IO[bytes], size: int | None = None) -> Iterator[bytes]:
    """The next `size` bytes of a stream, or all."""
    left = size
    while left != 0:
        piece = file.read(CHUNK if left is None else min(CHUNK, left))
        if not piece:
            return
        left = None if left is None else left - len(piece)
        yield piece


def log_chunks(folder: Path, log: LogBytes, size: int) -> Iterator[bytes]:
    """The first `size` bytes of a log in a twin's data folder. OperationFailed, with that folder's name, if
    they cannot be read. A missing log is an empty one."""
    try:
        with log.opened() as file:
            yield from stream_chunks(file, size)
    except OSError as error:
        if size or log.path.exists():
            raise folder_error("data folder", folder, error) from None


def compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes, compressed with zstd."""
    stream = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
    for piece in pieces:
        if part := stream.compress(piece):
            yield part
    yield stream.flush()


def digest_of(path: Path) -> str:
    """SHA-256 of a file; raises OSError if it cannot be read."""
    digest = hashlib.sha256()
    for piece in file_chunks(path):
        digest.update(piece)
    return digest.hexdigest()


@contextlib.contextmanager
def atomic_folder(folder: Path, what: str) -> Iterator[Path]:
    """Yield a new folder to fill, and rename it to `folder` when it is complete and synced.

    An error removes it. A killed process leaves `FOLDER.partial`, which the next attempt removes. Raises
    OperationFailed if `folder` is not empty, or while another process fills it.
    """
    _check_empty(folder, what)
    folder = folder.absolute()
    part = folder.with_name(f"{folder.name}{PARTIAL}")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise folder_error(what, folder, error) from None
    try:
        _lock_and_clear(part, lock, what)
        try:
            yield part
            _sync_and_rename(part, folder)
        except BaseException as error:
            shutil.rmtree(part, ignore_errors=True)
            if isinstance(error, OSError):
                raise folder_error(what, folder, error) from None
            raise
    finally:
        os.close(lock)


def _check_empty(folder: Path, what: str) -> None:
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise OperationFailed(f"{what} {folder}: is not empty; give a folder that is new or empty")
        if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
            raise OperationFailed(f"{what} {folder}: is not a folder; give one that is new or empty")
        if folder.is_dir() and (folder.is_symlink() or folder.is_mount()):
            # The rename that completes a folder cannot replace a link or a mount point.
            raise OperationFailed(f"{what} {folder}: is a link or a mount point; give a new folder in it")
    except OSError as error:
        raise folder_error(what, folder, error) from None


def _lock_and_clear(part: Path, lock: int, what: str) -> None:
    """Lock an unfinished folder, and remove the files that a killed command left there."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OperationFailed(f"{what} {part}: is being written by another process") from None
    try:
        strange = sorted(found.name for found in part.iterdir() if found.name not in KNOWN_NAMES)
        if strange:
            raise OperationFailed(
                f"{what} {part}: already exists, and {strange[0]} in it is not a file of a twin; move it away"
            )
        for found in part.iterdir():
            shutil.rmtree(found) if found.is_dir() and not found.is_symlink() else found.unlink()
    except OSError as error:
        raise folder_error(what, part, error) from None


def is_being_filled(part: Path) -> bool:
    """Whether another process fills this unfinished folder. Creates nothing, and releases its lock."""
    try:
        lock = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _sync_and_rename(part: Path, folder: Path) -> None:
    for place, folders, _ in os.walk(part, topdown=False):
        for name in folders:
            _sync(Path(place, name))
    _sync(part)
    part.rename(folder)
    _sync(folder.parent)


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
