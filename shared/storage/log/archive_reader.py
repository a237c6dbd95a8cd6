"""Reads a log whose older segments are compressed in an archive folder, as if it were one file.

The first line of the live file says where in the log the file starts (`LogFileHeader`). Everything before is
in `SITE.archive`, in segments that a manifest lists. Segments never change. The archiver writes the manifest
before the shorter live file. So a reader that opens the live file first and reads the manifest second finds
everything.
"""

import io
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import orjson
import zstandard
from pydantic import ValidationError

from schemas.files.log_archive import (
    ARCHIVE_FORMAT,
    ArchivedSegment,
    ArchiveManifest,
    CompressedFrame,
    LogFileHeader,
    LogPosition,
)
from shared.basics.errors import ArchiveDamaged, OutOfFileDescriptors
from shared.storage.files.compression import decompress_bounded
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_files import open_own, read_own
from shared.storage.files.own_folders import is_own_folder

MANIFEST = "manifest.json"
HEAD = b'{"archived":'
"""Start of the first line of a live file that follows an archive."""
HEAD_MAX = 64 << 20
MANIFEST_MAX = 1 << 30
BUFFER = 1 << 16
FRAMES_CACHED = 8
"""Decompressed frames in the cache, about 1 MB each; readers tend to read the same ones."""
RESTORE_ADVICE = "restore it from a backup"

LOG_START = LogPosition(position=0, offset=0, at_us=0, seqs={})


@dataclass(frozen=True, slots=True)
class LiveFileStart:
    """Where the live file of a log starts, behind its archived segments."""

    place: LogPosition
    """Where in the log the live file starts."""
    head: int
    """Length of its header line in bytes."""

    def file_offset(self, offset: int) -> int:
        """The byte of the file that contains this byte of the log."""
        return offset - self.place.offset + self.head


UNARCHIVED = LiveFileStart(LOG_START, 0)


def read_live_start(live: IO[bytes], path: Path) -> LiveFileStart:
    """Where an opened live file starts in the log. Leaves the file at its first byte. ArchiveDamaged if its
    first line is not a valid header."""
    live.seek(0)
    if live.read(len(HEAD)) != HEAD:
        live.seek(0)
        return UNARCHIVED
    live.seek(0)
    line = live.readline(HEAD_MAX)
    live.seek(0)
    try:
        head = LogFileHeader.model_validate_json(line)
    except ValidationError:
        raise ArchiveDamaged(
            f"log file {path}: its first line is not a valid header; {RESTORE_ADVICE}"
        ) from None
    if head.format != ARCHIVE_FORMAT:
        raise ArchiveDamaged(
            f"log file {path}: format {head.format} is not supported; must be {ARCHIVE_FORMAT}"
        )
    return LiveFileStart(head.archived, len(line))


def live_file_header(place: LogPosition) -> bytes:
    """The first line of a live file that starts at this place."""
    return LogFileHeader(archived=place, format=ARCHIVE_FORMAT).model_dump_json().encode() + b"\n"


class ArchivedSegments:
    """The segments in a manifest, and which of their frames contains a byte."""

    def __init__(self, folder: Path, segments: Sequence[ArchivedSegment]) -> None:
        self.folder = folder
        self.segments = tuple(segments)
        self._starts: list[int] = []
        self._frames: list[tuple[Path, int, CompressedFrame]] = []
        """(file, offset of the frame in it, frame) of every frame."""
        for segment in segments:
            offset, at = segment.start, 0
            for frame in segment.frames:
                self._starts.append(offset)
                self._frames.append((folder / segment.file, at, frame))
                offset, at = offset + frame.plain, at + frame.size

    @property
    def end(self) -> int:
        """The first byte after the last segment."""
        return self.segments[-1].end.offset if self.segments else 0

    def up_to(self, offset: int) -> "ArchivedSegments":
        """The segments that end at or before this byte."""
        return ArchivedSegments(
            self.folder, [segment for segment in self.segments if segment.end.offset <= offset]
        )

    def piece(self, offset: int) -> tuple[int, bytes]:
        """(its first byte, content) of the frame that contains this byte. ArchiveDamaged names what cannot be
        read."""
        if not self.segments:
            raise ArchiveDamaged(f"log file {self.folder / MANIFEST}: is missing; {RESTORE_ADVICE}")
        if not offset < self.end:
            raise ArchiveDamaged(
                f"log file {self.folder / MANIFEST}: lists no segment with byte {offset}; {RESTORE_ADVICE}"
            )
        number = bisect_right(self._starts, offset) - 1
        path, at, frame = self._frames[number]
        return self._starts[number], _decompressed_frame(path, at, frame)


