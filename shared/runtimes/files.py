"""Files that are a twin's own: whole at any moment, and nobody else's to read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PRIVATE = 0o077
"""The mask of a process whose files are its user's alone: a log, a token, the password of a store."""


@contextmanager
def replaced(path: Path, *, mode: int = 0o600, lasting: bool = False) -> Iterator[IO[bytes]]:
    """A file to write that takes its name once all is written: whoever reads it, after a kill as well, finds
    the old one or the new one, whole. Where it is `lasting`, so does who loses power. OSError if it cannot be
    written; then what was there stays."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    # Made anew, through no link that somebody may have planted under this name.
    fresh = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(fresh, "wb") as file:
            yield file
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file of one's own as `replaced` does."""
    with replaced(path) as file:
        file.write(text.encode())
