"""Files that people name on the command line, read up to a limit. A pipe or a device might never end."""

import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from shared.basics.errors import InvalidInput

LINE_CHARS_MAX = 1 << 20
"""Maximum length of a line of recorded inputs; the longest rows of public traces have a few thousand
characters."""


def read_input(path: Path, most: int, *, must_be: str = "a regular file") -> bytes:
    """All bytes of a regular file of at most `most` bytes. Raises OSError if it cannot be opened, and
    InvalidInput, without the path, for other files; `must_be` describes the file in that error."""
    with open_input(path, must_be=must_be) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(most + 1) if size <= most else b""
    if max(size, len(content)) > most:  # the file may have grown
        raise InvalidInput(f"larger than {most / 2**20:.0f} MB, the maximum")
    return content


def open_input(path: Path, *, must_be: str = "a regular file") -> io.BufferedReader:
    """Open a regular file. Errors as in `read_input`."""
    try:
        # O_NONBLOCK: do not wait for a pipe. The check uses the opened file: its name may change meanwhile.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError:
        raise InvalidInput("not a valid path: it contains a NUL character") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidInput(f"must be {must_be}, not a folder, pipe or device")
    return os.fdopen(descriptor, "rb")


def short_lines(file: TextIO, what: str) -> Iterator[str]:
    """The lines of an opened text file, which may be a pipe. `what` names the file in errors. Raises
    InvalidInput for a line of more than LINE_CHARS_MAX characters."""
    number = 0
    while line := file.readline(LINE_CHARS_MAX + 1):
        number += 1
        if len(line) > LINE_CHARS_MAX:
            raise InvalidInput(
                f"{what}, line {number}: has more than {LINE_CHARS_MAX:,} characters; must have at most that"
            )
        yield line
