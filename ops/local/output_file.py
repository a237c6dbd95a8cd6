"""Output files for people. A file is either complete or unchanged."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shared.storage.files.atomic_files import atomic_file


@contextmanager
def atomic_output_file(out: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `out` when it is complete, also through links; with `durable`, once it is on
    the disk.

    A device or a pipe is written directly. Raises OSError if that is impossible; the old file then stays.
    """
    if out.exists() and not out.is_file():
        with out.open("wb") as file:
            yield file
        return
    with atomic_file(out.resolve(), mode=0o666, durable=durable) as file:
        yield file
