"""Files that commands write for people: there as a whole, or as they were before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(out: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name once all is written, in the place of what is there, and through links. A
    device or pipe is no file: it is written to. OSError if that is impossible; then what was there stays."""
    if out.exists() and not out.is_file():
        with out.open("wb") as file:
            yield file
        return
    target = out.resolve()
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    # Made anew, through no link that somebody may have planted under this name.
    fresh = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with os.fdopen(fresh, "wb") as file:
            yield file
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
