"""Files that a command opens by itself, in a folder that another user may have prepared.

A link there could lead to any file of this user, a pipe would block, and a device never ends. So these files
are opened only if they are regular, never through a link, and read up to a bound. Files that people name on
the command line are opened as usual.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO, Literal

from shared.storage.files.own_folders import FILE_IS_LINK

SMALL_MAX = 16 << 20
"""Bound in bytes of files that are read at once, unless their format has its own."""
LARGE_MAX = 1 << 30
"""Bound in bytes of files that grow as long as a twin lives."""
Mode = Literal["rb", "ab", "ab+", "wb"]
FLAGS: dict[Mode, int] = {
    "rb": os.O_RDONLY,
    "ab": os.O_WRONLY | os.O_APPEND | os.O_CREAT,
    "ab+": os.O_RDWR | os.O_APPEND | os.O_CREAT,
    "wb": os.O_WRONLY | os.O_CREAT,
}


def open_own(path: Path, mode: Mode = "rb", *, buffering: int = -1) -> IO[bytes]:
    """Open a regular file. OSError, with the path, for a link, a pipe, a device or a folder, and as `open`
    does."""
    try:
        # O_NONBLOCK: opening a pipe does not wait for its other end.
        descriptor = os.open(path, FLAGS[mode] | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, FILE_IS_LINK, str(path)) from None
        if error.errno == errno.ENXIO:  # a pipe without a reader, opened for writing
            raise OSError(errno.EINVAL, "is not a regular file", str(path)) from None
        raise
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "is not a regular file", str(path))
        os.set_blocking(descriptor, True)
        if mode == "wb":
            os.ftruncate(descriptor, 0)
        return os.fdopen(descriptor, mode, buffering)
    except BaseException:
        os.close(descriptor)
        raise


def read_own(path: Path, most: int = SMALL_MAX) -> bytes:
    """All bytes of a regular file of at most `most` bytes; OSError as in `open_own`, and if it is larger."""
    with open_own(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than {most:,} bytes", str(path))
    return content
