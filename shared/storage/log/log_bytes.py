"""The bytes of a site's log, wherever they lie: the one place that knows which files they are in.

Offsets count from the log's first byte. Who reads a log asks for a stream from an offset on, and whoever
keeps offsets (strides, index, parts of an audit, the cut of a backup) needs to know no more. Closed stretches
may lie compressed beside the file that is appended to (`shared/storage/log/archive_reader.py`).
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from shared.storage.log.archive_reader import (
    BUFFER,
    UNARCHIVED,
    ArchivedStream,
    LiveFileStart,
    read_live_start,
)
from shared.storage.log.log_lines import bounded_lines, lines_of_file, read_errors

SITE_LOG_SUFFIX = ".jsonl"
ARCHIVE_SUFFIX = ".archive"
"""Of the folder with the closed stretches."""


@dataclass(frozen=True, slots=True)
class LogBytes:
    """One site's log. `path` is the file that is appended to, and the name by which people know the log."""

    path: Path

    @property
    def archive(self) -> Path:
        """The folder of its closed stretches, be there one or not."""
        return self.path.with_suffix(ARCHIVE_SUFFIX)

    def live_start(self) -> LiveFileStart:
        """Where in the log the file begins that is appended to, its beginning where there is none; OSError
        where it cannot be read."""
        try:
            with self.path.open("rb") as live:
                return read_live_start(live, self.path)
        except FileNotFoundError:
            return UNARCHIVED

    def opened(self, offset: int = 0) -> IO[bytes]:
        """A stream from this byte of the log on, which can be sought by offsets of the log; OSError where the
        file cannot be read. Where a stretch cannot, ArchiveDamaged is raised by who reads it."""
        live = self.path.open("rb")
        try:
            stream = self._stream(live)
            stream.seek(offset)
        except BaseException:
            live.close()
            raise
        return stream

    def _stream(self, live: IO[bytes]) -> IO[bytes]:
        live_start = read_live_start(live, self.path)
        if live_start == UNARCHIVED:
            return live
        return cast(IO[bytes], io.BufferedReader(ArchivedStream(live, live_start, self.archive), BUFFER))

    def lines(self, offset: int = 0) -> Iterator[bytes]:
        """Every line without its newline from this byte on, at which one begins; errors as in
        `raw_lines`."""
        return (line.rstrip(b"\n") for line in self.raw_lines(offset))

    def raw_lines(self, offset: int = 0) -> Iterator[bytes]:
        """The same as `shared.storage.log.log_lines.raw_lines` has them; ArchiveDamaged, too."""
        with read_errors(self.path), self.path.open("rb") as live:
            stream = self._stream(live)
            if stream is live:
                yield from lines_of_file(live, offset)
                return
            with stream:
                stream.seek(offset)
                yield from bounded_lines(stream)


def site_log(folder: Path, site: str) -> LogBytes:
    """The log of a site in the folder of a twin's logs, be there one or not."""
    return LogBytes(folder / f"{site}{SITE_LOG_SUFFIX}")
