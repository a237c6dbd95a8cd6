"""The bytes of a site's log, wherever they lie: the one place that knows which files they are in.

Offsets count from the log's first byte. Who reads a log asks for a stream from an offset on, and whoever
keeps offsets (strides, index, parts of an audit, the cut of a backup) needs to know no more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shared.storage.log.lines import read_lines

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class LogBytes:
    """One site's log. `path` is the file that is appended to, and the name by which people know the log."""

    path: Path

    def opened(self, offset: int = 0) -> IO[bytes]:
        """A stream from this byte of the log on, which can be sought by offsets of the log; OSError where it
        cannot be read."""
        stream = self.path.open("rb")
        stream.seek(offset)
        return stream

    def lines(self, offset: int = 0) -> Iterator[bytes]:
        """Every line without its newline from this byte on, at which one begins; errors as in `raw_lines`."""
        return read_lines(self.path, offset)


def log_of(folder: Path, site: str) -> LogBytes:
    """The log of a site in the folder of a twin's logs, be there one or not."""
    return LogBytes(folder / f"{site}{SUFFIX}")
