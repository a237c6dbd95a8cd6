"""What is kept of the closed stretches of a site's log that were compressed into a folder, and where the file
that is appended to goes on behind them.

Offsets are bytes from the log's first one, positions count its messages, both from 0.
"""

from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.limits import COUNT_MAX

Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

ARCHIVE_FORMAT = 1
"""Of the manifest and of the head; those of another form are of another version."""


class LogPosition(Model):
    """Where a message begins, before which everything was said: its time, and the last `seq` of every source
    before it."""

    position: Count
    offset: Count
    at_us: int
    seqs: dict[str, int]


class LogFileHeader(Model):
    """The first line of the file that is appended to, where the log does not begin in it; no message."""

    archived: LogPosition
    form: Count


class CompressedFrame(Model):
    """A piece of a stretch that can be read alone: its bytes in the log, those that they are compressed to,
    and the digest of the latter."""

    plain: Annotated[int, Field(ge=1, le=1 << 30)]
    size: Annotated[int, Field(ge=1, le=1 << 31)]
    sha256: Sha256


class CommissioningLine(Model):
    """A fabric's first message, which says what it is: kept beside the stretch that has it."""

    position: Count
    line: str


class ArchivedSegment(Model):
    """A closed stretch of a log, from the byte `start` up to `end`, in a file of the archive's folder."""

    file: Annotated[str, Field(pattern=r"^[0-9]{15,19}-[0-9]{15,19}\.jsonl\.zst$")]
    start: Count
    end: LogPosition
    size: Count
    sha256: Sha256
    frames: tuple[CompressedFrame, ...]
    commissioned: tuple[CommissioningLine, ...]


class ArchiveManifest(Model):
    """The stretches of a log, in order, from its first byte on and without a gap."""

    form: Count
    segments: tuple[ArchivedSegment, ...] = ()


class ArchiveRequest(Model):
    """A running twin is to let the log of a site begin at this byte, up to which its folder has it as
    stretches."""

    site: str
    offset: Count


class ArchiveResult(Model):
    """At which message and byte a site's live log file begins now."""

    site: str
    position: Count
    offset: Count
