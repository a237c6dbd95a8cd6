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

from schemas.archive import FORM, ArchiveManifest, Commissioning, Frame, LogPlace, Stretch
from schemas.sequencer import FabricCommissioned
from shared.basics.errors import OperationFailed
from shared.storage.log.archive import MANIFEST, Begun, Stretches, head_of, read_stretches
from shared.storage.log.lines import failure
from shared.storage.log.log_bytes import LogBytes
from shared.storage.whole import PART

FRAME = 1 << 20
"""Bytes of a log that are compressed to a frame."""
LEVEL = 9
"""Of the compression, which is done once."""
WHAT = "archive"


@dataclass(frozen=True, slots=True)
class Closed:
    """What a stretch may be made of: all from the beginning of the live file up to `end`, and the fabrics
    that began there."""

    start: LogPlace
    end: LogPlace
    commissioned: tuple[Commissioning, ...]


@dataclass(slots=True)
class _Scan:
    """Where a reader of a log stands, and the last root that it came by."""

    position: int
    offset: int
    seqs: dict[str, int]
    root: LogPlace | None = None
    since: dict[str, int] = field(default_factory=dict)
    """The last seqs of what stands behind that root."""
    commissioned: list[Commissioning] = field(default_factory=list)

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
                    Commissioning(position=self.position, line=line.decode().rstrip("\n"))
                )
        self.position += 1
        self.offset += len(line)
        return True

    def _root(self, at_us: int) -> None:
        for source, seq in self.since.items():
            self.seqs[source] = max(seq, self.seqs.get(source, -1))
        self.since = {}
        self.root = LogPlace(position=self.position, offset=self.offset, at_us=at_us, seqs={**self.seqs})


def _fields(line: bytes) -> dict[str, Any] | None:
    """The envelope's fields as they stand; None where the line is no message, or not whole."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    wanted = {"id": str, "source": str, "seq": int, "at_us": int}
    is_one = isinstance(fields, dict) and line.endswith(b"\n")
    return fields if is_one and all(isinstance(fields.get(k), t) for k, t in wanted.items()) else None


def closed(log: LogBytes, before_us: int) -> Closed | None:
    """What the live file holds up to the last root message before which all is of before this simulated time,
    and which stays in it; None where that is nothing. OperationFailed where it cannot be read."""
    try:
        start = log.begun().place
        scan = _Scan(start.position, start.offset, dict(start.seqs))
        with log.opened(start.offset) as stream:
            for line in stream:
                if not scan.take(line, before_us):
                    break
    except OSError as error:
        raise failure(log.path, error) from None
    end = scan.root
    if end is None or end.offset == start.offset:
        return None
    return Closed(start, end, tuple(one for one in scan.commissioned if one.position < end.position))


@contextlib.contextmanager
def archiving(log: LogBytes) -> Iterator[None]:
    """Keeps every other process from archiving a log of this folder; OperationFailed while one does."""
    folder = log.path.parent
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise failure(folder, error, "logs") from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperationFailed(f"logs {folder}: are being archived by another process") from None
        yield
    finally:
        os.close(held)


def compress(log: LogBytes, found: Closed) -> Stretch:
    """Write a stretch, and tell of it in the manifest; the log is read as before. OperationFailed where that
    is impossible; then nothing but what the next one writes anew is left."""
    folder = log.archive
    known = read_stretches(folder).up_to(found.start.offset)
    if known.end != found.start.offset:
        raise OperationFailed(
            f"{WHAT} {folder}: has no stretches up to byte {found.start.offset}, where {log.path} begins; "
            "restore it from a backup"
        )
    _forget(folder, [stretch.file for stretch in known.stretches])
    path = folder / f"{found.start.offset:015d}-{found.end.offset:015d}.jsonl.zst"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        stretch, digest = _written(log, found, path)
        _check(Stretches(folder, [stretch]), digest)
        manifest = ArchiveManifest(form=FORM, stretches=(*known.stretches, stretch))
        with _lasting(folder / MANIFEST) as file:
            file.write(manifest.model_dump_json().encode() + b"\n")
    except OSError as error:
        raise failure(path, error, WHAT) from None
    return stretch


def _forget(folder: Path, names: Iterable[str]) -> None:
    """Remove what somebody left behind who was killed: stretches that are no part of the log, for the live
    file has what they have."""
    kept = {MANIFEST, *names}
    with contextlib.suppress(OSError):
        for path in [*folder.glob(f"*{PART}"), *folder.glob("*.jsonl.zst")]:
            if path.name not in kept:
                path.unlink(missing_ok=True)


def _written(log: LogBytes, found: Closed, path: Path) -> tuple[Stretch, str]:
    """The stretch, and the digest of what it was made of."""
    frames: list[Frame] = []
    digest, plain, packer = sha256(), sha256(), zstandard.ZstdCompressor(level=LEVEL)
    left = found.end.offset - found.start.offset
    with log.opened(found.start.offset) as stream, _lasting(path) as file:
        while left:
            piece = stream.read(min(FRAME, left))
            if not piece:
                raise OperationFailed(f"log file {log.path}: became shorter while it was read")
            packed = packer.compress(piece)
            file.write(packed)
            digest.update(packed)
            plain.update(piece)
            frames.append(Frame(plain=len(piece), size=len(packed), sha256=sha256(packed).hexdigest()))
            left -= len(piece)
    stretch = Stretch(
        file=path.name,
        start=found.start.offset,
        end=found.end,
        size=sum(frame.size for frame in frames),
        sha256=digest.hexdigest(),
        frames=tuple(frames),
        commissioned=found.commissioned,
    )
    return stretch, plain.hexdigest()


def _check(written: Stretches, digest: str) -> None:
    """Read it once more: what it was made of is about to go."""
    read, (stretch,) = sha256(), written.stretches
    offset = stretch.start
    while offset < written.end:
        _, piece = written.piece(offset)
        read.update(piece)
        offset += len(piece)
    if read.hexdigest() != digest:
        raise OperationFailed(
            f"{WHAT} {written.folder}: {stretch.file} is not what the log has there; nothing was archived"
        )


@contextlib.contextmanager
def _lasting(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name once it is whole and on the disk."""
    part = path.with_name(f"{path.name}{PART}")
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


class ShorterLog:
    """The rest of a log from a place on, as a new file beside it; leaving the block without `take_name`
    removes it. What is appended to the log meanwhile is added as it takes the log's name: nobody may append
    then. OperationFailed where it cannot be written, and then the log is as it was."""

    def __init__(self, log: LogBytes, place: LogPlace) -> None:
        head = head_of(place)
        self.begun = Begun(place, len(head))
        self._log = log
        self._part = part_of(log)
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
            raise failure(self._part, error) from None

    def __enter__(self) -> "ShorterLog":
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def take_name(self) -> FileIO:
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
                raise failure(self._part, error) from None
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
            while piece := stream.read(FRAME):
                _write(file, piece)
                self._copied += len(piece)
        os.fsync(file.fileno())


def _write(file: FileIO, data: bytes) -> None:
    """All of it, whatever the system takes at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def part_of(log: LogBytes) -> Path:
    """Where the rest of a log stands until it has the log's name; whoever is killed leaves it there."""
    return log.path.with_name(f"{log.path.name}{PART}")
