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

from schemas.archive import FORM, ArchiveManifest, Frame, LiveHead, LogPlace, Stretch
from shared.basics.errors import ArchiveDamaged, OutOfFiles
from shared.storage.log.lines import failure
from shared.storage.packed import unpacked
from shared.storage.whole import open_regular

MANIFEST = "manifest.json"
HEAD = b'{"archived":'
"""How the first line of a file begins that goes on behind an archive."""
HEAD_MAX = 64 << 20
MANIFEST_MAX = 1 << 30
BUFFER = 1 << 16
FRAMES_KEPT = 8
"""Frames that are kept plain, of a megabyte each: who looks around looks at the same ones."""
BACKUP = "restore it from a backup"

BEGINNING = LogPlace(position=0, offset=0, at_us=0, seqs={})


@dataclass(frozen=True, slots=True)
class Begun:
    """Where in the log a live file begins, and how many of its bytes come before that."""

    place: LogPlace
    head: int

    def in_file(self, offset: int) -> int:
        """The byte of the file at which this byte of the log stands."""
        return offset - self.place.offset + self.head


FROM_START = Begun(BEGINNING, 0)


def begun_in(live: IO[bytes], path: Path) -> Begun:
    """Where an opened live file begins, which is left at its beginning; ArchiveDamaged where its first line
    does not say it."""
    live.seek(0)
    if live.read(len(HEAD)) != HEAD:
        live.seek(0)
        return FROM_START
    live.seek(0)
    line = live.readline(HEAD_MAX)
    live.seek(0)
    try:
        head = LiveHead.model_validate_json(line)
    except ValidationError:
        raise ArchiveDamaged(
            f"log file {path}: its first line does not say where in the log it begins; {BACKUP}"
        ) from None
    if head.form != FORM:
        raise ArchiveDamaged(f"log file {path}: is of form {head.form}; allowed is {FORM}")
    return Begun(head.archived, len(line))


def head_of(place: LogPlace) -> bytes:
    """The first line of a live file that begins there."""
    return LiveHead(archived=place, form=FORM).model_dump_json().encode() + b"\n"


class Stretches:
    """The stretches of which a manifest tells, and which of their frames has which byte."""

    def __init__(self, folder: Path, stretches: Sequence[Stretch]) -> None:
        self.folder = folder
        self.stretches = tuple(stretches)
        self._starts: list[int] = []
        self._frames: list[tuple[Path, int, Frame]] = []
        """File, the frame's byte in it, and the frame, of every one."""
        for stretch in stretches:
            offset, at = stretch.start, 0
            for frame in stretch.frames:
                self._starts.append(offset)
                self._frames.append((folder / stretch.file, at, frame))
                offset, at = offset + frame.plain, at + frame.size

    @property
    def end(self) -> int:
        """The byte behind the last one."""
        return self.stretches[-1].end.offset if self.stretches else 0

    def up_to(self, offset: int) -> "Stretches":
        """Those that lie before this byte."""
        return Stretches(self.folder, [one for one in self.stretches if one.end.offset <= offset])

    def piece(self, offset: int) -> tuple[int, bytes]:
        """(the byte at which it begins, the frame that has this one); ArchiveDamaged names what cannot be
        read."""
        if not self.stretches:
            raise ArchiveDamaged(f"log file {self.folder / MANIFEST}: is missing; {BACKUP}")
        if not offset < self.end:
            raise ArchiveDamaged(
                f"log file {self.folder / MANIFEST}: tells of no stretch with byte {offset}; {BACKUP}"
            )
        number = bisect_right(self._starts, offset) - 1
        path, at, frame = self._frames[number]
        return self._starts[number], _plain(path, at, frame)


def read_stretches(folder: Path) -> Stretches:
    """Those of an archive; none where there is none. ArchiveDamaged where its manifest cannot be read."""
    path = folder / MANIFEST
    try:
        found = path.stat()
        return _stretches(folder, found.st_ino, found.st_mtime_ns, found.st_size)
    except FileNotFoundError:
        return Stretches(folder, ())
    except OSError as error:
        raise failure(path, error) from None


