"""Files that are there whole or not at all."""

import contextlib
from pathlib import Path

PART = ".part"
"""How a file's name ends until all of it is written."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that takes its name once all is written. OSError if that is impossible; then nothing of it
    is left, and what was there stays."""
    part = path.with_suffix(PART)
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