def read_segments(folder: Path) -> ArchivedSegments:
    """The segments of an archive; empty without an archive. ArchiveDamaged if the manifest cannot be read."""
    path = folder / MANIFEST
    try:
        if not is_own_folder(folder):
            return ArchivedSegments(folder, ())
        status = path.stat()
        return _read_manifest(folder, status.st_ino, status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        return ArchivedSegments(folder, ())
    except OSError as error:
        raise file_error(Path(error.filename or path), error) from None


@lru_cache(maxsize=64)
def _read_manifest(folder: Path, _inode: int, _mtime_ns: int, size: int) -> ArchivedSegments:
    path = folder / MANIFEST
    damaged = ArchiveDamaged(f"log file {path}: content changed since it was written; {RESTORE_ADVICE}")
    if size > MANIFEST_MAX:
        raise damaged
    try:
        text = read_own(path, MANIFEST_MAX)
        file_format = orjson.loads(text)["format"]
        if file_format != ARCHIVE_FORMAT:
            raise ArchiveDamaged(
                f"log file {path}: format {file_format!r} is not supported; must be {ARCHIVE_FORMAT}"
            )
        manifest = ArchiveManifest.model_validate_json(text)
    except (ValueError, TypeError, KeyError):
        raise damaged from None
    if not all(map(_sizes_match, manifest.segments)) or not _are_contiguous(manifest.segments):
        raise damaged
    return ArchivedSegments(folder, manifest.segments)


def _sizes_match(segment: ArchivedSegment) -> bool:
    plain, size = sum(frame.plain for frame in segment.frames), sum(frame.size for frame in segment.frames)
    return plain == segment.end.offset - segment.start > 0 and size == segment.size


def _are_contiguous(segments: Sequence[ArchivedSegment]) -> bool:
    if not segments:
        return True
    return segments[0].start == 0 and all(
        before.end.offset == after.start for before, after in pairwise(segments)
    )


@lru_cache(maxsize=FRAMES_CACHED)
def _decompressed_frame(path: Path, at: int, frame: CompressedFrame) -> bytes:
    try:
        with open_own(path) as file:
            file.seek(at)
            packed = file.read(frame.size)
    except FileNotFoundError:
        raise ArchiveDamaged(f"log file {path}: is missing; {RESTORE_ADVICE}") from None
    except OSError as error:
        read_error = file_error(path, error)
        raise (
            read_error if isinstance(read_error, OutOfFileDescriptors) else ArchiveDamaged(str(read_error))
        ) from None
    if sha256(packed).hexdigest() != frame.sha256:
        raise ArchiveDamaged(
            f"log file {path}: content changed since it was written: bytes {at} to {at + frame.size} have "
            f"another digest; {RESTORE_ADVICE}"
        )
    try:
        plain = decompress_bounded(packed, frame.plain)
    except zstandard.ZstdError as error:
        raise ArchiveDamaged(f"log file {path}: damaged compressed data: {error}; {RESTORE_ADVICE}") from None
    if len(plain) != frame.plain:
        raise ArchiveDamaged(f"log file {path}: its length is not the one in {MANIFEST}; {RESTORE_ADVICE}")
    return plain


class ArchivedStream(io.RawIOBase):
    """Archived segments and live file as one stream; offsets are those of the log. Opens only the files that
    it reads. Damage raises ArchiveDamaged when the stream reaches it."""

    def __init__(self, live: IO[bytes], live_start: LiveFileStart, folder: Path) -> None:
        self._live = live
        self._live_start = live_start
        self._folder = folder
        self._segments: ArchivedSegments | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._at
        elif whence == os.SEEK_END:
            place = self._live_start.place.offset
            offset += os.fstat(self._live.fileno()).st_size - self._live_start.head + place
        self._at = max(0, offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read from the frame, or the live file, that contains the current offset, as far as the buffer has
        room."""
        wanted = memoryview(buffer)
        if self._at >= self._live_start.place.offset:
            read = os.preadv(self._live.fileno(), [wanted], self._live_start.file_offset(self._at))
        else:
            if self._segments is None:
                self._segments = read_segments(self._folder)
            start, piece = self._segments.piece(self._at)
            # Stop where the live file starts: an unfinished archive may contain more.
            most = min(start + len(piece), self._live_start.place.offset) - self._at
            read = min(len(wanted), most)
            wanted[:read] = memoryview(piece)[self._at - start : self._at - start + read]
        self._at += read
        return read

    def close(self) -> None:
        self._live.close()
        super().close()


def segment_ends_after(folder: Path, live_start: LiveFileStart, offset: int) -> Iterator[LogPosition]:
    """The ends of segments after a byte, up to the start of the live file, as far as the manifest can be
    read."""
    if live_start.place.offset <= offset:
        return
    try:
        segments = read_segments(folder).segments
    except ArchiveDamaged:
        segments = ()
    for segment in segments:
        if offset < segment.end.offset < live_start.place.offset:
            yield segment.end
    yield live_start.place


def commissioning_lines(folder: Path, live_start: LiveFileStart) -> dict[int, bytes]:
    """Position → line of the commissioning messages in the archive. ArchiveDamaged if the manifest cannot be
    read."""
    segments = read_segments(folder).up_to(live_start.place.offset).segments
    return {kept.position: kept.line.encode() for segment in segments for kept in segment.commissioned}
