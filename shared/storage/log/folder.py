"""A folder that one process at a time may write to."""

import fcntl
from pathlib import Path
from typing import IO


class FolderHeld(Exception):
    """Another process holds the folder."""


def hold_folder(folder: Path) -> IO[str]:
    """Make the folder where there is none and keep every other process out until the answer is closed or
    this process ends. FolderHeld while another has it, OSError if it cannot be made."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise FolderHeld(str(folder)) from None
    return lock
