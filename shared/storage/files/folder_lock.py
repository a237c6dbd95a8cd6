"""A lock that lets one process at a time write to a folder."""

import fcntl
import os
from pathlib import Path
from typing import IO

from shared.storage.files.own_files import open_own

ROOT = 0
LOCK = "lock"
"""Name of the lock file."""


class FolderLocked(Exception):
    """Another process has locked the folder."""


def is_locked(folder: Path) -> bool:
    """Whether a process has locked the folder. Creates and changes nothing."""
    try:
        with open_own(folder / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def lock_folder(folder: Path) -> IO[bytes]:
    """Create the folder if needed and lock it until the returned file is closed or this process exits.

    Raises FolderLocked while another process has the lock. Raises OSError if the folder cannot be created or
    belongs to another user, who could put links into it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid not in (ROOT, os.getuid()):
        raise PermissionError("belongs to another user; choose a folder of your own")
    lock = open_own(folder / LOCK, "ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise FolderLocked(str(folder)) from None
    return lock
