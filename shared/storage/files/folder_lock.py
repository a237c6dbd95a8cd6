"""A folder that one process at a time may write to."""

import fcntl
import os
from pathlib import Path
from typing import IO

ROOT = 0
LOCK = "lock"
"""The file that is locked."""


class FolderLocked(Exception):
    """Another process holds the folder."""


def is_locked(folder: Path) -> bool:
    """Whether a process holds the folder, of which nothing is made or changed to know."""
    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def lock_folder(folder: Path) -> IO[str]:
    """Make the folder where there is none and keep every other process out until the answer is closed or
    this process ends. FolderHeld while another has it, OSError if it cannot be made or belongs to another
    user, who could put links into it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid not in (ROOT, os.getuid()):
        raise PermissionError("belongs to another user; give a folder of yours")
    lock = (folder / LOCK).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise FolderLocked(str(folder)) from None
    return lock
