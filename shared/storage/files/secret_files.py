"""Secrets in files that nobody else may read, so that none has to stand in a command line or a variable."""

import os
import stat
from pathlib import Path

from shared.basics.errors import InvalidInput, OutOfFileDescriptors
from shared.storage.files.fd_limits import out_of_descriptors

SIZE_MAX = 1_000_000
ROOT = 0
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""What nobody but the owner may do."""
OTHERS_OF_ROOT = OTHERS & ~stat.S_IRGRP
"""The same of root's file: root lets a group read what its processes are to read, as Kubernetes does with the
files of a secret and the group `fsGroup`. Whoever owns a file himself needs no group to read it."""


def read_secret(path: Path, what: str) -> str:
    """The text of a file of up to 1 MB that only its owner may read, and root's group what is root's;
    InvalidInput if it is anything else, OutOfFiles if it cannot be opened now. `what` is how the sentence
    calls it."""
    try:
        # Not to wait for ever at a pipe; what was opened is what is judged.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InvalidInput(f"{what} {path}: no file")
            if found.st_mode & (OTHERS_OF_ROOT if found.st_uid == ROOT else OTHERS):
                mode = stat.S_IMODE(found.st_mode)
                raise InvalidInput(
                    f"{what} {path}: others may use it (mode {mode:o}); allowed is {mode & ~OTHERS:o}: "
                    f"chmod go= {path}"
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
    """The one line of such a file."""
    found = read_secret(path, what).strip("\r\n")
    if not found or "\n" in found:
        raise InvalidInput(f"{what} {path}: one line, the password, is allowed")
    return found
