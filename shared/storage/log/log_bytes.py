"""The bytes of a site's log, wherever they lie: the one place that knows which files they are in.

Offsets count from the log's first byte. Who reads a log asks for a stream from an offset on, and whoever
keeps offsets (strides, index, parts of an audit, the cut of a backup) needs to know no more. Closed stretches
may lie compressed beside the file that is appended to (`shared/storage/log/archive.py`).
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from shared.storage.log.archive import BUFFER, FROM_START, ArchivedStream, Begun, begun_in
from shared.storage.log.lines import cut_lines, lines_in, reading

SUFFIX = ".jsonl"
ARCHIVE = ".archive"
"""Of the folder with the closed stretches."""


@dataclass(frozen=True, slots=True)
class LogBytes:
    """One site's log. `path` is the file that is appended to, and the name by which people know the log."""

    path: Path

    @property
    def archive(self) -> Path:
        """The folder of its closed stretches, be there one or not."""
        return self.path.with_suffix(ARCHIVE)

    def begun(self) -> Begun:
        """Where in the log the file begins that is appended to, its beginning where there is none; OSError
        where it cannot be read."""
        try:
            with self.path.open("rb") as live:
                return begun_in(live, self.path)
        except FileNotFoundError:
            return FROM_START

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
        begun = begun_in(live, self.path)
        if begun == FROM_START:
            return live
        return cast(IO[bytes], io.BufferedReader(ArchivedStream(live, begun, self.archive), BUFFER))

    def lines(self, offset: int = 0) -> Iterator[bytes]:
        """Every line without its newline from this byte on, at which one begins; errors as in
        `raw_lines`."""
        return (line.rstrip(b"\n") for line in self.raw_lines(offset))

    def raw_lines(self, offset: int = 0) -> Iterator[bytes]:
        """The same as `shared.storage.log.lines.raw_lines` has them; ArchiveDamaged, too."""
        with reading(self.path), self.path.open("rb") as live:
            stream = self._stream(live)
            if stream is live:
                yield from lines_in(live, offset)
                return
            with stream:
                stream.seek(offset)
                yield from cut_lines(stream)


def log_of(folder: Path, site: str) -> LogBytes:
    """The log of a site in the folder of a twin's logs, be there one or not."""
    return LogBytes(folder / f"{site}{SUFFIX}")