@lru_cache(maxsize=64)
def _stretches(folder: Path, _inode: int, _mtime_ns: int, size: int) -> Stretches:
    path = folder / MANIFEST
    damaged = ArchiveDamaged(f"log file {path}: is not as it was written; {BACKUP}")
    if size > MANIFEST_MAX:
        raise damaged
    try:
        text = path.read_bytes()
        form = orjson.loads(text)["form"]
        if form != FORM:
            raise ArchiveDamaged(f"log file {path}: is of form {form!r}; allowed is {FORM}")
        found = ArchiveManifest.model_validate_json(text)
    except (ValueError, TypeError, KeyError):
        raise damaged from None
    if not all(map(_adds_up, found.stretches)) or not _follow(found.stretches):
        raise damaged
    return Stretches(folder, found.stretches)


def _adds_up(stretch: Stretch) -> bool:
    plain, size = sum(one.plain for one in stretch.frames), sum(one.size for one in stretch.frames)
    return plain == stretch.end.offset - stretch.start > 0 and size == stretch.size


def _follow(stretches: Sequence[Stretch]) -> bool:
    if not stretches:
        return True
    return stretches[0].start == 0 and all(
        one.end.offset == next_.start for one, next_ in pairwise(stretches)
    )


@lru_cache(maxsize=FRAMES_KEPT)
def _plain(path: Path, at: int, frame: Frame) -> bytes:
    try:
        with open_regular(path) as file:
            file.seek(at)
            packed = file.read(frame.size)
    except FileNotFoundError:
        raise ArchiveDamaged(f"log file {path}: is missing; {BACKUP}") from None
    except OSError as error:
        refusal = failure(path, error)
        raise refusal if isinstance(refusal, OutOfFiles) else ArchiveDamaged(str(refusal)) from None
    if sha256(packed).hexdigest() != frame.sha256:
        raise ArchiveDamaged(
            f"log file {path}: is not as it was written: bytes {at} to {at + frame.size} have another "
            f"digest; {BACKUP}"
        )
    try:
        plain = unpacked(packed, frame.plain)
    except zstandard.ZstdError as error:
        raise ArchiveDamaged(f"log file {path}: damaged compressed data: {error}; {BACKUP}") from None
    if len(plain) != frame.plain:
        raise ArchiveDamaged(f"log file {path}: is not of the length that {MANIFEST} says; {BACKUP}")
    return plain


class ArchivedStream(io.RawIOBase):
    """Stretches and live file as one stream, sought by offsets of the log. What cannot be read raises
    ArchiveDamaged when it is come to; no other file of the archive is looked at than those that are read."""

    def __init__(self, live: IO[bytes], begun: Begun, folder: Path) -> None:
        self._live = live
        self._begun = begun
        self._folder = folder
        self._stretches: Stretches | None = None
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
            place = self._begun.place.offset
            offset += os.fstat(self._live.fileno()).st_size - self._begun.head + place
        self._at = max(0, offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """What one frame, or the live file, has from here on, as far as there is room for it."""
        wanted = memoryview(buffer)
        if self._at >= self._begun.place.offset:
            read = os.preadv(self._live.fileno(), [wanted], self._begun.in_file(self._at))
        else:
            if self._stretches is None:
                self._stretches = read_stretches(self._folder)
            start, piece = self._stretches.piece(self._at)
            # No further than the file goes on: an unfinished archive may hold more.
            most = min(start + len(piece), self._begun.place.offset) - self._at
            read = min(len(wanted), most)
            wanted[:read] = memoryview(piece)[self._at - start : self._at - start + read]
        self._at += read
        return read

    def close(self) -> None:
        self._live.close()
        super().close()


def ends_behind(folder: Path, begun: Begun, offset: int) -> Iterator[LogPlace]:
    """Where stretches end behind a byte, up to where the live file begins, as far as that is known."""
    if begun.place.offset <= offset:
        return
    try:
        stretches = read_stretches(folder).stretches
    except ArchiveDamaged:
        stretches = ()
    for stretch in stretches:
        if offset < stretch.end.offset < begun.place.offset:
            yield stretch.end
    yield begun.place


def beginnings(folder: Path, begun: Begun) -> dict[int, bytes]:
    """Position → line of the messages with which the fabrics in the stretches began; ArchiveDamaged where the
    manifest cannot be read."""
    stretches = read_stretches(folder).up_to(begun.place.offset).stretches
    return {kept.position: kept.line.encode() for one in stretches for kept in one.commissioned}
