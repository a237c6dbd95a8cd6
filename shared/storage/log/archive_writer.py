"""Moves the older part of a log into its archive: compress a segment, then shorten the live file.

The order of writes is: the segment, the manifest that lists it, the rest of the log as a new file with a
header, and the rename of that file to the log's name. Each is complete and on the disk before the next. Until
the rename, readers use the longer live file and ignore what the archive has beyond its start. So a kill
leaves the log unchanged, and the next run overwrites the leftovers.
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
from typing import IO

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
from shared.storage.files.own_files import open_own
from shared.storage.log.archive_reader import (
    MANIFEST,
    ArchivedSegments,
    LiveFileStart,
    live_file_header,
    read_segments,
)
from shared.storage.log.log_bytes import LogBytes
from shared.storage.log.log_lines import envelope_fields

FRAME_BYTES = 1 << 20
"""Bytes of the log that are compressed into one frame."""
COMPRESSION_LEVEL = 9
"""High, because each segment is compressed only once."""
ARCHIVE_WORD = "archive"


@dataclass(frozen=True, slots=True)
class ArchivableSegment:
    """A segment that can be archived: the live file from its start up to `end`, with the commissionings in
    it."""

    start: LogPosition
    end: LogPosition
    commissioned: tuple[CommissioningLine, ...]


@dataclass(slots=True)
class _Scan:
    """A reader's place in a log, and the last root message that it passed."""

    position: int
    offset: int
    seqs: dict[str, int]
    root: LogPosition | None = None
    since: dict[str, int] = field(default_factory=dict)
    """The last seqs of the messages after that root."""
    commissioned: list[CommissioningLine] = field(default_factory=list)

    def take(self, line: bytes, before_us: int) -> bool:
        """Take the next line; False if it is at or after the time limit."""
        fields = envelope_fields(line) if line.endswith(b"\n") else None
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


def find_archivable(log: LogBytes, before_us: int) -> ArchivableSegment | None:
    """The segment up to the last root message before which every message is earlier than this simulated time.
    That root stays in the live file. None if the segment would be empty; OperationFailed if the log cannot be
    read."""
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
        start, end, tuple(line for line in scan.commissioned if line.position < end.position)
    )


@contextlib.contextmanager
def archive_lock(log: LogBytes) -> Iterator[None]:
    """Prevent other processes from archiving logs of this folder; OperationFailed while one does."""
    folder = log.path.parent
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise file_error(folder, error, "logs") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperationFailed(f"logs {folder}: another process is archiving them") from None
        yield
    finally:
        os.close(descriptor)


def write_segment(log: LogBytes, archivable: ArchivableSegment) -> ArchivedSegment:
    """Write a segment and list it in the manifest; readers of the log notice nothing. OperationFailed if that
    fails; the next run overwrites what is left."""
    folder = log.archive
    known = read_segments(folder).up_to(archivable.start.offset)
    if known.end != archivable.start.offset:
        raise OperationFailed(
            f"{ARCHIVE_WORD} {folder}: has no segments up to byte {archivable.start.offset}, where "
            f"{log.path} starts; restore it from a backup"
        )
    _remove_leftovers(folder, [segment.file for segment in known.segments])
    path = folder / f"{archivable.start.offset:015d}-{archivable.end.offset:015d}.jsonl.zst"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        segment, digest = _compress_segment(log, archivable, path)
        _verify_segment(ArchivedSegments(folder, [segment]), digest)
        manifest = ArchiveManifest(format=ARCHIVE_FORMAT, segments=(*known.segments, segment))
        with _durable_file(folder / MANIFEST) as file:
            file.write(manifest.model_dump_json().encode() + b"\n")
    except OSError as error:
        raise file_error(path, error, ARCHIVE_WORD) from None
    return segment


def _remove_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove segments that a killed process left. They are not part of the log; the live file contains their
    messages."""
    kept = {MANIFEST, *names}
    with contextlib.suppress(OSError):
        for path in [*folder.glob(f"*{PART_SUFFIX}"), *folder.glob("*.jsonl.zst")]:
            if path.name not in kept:
                path.unlink(missing_ok=True)


def _compress_segment(
    log: LogBytes, archivable: ArchivableSegment, path: Path
) -> tuple[ArchivedSegment, str]:
    """The segment, and the digest of its uncompressed content."""
    frames: list[CompressedFrame] = []
    digest, plain, packer = sha256(), sha256(), zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
    left = archivable.end.offset - archivable.start.offset
    with log.opened(archivable.start.offset) as stream, _durable_file(path) as file:
        while left:
            piece = stream.read(min(FRAME_BYTES, left))
            if not piece:
                raise OperationFailed(f"log file {log.path}: became shorter during the read")
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
        start=archivable.start.offset,
        end=archivable.end,
        size=sum(frame.size for frame in frames),
        sha256=digest.hexdigest(),
        frames=tuple(frames),
        commissioned=archivable.commissioned,
    )
    return segment, plain.hexdigest()


def _verify_segment(written: ArchivedSegments, digest: str) -> None:
    """Read the segment back, because its source is about to be removed."""
    read, (segment,) = sha256(), written.segments
    offset = segment.start
    while offset < written.end:
        _, piece = written.piece(offset)
        read.update(piece)
        offset += len(piece)
    if read.hexdigest() != digest:
        raise OperationFailed(
            f"{ARCHIVE_WORD} {written.folder}: {segment.file} differs from the log; nothing was archived"
        )


@contextlib.contextmanager
def _durable_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name once it is complete and on the disk."""
    part = path.with_name(f"{path.name}{PART_SUFFIX}")
    try:
        with open_own(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class TruncatedLog:
    """The rest of a log from a place on, as a new file next to it. Leaving the block without `replace_log`
    removes it.

    `replace_log` adds what was appended to the log meanwhile; nothing may append during that call.
    OperationFailed if the file cannot be written; the log is then unchanged.
    """

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
            # O_APPEND, as for the log: truncating after a failed write then leaves no hole.
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
        """Give the new file the log's name; returns the file to append to from now on."""
        with self._lock:
            if self._file is None:
                raise OperationFailed(f"log file {self._log.path}: the shorter copy was already removed")
            try:
                self._copy_to(self._file)
                self._part.replace(self._log.path)
            except OSError as error:
                raise file_error(self._part, error) from None
            taken, self._file = self._file, None
        with contextlib.suppress(OSError):  # both files contain the same log: either may survive a power loss
            _sync(self._part.parent)
        return taken

    def close(self) -> None:
        """Remove the file, unless it has replaced the log."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
                with contextlib.suppress(OSError):
                    self._part.unlink(missing_ok=True)

    def _copy_to(self, file: FileIO) -> None:
        """Copy what the log has beyond the copied part, and sync it to the disk."""
        with self._log.opened(self._copied) as stream:
            while piece := stream.read(FRAME_BYTES):
                _write(file, piece)
                self._copied += len(piece)
        os.fsync(file.fileno())


def _write(file: FileIO, data: bytes) -> None:
    """Write all of it; one system call may write only a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def truncated_path(log: LogBytes) -> Path:
    """Where the rest of a log is written before it replaces the log. A killed process leaves it there."""
    return log.path.with_name(f"{log.path.name}{PART_SUFFIX}")
