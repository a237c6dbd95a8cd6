"""Files that commands write for people: there as a whole, or as they were before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shared.storage.files.atomic_files import atomic_file


@contextmanager
def atomic_output_file(out: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file that takes its name once all is written, in the place of what is there, and through links;
    `lasting` once it is on the disk. A device or pipe is no file: it is written to. OSError if that is
    impossible; then what was there stays."""
    if out.exists() and not out.is_file():
        with out.open("wb") as file:
            yield file
        return
    with atomic_file(out.resolve(), mode=0o666, durable=durable) as file:
        yield file
