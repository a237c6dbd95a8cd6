"""Secrets from files that only their owner may read, so that none is on a command line or in a variable."""

import os
import stat
from pathlib import Path

from shared.basics.errors import InvalidInput, OutOfFileDescriptors
from shared.storage.files.fd_limits import out_of_descriptors

SIZE_MAX = 1_000_000
ROOT = 0
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""Permission bits of all users but the owner."""
OTHERS_OF_ROOT = OTHERS & ~stat.S_IRGRP
"""The same for files of root, whose group may read. Kubernetes mounts secrets like this with `fsGroup`."""


def read_secret(path: Path, what: str) -> str:
    """The text of a file of up to 1 MB that only its owner may read. If root owns the file, its group may
    read it, too.

    Raises InvalidInput if the file is not like that, and OutOfFileDescriptors if it cannot be opened now.
    `what` names the file in the error.
    """
    try:
        # O_NONBLOCK: do not block on a pipe. The checks use the opened file, not its path.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidInput(f"{what} {path}: not a regular file")
            if status.st_mode & (OTHERS_OF_ROOT if status.st_uid == ROOT else OTHERS):
                mode = stat.S_IMODE(status.st_mode)
                raise InvalidInput(
                    f"{what} {path}: other users can access it (mode {mode:o}); the mode must be "
                    f"{mode & ~OTHERS:o}: run `chmod go= {path}`"
                )
            content = file.read(SIZE_MAX + 1)
    except OSError as error:
        if lack := out_of_descriptors(error):
            raise OutOfFileDescriptors(f"{what} {path}: {lack}") from None
        raise InvalidInput(f"{what} {path}: {error.strerror}") from None
    if len(content) > SIZE_MAX:
        raise InvalidInput(f"{what} {path}: larger than {SIZE_MAX} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{what} {path}: not UTF-8 text") from None


def read_password(path: Path, what: str) -> str:
    """The password in a file of one line; errors as in `read_secret`."""
    password = read_secret(path, what).strip("\r\n")
    if not password or "\n" in password:
        raise InvalidInput(f"{what} {path}: must be one line, the password")
    return password
