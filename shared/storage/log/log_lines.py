"""Log files that standard tools read: JSON lines, plain or as gzip or zstd, chosen by the file's name."""

import contextlib
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import zstandard

from shared.basics.errors import InvalidInput, NotFound
from shared.storage.files.file_errors import file_error

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_MAGIC = b"\x1f\x8b"
LINE_MAX = 16 << 20
"""Bytes of a line that are read: twice the largest message that Kafka takes."""


def _opened(path: Path) -> IO[bytes]:
    """A file to write to; OSError of a pipe that nobody reads, for which else it would wait for ever."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
    os.set_blocking(number, True)
    return os.fdopen(number, "wb")


class LineWriter:
    """Writes lines to a new file; `.zst` and `.gz` at the end of its name compress it.

    Raises OperationFailed if the file cannot be written (no such folder, no permission, disk full).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: IO[bytes] | None = None
        try:
            self._raw = _opened(path)
            self._file = _compressed(path, self._raw)
        except OSError as error:
            raise file_error(path, error) from None

    def write(self, lines: bytes) -> None:
        """Append whole lines, each ending in a newline."""
        try:
            self._file.write(lines)
        except OSError as error:
            self._abandon()
            raise file_error(self.path, error) from None

    def close(self) -> None:
        """Write what is buffered, and end; OperationFailed if that is impossible (disk full)."""
        if self._raw is None:
            return
        try:
            self._file.close()
            self._raw.close()
        except OSError as error:
            self._abandon()
            raise file_error(self.path, error) from None
        self._raw = None

    def _abandon(self) -> None:
        """Close without another try to flush, which would fail again."""
        raw, self._raw = self._raw, None
        if raw is not None:
            cast(io.BufferedWriter, raw).raw.close()


def _compressed(path: Path, raw: IO[bytes]) -> IO[bytes]:
    if path.suffix == ".zst":
        return zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False)
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=3, mtime=0))
    return raw


def read_lines(path: Path, offset: int = 0) -> Iterator[bytes]:
    """Every line of a log file without its newline; errors as in `raw_lines`."""
    return (line.rstrip(b"\n") for line in raw_lines(path, offset))


def raw_lines(path: Path, offset: int = 0) -> Iterator[bytes]:
    """Every line of a log file, whatever its compression, judged by its first bytes. Each ends with its
    newline, but for a last one that was cut off and one longer than LINE_MAX, of which only the beginning is
    given: a small compressed file may hold a line larger than the memory. `offset` is the byte of a plain
    file at which the first line begins.

    NotFound if there is no such file; InvalidInput if it is none or its compressed data is damaged.
    """
    with read_errors(path), path.open("rb") as raw:
        yield from lines_of_file(raw, offset)


@contextlib.contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Around the reading of a log file; errors as in `raw_lines`."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(
                f"log file {path}: no file, but a folder, pipe or device, which may have no end"
            )
        yield
    except FileNotFoundError:
        raise NotFound(f"log file {path}: no such file") from None
    except (zstandard.ZstdError, gzip.BadGzipFile, EOFError) as error:
        raise InvalidInput(f"log file {path}: damaged compressed data: {error}") from None
    except OSError as error:
        raise file_error(path, error) from None


def lines_of_file(raw: IO[bytes], offset: int = 0) -> Iterator[bytes]:
    """Those of an opened file, as `raw_lines` has them."""
    raw.seek(0)
    magic = raw.read(4)
    raw.seek(offset)
    stream: IO[bytes] = raw
    if magic == ZSTD_MAGIC:
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        stream = io.BufferedReader(cast(io.RawIOBase, reader), 1 << 20)
    elif magic[:2] == GZIP_MAGIC:
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw, mode="rb"))
    yield from bounded_lines(stream)


def bounded_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream, of each at most LINE_MAX."""
    while line := stream.readline(LINE_MAX):
        rest = line
        while len(rest) == LINE_MAX and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_MAX)
        yield line
