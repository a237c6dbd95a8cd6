"""The archive of a site's log: its closed segments, compressed into a folder, and the start of the live log
file.

Offsets are bytes from the first one of the log, positions count its messages, both from 0.
"""

from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.limits import COUNT_MAX

Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

ARCHIVE_FORMAT = 1
"""Format of the manifest and of the header; another number means another version of the software."""


class LogPosition(Model):
    """The start of a message: its position and offset, the simulated time so far, and the last `seq` of every
    source before it."""

    position: Count
    offset: Count
    at_us: int
    seqs: dict[str, int]


class LogFileHeader(Model):
    """The first line of a live log file that does not start at the log's first message; it is not a
    message."""

    archived: LogPosition
    format: Count


class CompressedFrame(Model):
    """A part of a segment that can be read alone: its bytes in the log, its compressed bytes, and the digest
    of the latter. Readers keep it in memory, so it is small; the archiver writes 1 MiB."""

    plain: Annotated[int, Field(ge=1, le=1 << 24)]
    size: Annotated[int, Field(ge=1, le=1 << 25)]
    sha256: Sha256


class CommissioningLine(Model):
    """A fabric's first message, with its configuration; kept next to the segment that has it."""

    position: Count
    line: str


class ArchivedSegment(Model):
    """A closed segment of a log, from the byte `start` up to `end`, in a file of the archive's folder."""

    file: Annotated[str, Field(pattern=r"^[0-9]{15,19}-[0-9]{15,19}\.jsonl\.zst$")]
    start: Count
    end: LogPosition
    size: Count
    sha256: Sha256
    frames: tuple[CompressedFrame, ...]
    commissioned: tuple[CommissioningLine, ...]


class ArchiveManifest(Model):
    """The segments of a log, in order, from its first byte and without a gap."""

    format: Count
    segments: tuple[ArchivedSegment, ...] = ()


class ArchiveRequest(Model):
    """Requires a running twin to let the live log file of a site start at this byte; the archive has all
    before it."""

    site: str
    offset: Count


class ArchiveResult(Model):
    """The message and the byte at which a site's live log file starts now."""

    site: str
    position: Count
    offset: Count
