"""Files that are there whole or not at all."""

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import IO

PART = ".part"
"""How a file's name ends until all of it is written."""


def write_whole(path: Path, data: bytes, *, lasting: bool = False) -> None:
    """Write a file that takes its name once all is written, and, if it is to last, on the disk. OSError if
    that is impossible; then nothing of it is left, and what was there stays."""
    part = path.with_suffix(PART)
    try:
        part.write_bytes(data)
        if lasting:
            _to_disk(part)
        part.replace(path)
        if lasting:
            _to_disk(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def open_regular(path: Path) -> IO[bytes]:
    """A file to be read; OSError where it is none: a pipe would be waited for, and a device never ends."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return os.fdopen(number, "rb")


def _to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
