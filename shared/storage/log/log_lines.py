"""Log files for standard tools: JSON lines, plain or compressed with gzip or zstd, as the file's name
says."""

import contextlib
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol, cast

import orjson
import zstandard

from schemas.envelope import EnvelopeFields
from shared.basics.errors import InvalidInput, NotFound
from shared.storage.files.file_errors import file_error

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_MAGIC = b"\x1f\x8b"
LINE_MAX = 16 << 20
"""Longest line that is read, in bytes: twice the largest message that Kafka accepts."""


class ByteSink(Protocol):
    """A file, compressed or not, to which lines are written."""

    def write(self, data: bytes, /) -> int: ...
    def close(self) -> None: ...


class ByteLines(Protocol):
    """A file, compressed or not, from which lines are read."""

    def readline(self, size: int, /) -> bytes: ...


def _opened(path: Path) -> io.BufferedWriter:
    """Open a file for writing; OSError for a pipe without a reader, which would block."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "wb")


class LineWriter:
    """Writes lines to a new file; the suffixes `.zst` and `.gz` compress it.

    Raises OperationFailed if the file cannot be written (missing folder, no permission, disk full).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: io.BufferedWriter | None = None
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
        """Flush and close; OperationFailed if that fails (disk full)."""
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
        """Close without another flush, which would fail again."""
        raw, self._raw = self._raw, None
        if raw is not None:
            raw.raw.close()


def _compressed(path: Path, raw: io.BufferedWriter) -> ByteSink:
    if path.suffix == ".zst":
        return zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False)
    if path.suffix == ".gz":
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=3, mtime=0)
    return raw


def raw_lines(path: Path, offset: int = 0) -> Iterator[bytes]:
    """Every line of a log file; its first bytes tell the compression. Each line ends with its newline, except
    a torn last line and lines longer than LINE_MAX. Those are cut to LINE_MAX, because a small compressed
    file may contain a line larger than the memory. `offset` is the byte of a plain file at which the first
    line starts.

    NotFound if the file does not exist; InvalidInput if it is not a regular file or its compressed data is
    damaged.
    """
    with read_errors(path), path.open("rb") as raw:
        yield from lines_of_file(raw, offset)


@contextlib.contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Translates errors while a log file is read, as `raw_lines` documents."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(f"log file {path}: is a folder, pipe or device; must be a regular file")
        yield
    except FileNotFoundError:
        raise NotFound(f"log file {path}: no such file") from None
    except (zstandard.ZstdError, gzip.BadGzipFile, EOFError) as error:
        raise InvalidInput(f"log file {path}: damaged compressed data: {error}") from None
    except OSError as error:
        raise file_error(path, error) from None


def lines_of_file(raw: IO[bytes], offset: int = 0) -> Iterator[bytes]:
    """The lines of an opened file, as in `raw_lines`."""
    yield from bounded_lines(plain_stream(raw, offset))


def plain_stream(raw: IO[bytes], offset: int = 0) -> IO[bytes]:
    """The decompressed content of an opened file, from this byte of a plain file on. A small file may have
    terabytes of it: read only as much as expected."""
    raw.seek(0)
    magic = raw.read(4)
    raw.seek(offset)
    if magic == ZSTD_MAGIC:
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return io.BufferedReader(reader, 1 << 20)
    if magic[:2] == GZIP_MAGIC:
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw, mode="rb"))
    return raw


def bounded_lines(stream: ByteLines) -> Iterator[bytes]:
    """The lines of a stream, each cut to LINE_MAX bytes."""
    while line := stream.readline(LINE_MAX):
        rest = line
        while len(rest) == LINE_MAX and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_MAX)
        yield line


def envelope_fields(line: bytes) -> EnvelopeFields | None:
    """The fields of an envelope; None if the line is not one."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    wanted = {"id": str, "source": str, "seq": int, "at_us": int}
    is_complete = isinstance(fields, dict) and all(isinstance(fields.get(k), t) for k, t in wanted.items())
    found: EnvelopeFields = fields
    return found if is_complete else None
