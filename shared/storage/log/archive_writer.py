"""Puts a closed stretch of a log into its archive: compressed first, then left out of the file that is
appended to.

In this order, and each whole and on the disk before the next: the stretch, the manifest that tells of it, the
rest of the log as a new file that says where it begins, and that file under the log's name. Up to the last
step the log is read from the longer file, and what is in the archive beyond where that begins is nobody's. So
a kill leaves the log as it was, and what it left behind is written anew by the next one.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import IO, Any

import orjson
import zstandard

from schemas.files.log_archive import (
    ARCHIVE_FORMAT,
    ArchivedSegment,
    ArchiveManifest,
    CommissioningLine,
    CompressedFrame,
    LogPosition,
)
from schemas.messages.sequencer import FabricCommissioned
from shared.basics.errors import OperationFailed
from shared.storage.files.atomic_files import PART_SUFFIX
from shared.storage.files.file_errors import file_error
from shared.storage.log.archive_reader import (
    MANIFEST,
    ArchivedSegments,
    LiveFileStart,
    live_file_header,
    read_segments,
)
from shared.storage.log.log_bytes import LogBytes

FRAME_BYTES = 1 << 20
"""Bytes of a log that are compressed to a frame."""
COMPRESSION_LEVEL = 9
"""Of the compression, which is done once."""
ARCHIVE_WORD = "archive"


@dataclass(frozen=True, slots=True)
class ArchivableSegment:
    """What a stretch may be made of: all from the beginning of the live file up to `end`, and the fabrics
    that began there."""

    start: LogPosition
    end: LogPosition
    commissioned: tuple[CommissioningLine, ...]


@dataclass(slots=True)
class _Scan:
    """Where a reader of a log stands, and the last root that it came by."""

    position: int
    offset: int
    seqs: dict[str, int]
    root: LogPosition | None = None
    since: dict[str, int] = field(default_factory=dict)
    """The last seqs of what stands behind that root."""
    commissioned: list[CommissioningLine] = field(default_factory=list)

    def take(self, line: bytes, before_us: int) -> bool:
        """The next line; False where it is no longer of before."""
        fields = _fields(line)
        if fields is not None:
            if fields.get("cause", "") is None:
                self._root(fields["at_us"])
            if fields["at_us"] >= before_us:
                return False
            source = fields["source"]
            self.since[source] = max(fields["seq"], self.since.get(source, -1))
            if fields.get("type") == FabricCommissioned.__name__:
                self.commissioned.append(
                    CommissioningLine(position=self.position, line=line.decode().rstrip("\n"))
                )
        self.position += 1
        self.offset += len(line)
        return True

    def _root(self, at_us: int) -> None:
        for source, seq in self.since.items():
            self.seqs[source] = max(seq, self.seqs.get(source, -1))
        self.since = {}
        self.root = LogPosition(position=self.position, offset=self.offset, at_us=at_us, seqs={**self.seqs})


def _fields(line: bytes) -> dict[str, Any] | None:
    """The envelope's fields as they stand; None where the line is no message, or not whole."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    wanted = {"id": str, "source": str, "seq": int, "at_us": int}
    is_one = isinstance(fields, dict) and line.endswith(b"\n")
    return fields if is_one and all(isinstance(fields.get(k), t) for k, t in wanted.items()) else None


def find_archivable(log: LogBytes, before_us: int) -> ArchivableSegment | None:
    """What the live file holds up to the last root message before which all is of before this simulated time,
    and which stays in it; None where that is nothing. OperationFailed where it cannot be read."""
    try:
        start = log.live_start().place
        scan = _Scan(start.position, start.offset, dict(start.seqs))
        with log.opened(start.offset) as stream:
            for line in stream:
                if not scan.take(line, before_us):
                    break
    except OSError as error:
        raise file_error(log.path, error) from None
    end = scan.root
    if end is None or end.offset == start.offset:
        return None
    return ArchivableSegment(
        start, end, tuple(one for one in scan.commissioned if one.position < end.position)
    )


@contextlib.contextmanager
def archive_lock(log: LogBytes) -> Iterator[None]:
    """Keeps every other process from archiving a log of this folder; OperationFailed while one does."""
    folder = log.path.parent
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise file_error(folder, error, "logs") from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperationFailed(f"logs {folder}: are being archived by another process") from None
        yield
    finally:
        os.close(held)


def write_segment(log: LogBytes, found: ArchivableSegment) -> ArchivedSegment:
    """Write a stretch, and tell of it in the manifest; the log is read as before. OperationFailed where that
    is impossible; then nothing but what the next one writes anew is left."""
    folder = log.archive
    known = read_segments(folder).up_to(found.start.offset)
    if known.end != found.start.offset:
        raise OperationFailed(
            f"{ARCHIVE_WORD} {folder}: has no stretches up to byte "
            f"{found.start.offset}, where {log.path} begins; "
            "restore it from a backup"
        )
    _remove_leftovers(folder, [segment.file for segment in known.segments])
    path = folder / f"{found.start.offset:015d}-{found.end.offset:015d}.jsonl.zst"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        segment, digest = _compress_segment(log, found, path)
        _verify_segment(ArchivedSegments(folder, [segment]), digest)
        manifest = ArchiveManifest(form=ARCHIVE_FORMAT, segments=(*known.segments, segment))
        with _durable_file(folder / MANIFEST) as file:
            file.write(manifest.model_dump_json().encode() + b"\n")
    except OSError as error:
        raise file_error(path, error, ARCHIVE_WORD) from None
    return segment


