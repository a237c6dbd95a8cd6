"""Atomic file writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PART_SUFFIX = ".part"
"""Suffix of a file that is still being written."""
PRIVATE_UMASK = 0o077
"""Umask of a process whose files only its user may read: logs, tokens, passwords."""


@contextmanager
def atomic_file(path: Path, *, mode: int = 0o600, durable: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing; it takes its name when the block ends without an error. A reader finds the old
    file or the new one, complete, even after a kill. With `durable`, this is true after a power loss, too.

    Raises OSError if the file cannot be written; the old file then stays.
    """
    part = path.with_name(f"{path.name}{PART_SUFFIX}")
    part.unlink(missing_ok=True)
    # Always a new file: another user may have planted a link under this name.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
        if durable:
            _sync_folder(path.parent)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_private_text(path: Path, text: str) -> None:
    """Write a file that only its user may read, as `atomic_file` does."""
    with atomic_file(path) as file:
        file.write(text.encode())


def write_atomically(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file with the permissions of the umask, as `atomic_file` does."""
    with atomic_file(path, mode=0o666, durable=durable) as file:
        file.write(data)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
