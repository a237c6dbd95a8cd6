"""A log whose closed stretches lie compressed in a folder, read as if it were one file.

The file that is appended to says in its first line where in the log it goes on (`LiveHead`); all before lies
in `SITE.archive`, in stretches of which a manifest tells. Stretches are never written again. Who archives
puts the manifest first and the shorter file second, so whoever opens the file and then reads the manifest
finds all that lies before it.
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
from shared.storage.files.atomic_files import open_regular
from shared.storage.files.compression import decompress_bounded
from shared.storage.files.file_errors import file_error

MANIFEST = "manifest.json"
HEAD = b'{"archived":'
"""How the first line of a file begins that goes on behind an archive."""
HEAD_MAX = 64 << 20
MANIFEST_MAX = 1 << 30
BUFFER = 1 << 16
FRAMES_CACHED = 8
"""Frames that are kept plain, of a megabyte each: who looks around looks at the same ones."""
RESTORE_ADVICE = "restore it from a backup"

LOG_START = LogPosition(position=0, offset=0, at_us=0, seqs={})


@dataclass(frozen=True, slots=True)
class LiveFileStart:
    """Where in the log a live file begins, and how many of its bytes come before that."""

    place: LogPosition
    head: int

    def file_offset(self, offset: int) -> int:
        """The byte of the file at which this byte of the log stands."""
        return offset - self.place.offset + self.head


UNARCHIVED = LiveFileStart(LOG_START, 0)


def read_live_start(live: IO[bytes], path: Path) -> LiveFileStart:
    """Where an opened live file begins, which is left at its beginning; ArchiveDamaged where its first line
    does not say it."""
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
            f"log file {path}: its first line does not say where in the log it begins; {RESTORE_ADVICE}"
        ) from None
    if head.form != ARCHIVE_FORMAT:
        raise ArchiveDamaged(f"log file {path}: is of form {head.form}; allowed is {ARCHIVE_FORMAT}")
    return LiveFileStart(head.archived, len(line))


def live_file_header(place: LogPosition) -> bytes:
    """The first line of a live file that begins there."""
    return LogFileHeader(archived=place, form=ARCHIVE_FORMAT).model_dump_json().encode() + b"\n"


class ArchivedSegments:
    """The stretches of which a manifest tells, and which of their frames has which byte."""

    def __init__(self, folder: Path, segments: Sequence[ArchivedSegment]) -> None:
        self.folder = folder
        self.segments = tuple(segments)
        self._starts: list[int] = []
        self._frames: list[tuple[Path, int, CompressedFrame]] = []
        """File, the frame's byte in it, and the frame, of every one."""
        for segment in segments:
            offset, at = segment.start, 0
            for frame in segment.frames:
                self._starts.append(offset)
                self._frames.append((folder / segment.file, at, frame))
                offset, at = offset + frame.plain, at + frame.size

    @property
    def end(self) -> int:
        """The byte behind the last one."""
        return self.segments[-1].end.offset if self.segments else 0

    def up_to(self, offset: int) -> "ArchivedSegments":
        """Those that lie before this byte."""
        return ArchivedSegments(self.folder, [one for one in self.segments if one.end.offset <= offset])

    def piece(self, offset: int) -> tuple[int, bytes]:
        """(the byte at which it begins, the frame that has this one); ArchiveDamaged names what cannot be
        read."""
        if not self.segments:
            raise ArchiveDamaged(f"log file {self.folder / MANIFEST}: is missing; {RESTORE_ADVICE}")
        if not offset < self.end:
            raise ArchiveDamaged(
                f"log file {self.folder / MANIFEST}: tells of no stretch with byte {offset}; {RESTORE_ADVICE}"
            )
        number = bisect_right(self._starts, offset) - 1
        path, at, frame = self._frames[number]
        return self._starts[number], _decompressed_frame(path, at, frame)


def read_segments(folder: Path) -> ArchivedSegments:
    """Those of an archive; none where there is none. ArchiveDamaged where its manifest cannot be read."""
    path = folder / MANIFEST
    try:
        found = path.stat()
        return _read_manifest(folder, found.st_ino, found.st_mtime_ns, found.st_size)
    except FileNotFoundError:
        return ArchivedSegments(folder, ())
    except OSError as error:
        raise file_error(path, error) from None