def _remove_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove what somebody left behind who was killed: stretches that are no part of the log, for the live
    file has what they have."""
    kept = {MANIFEST, *names}
    with contextlib.suppress(OSError):
        for path in [*folder.glob(f"*{PART_SUFFIX}"), *folder.glob("*.jsonl.zst")]:
            if path.name not in kept:
                path.unlink(missing_ok=True)


def _compress_segment(log: LogBytes, found: ArchivableSegment, path: Path) -> tuple[ArchivedSegment, str]:
    """The stretch, and the digest of what it was made of."""
    frames: list[CompressedFrame] = []
    digest, plain, packer = sha256(), sha256(), zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
    left = found.end.offset - found.start.offset
    with log.opened(found.start.offset) as stream, _durable_file(path) as file:
        while left:
            piece = stream.read(min(FRAME_BYTES, left))
            if not piece:
                raise OperationFailed(f"log file {log.path}: became shorter while it was read")
            packed = packer.compress(piece)
            file.write(packed)
            digest.update(packed)
            plain.update(piece)
            frames.append(
                CompressedFrame(plain=len(piece), size=len(packed), sha256=sha256(packed).hexdigest())
            )
            left -= len(piece)
    segment = ArchivedSegment(
        file=path.name,
        start=found.start.offset,
        end=found.end,
        size=sum(frame.size for frame in frames),
        sha256=digest.hexdigest(),
        frames=tuple(frames),
        commissioned=found.commissioned,
    )
    return segment, plain.hexdigest()


def _verify_segment(written: ArchivedSegments, digest: str) -> None:
    """Read it once more: what it was made of is about to go."""
    read, (segment,) = sha256(), written.segments
    offset = segment.start
    while offset < written.end:
        _, piece = written.piece(offset)
        read.update(piece)
        offset += len(piece)
    if read.hexdigest() != digest:
        raise OperationFailed(
            f"{ARCHIVE_WORD} {written.folder}: {segment.file} is not "
            "what the log has there; nothing was archived"
        )


@contextlib.contextmanager
def _durable_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name once it is whole and on the disk."""
    part = path.with_name(f"{path.name}{PART_SUFFIX}")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class TruncatedLog:
    """The rest of a log from a place on, as a new file beside it; leaving the block without `take_name`
    removes it. What is appended to the log meanwhile is added as it takes the log's name: nobody may append
    then. OperationFailed where it cannot be written, and then the log is as it was."""

    def __init__(self, log: LogBytes, place: LogPosition) -> None:
        head = live_file_header(place)
        self.live_start = LiveFileStart(place, len(head))
        self._log = log
        self._part = truncated_path(log)
        self._lock = threading.Lock()
        self._copied = place.offset
        self._file: FileIO | None = None
        try:
            self._part.unlink(missing_ok=True)
            # Appended to, as the log is: what is cut off after a failure leaves no hole.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
            self._file = FileIO(os.open(self._part, flags, 0o666), "ab")
            _write(self._file, head)
            self._copy_to(self._file)
        except OSError as error:
            self.close()
            raise file_error(self._part, error) from None

    def __enter__(self) -> "TruncatedLog":
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def replace_log(self) -> FileIO:
        """The file to append to, which stands under the log's name from now on."""
        with self._lock:
            if self._file is None:
                raise OperationFailed(
                    f"log file {self._log.path}: nobody waits any more for it to be shorter"
                )
            try:
                self._copy_to(self._file)
                self._part.replace(self._log.path)
            except OSError as error:
                raise file_error(self._part, error) from None
            taken, self._file = self._file, None
        with contextlib.suppress(OSError):  # both files are the same log: it does not matter which one lasts
            _sync(self._part.parent)
        return taken

    def close(self) -> None:
        """Remove it, unless it has the log's name."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
                with contextlib.suppress(OSError):
                    self._part.unlink(missing_ok=True)

    def _copy_to(self, file: FileIO) -> None:
        """What the log has beyond what was copied, and all of it to the disk."""
        with self._log.opened(self._copied) as stream:
            while piece := stream.read(FRAME_BYTES):
                _write(file, piece)
                self._copied += len(piece)
        os.fsync(file.fileno())


def _write(file: FileIO, data: bytes) -> None:
    """All of it, whatever the system takes at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def truncated_path(log: LogBytes) -> Path:
    """Where the rest of a log stands until it has the log's name; whoever is killed leaves it there."""
    return log.path.with_name(f"{log.path.name}{PART_SUFFIX}")
