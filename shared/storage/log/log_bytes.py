"""The bytes of a site's log, in whichever files they are. Only this module knows those files.

Offsets count from the first byte of the log. Readers request a stream from an offset on. Code that stores
offsets (strides, index, audit segments, backups) needs nothing else. Older segments may be compressed in an
archive (`shared/storage/log/archive_reader.py`).
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shared.storage.files.own_files import open_own
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
"""Suffix of the archive folder."""


@dataclass(frozen=True, slots=True)
class LogBytes:
    """One site's log. `path` is the live file, and names the log in messages."""

    path: Path

    @property
    def archive(self) -> Path:
        """The folder of its archive, which may not exist."""
        return self.path.with_suffix(ARCHIVE_SUFFIX)

    def live_start(self) -> LiveFileStart:
        """Where in the log the live file starts; the log's start if there is no file. OSError if it cannot be
        read."""
        try:
            with open_own(self.path) as live:
                return read_live_start(live, self.path)
        except FileNotFoundError:
            return UNARCHIVED

    def opened(self, offset: int = 0) -> IO[bytes]:
        """A stream from this byte on; it seeks by offsets of the log. OSError if the live file cannot be
        read. Reading a damaged archived segment raises ArchiveDamaged."""
        live = open_own(self.path)
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
        return io.BufferedReader(ArchivedStream(live, live_start, self.archive), BUFFER)

    def lines(self, offset: int = 0) -> Iterator[bytes]:
        """Every line without its newline, from the start of a line on; errors as in `raw_lines`."""
        return (line.rstrip(b"\n") for line in self.raw_lines(offset))

    def raw_lines(self, offset: int = 0) -> Iterator[bytes]:
        """Every line as in `shared.storage.log.log_lines.raw_lines`; also raises ArchiveDamaged."""
        with read_errors(self.path), open_own(self.path) as live:
            stream = self._stream(live)
            if stream is live:
                yield from lines_of_file(live, offset)
                return
            with stream:
                stream.seek(offset)
                yield from bounded_lines(stream)


def site_log(folder: Path, site: str) -> LogBytes:
    """The log of a site in the log folder of a twin; it may not exist."""
    return LogBytes(folder / f"{site}{SITE_LOG_SUFFIX}")