@lru_cache(maxsize=64)
def _read_manifest(folder: Path, _inode: int, _mtime_ns: int, size: int) -> ArchivedSegments:
    path = folder / MANIFEST
    damaged = ArchiveDamaged(f"log file {path}: is not as it was written; {RESTORE_ADVICE}")
    if size > MANIFEST_MAX:
        raise damaged
    try:
        text = path.read_bytes()
        form = orjson.loads(text)["form"]
        if form != ARCHIVE_FORMAT:
            raise ArchiveDamaged(f"log file {path}: is of form {form!r}; allowed is {ARCHIVE_FORMAT}")
        found = ArchiveManifest.model_validate_json(text)
    except (ValueError, TypeError, KeyError):
        raise damaged from None
    if not all(map(_sizes_match, found.segments)) or not _are_contiguous(found.segments):
        raise damaged
    return ArchivedSegments(folder, found.segments)


def _sizes_match(segment: ArchivedSegment) -> bool:
    plain, size = sum(one.plain for one in segment.frames), sum(one.size for one in segment.frames)
    return plain == segment.end.offset - segment.start > 0 and size == segment.size


def _are_contiguous(segments: Sequence[ArchivedSegment]) -> bool:
    if not segments:
        return True
    return segments[0].start == 0 and all(one.end.offset == next_.start for one, next_ in pairwise(segments))


@lru_cache(maxsize=FRAMES_CACHED)
def _decompressed_frame(path: Path, at: int, frame: CompressedFrame) -> bytes:
    try:
        with open_regular(path) as file:
            file.seek(at)
            packed = file.read(frame.size)
    except FileNotFoundError:
        raise ArchiveDamaged(f"log file {path}: is missing; {RESTORE_ADVICE}") from None
    except OSError as error:
        refusal = file_error(path, error)
        raise refusal if isinstance(refusal, OutOfFileDescriptors) else ArchiveDamaged(str(refusal)) from None
    if sha256(packed).hexdigest() != frame.sha256:
        raise ArchiveDamaged(
            f"log file {path}: is not as it was written: bytes {at} to {at + frame.size} have another "
            f"digest; {RESTORE_ADVICE}"
        )
    try:
        plain = decompress_bounded(packed, frame.plain)
    except zstandard.ZstdError as error:
        raise ArchiveDamaged(f"log file {path}: damaged compressed data: {error}; {RESTORE_ADVICE}") from None
    if len(plain) != frame.plain:
        raise ArchiveDamaged(f"log file {path}: is not of the length that {MANIFEST} says; {RESTORE_ADVICE}")
    return plain


class ArchivedStream(io.RawIOBase):
    """Stretches and live file as one stream, sought by offsets of the log. What cannot be read raises
    ArchiveDamaged when it is come to; no other file of the archive is looked at than those that are read."""

    def __init__(self, live: IO[bytes], live_start: LiveFileStart, folder: Path) -> None:
        self._live = live
        self._live_start = live_start
        self._folder = folder
        self._stretches: ArchivedSegments | None = None
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
        """What one frame, or the live file, has from here on, as far as there is room for it."""
        wanted = memoryview(buffer)
        if self._at >= self._live_start.place.offset:
            read = os.preadv(self._live.fileno(), [wanted], self._live_start.file_offset(self._at))
        else:
            if self._stretches is None:
                self._stretches = read_segments(self._folder)
            start, piece = self._stretches.piece(self._at)
            # No further than the file goes on: an unfinished archive may hold more.
            most = min(start + len(piece), self._live_start.place.offset) - self._at
            read = min(len(wanted), most)
            wanted[:read] = memoryview(piece)[self._at - start : self._at - start + read]
        self._at += read
        return read

    def close(self) -> None:
        self._live.close()
        super().close()


def segment_ends_after(folder: Path, live_start: LiveFileStart, offset: int) -> Iterator[LogPosition]:
    """Where stretches end behind a byte, up to where the live file begins, as far as that is known."""
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
    """Position → line of the messages with which the fabrics in the stretches began; ArchiveDamaged where the
    manifest cannot be read."""
    segments = read_segments(folder).up_to(live_start.place.offset).segments
    return {kept.position: kept.line.encode() for one in segments for kept in one.commissioned}
