"""Files that are there whole or not at all, at any moment, and what of others is read as files."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PART_SUFFIX = ".part"
"""How a file's name ends until all of it is written."""
PRIVATE_UMASK = 0o077
"""The mask of a process whose files are its user's alone: a log, a token, the password of a store."""


@contextmanager
def atomic_file(path: Path, *, mode: int = 0o600, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write that takes its name once all is written: whoever reads it, after a kill as well, finds
    the old one or the new one, whole. Where it is `lasting`, so does who loses power. OSError if it cannot be
    written; then what was there stays."""
    part = path.with_name(f"{path.name}{PART_SUFFIX}")
    part.unlink(missing_ok=True)
    # Made anew, through no link that somebody may have planted under this name.
    fresh = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(fresh, "wb") as file:
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
    """Write a file of one's own as `replaced` does."""
    with atomic_file(path) as file:
        file.write(text.encode())


def write_atomically(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file for whoever may read its folder, as `replaced` does."""
    with atomic_file(path, mode=0o666, durable=durable) as file:
        file.write(data)


def open_regular(path: Path) -> IO[bytes]:
    """A file to be read; OSError where it is none: a pipe would be waited for, and a device never ends."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return os.fdopen(number, "rb")


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
