"""Output files for people. A file is either complete or unchanged."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shared.basics.errors import InvalidInput
from shared.storage.files.atomic_files import atomic_file

DEVICES = Path("/dev")
"""Paths below are devices, or open files of this process such as /dev/stdout."""
STREAMS = (DEVICES, DEVICES / "fd")
"""Folders whose files are always written directly."""


@contextmanager
def atomic_output_file(out: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `out` when it is complete, also through links; with `durable`, once it is on
    the disk.

    A device, a pipe or an open file of this process is written directly. Raises OSError if that is
    impossible; the old file then stays.
    """
    if out.absolute().parent in STREAMS or (out.exists() and not out.is_file()):
        with out.open("wb") as file:
            yield file
        return
    with atomic_file(real_path(out), mode=0o666, durable=durable) as file:
        yield file


def real_path(path: Path) -> Path:
    """Return the path without links. Unlike `Path.resolve`, it also takes a loop of links."""
    return Path(os.path.realpath(path))


def write_output_text(out: Path, text: str) -> None:
    """Write a text file as `atomic_output_file` does. Raises OSError if that is impossible."""
    with atomic_output_file(out) as file:
        file.write(text.encode())


def is_same_file(first: Path, second: Path) -> bool:
    """Whether two paths lead to the same regular file, existing or not, also through links."""
    try:
        if first.exists() and second.exists():
            return first.is_file() and first.samefile(second)
        return not second.is_dir() and real_path(first) == real_path(second)
    except OSError:  # a name that is too long
        return False


def check_new_file(out: Path, what: str) -> None:
    """Raise InvalidInput if there is a regular file at `out`; `what` names the argument."""
    if out.is_file() and DEVICES not in out.absolute().parents:
        raise InvalidInput(f"{what} {out}: already exists; give another name, or --force to replace it")
