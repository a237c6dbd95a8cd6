"""`lightwave archive`: move old segments of an embedded twin's logs, compressed, to a folder next to them.

The command compresses in its own process. A running twin only switches to a shorter log file, between two
steps of its loop.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ops.client.answers import CLOCK
from ops.client.http_client import Client
from ops.twin.backups.create import client_of_running
from ops.twin.data_folder import DataFolder, FolderInUse, TwinIdentity
from schemas.files.log_archive import ArchivedSegment, ArchiveResult, LogPosition
from schemas.files.operations_log import LogArchived
from shared.basics.errors import ArchiveDamaged, InvalidInput, NotFound, OperationFailed
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.embedded.twin_loop import EmbeddedTwin
from shared.runtimes.operations_log import OperationsLog, local_person, new_operation
from shared.storage.log.archive_reader import read_segments
from shared.storage.log.archive_writer import (
    ArchivableSegment,
    TruncatedLog,
    archive_lock,
    find_archivable,
    write_segment,
)
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.log.log_bytes import LogBytes, site_log
from shared.storage.log.read_only_log import ReadOnlyLog

log = logging.getLogger("lightwave.up")

Shorten = Callable[[str, LogBytes, LogPosition], None]
"""Truncates the log of a site to begin at a place; the archive has everything before it."""


@dataclass(frozen=True, slots=True)
class ArchivedSite:
    """The part of a site's log that was archived: its messages, `plain` bytes before and `size` bytes after
    compression, and its file. If nothing was archived, these are 0 and None. `begins` is the position at
    which the log's own file begins now."""

    site: str
    begins: int
    messages: int = 0
    plain: int = 0
    size: int = 0
    file: str | None = None


def run_archive(data: Path, keep_us: int, client: Client | None = None) -> list[ArchivedSite]:
    """Archive the messages that are older than `keep_us` microseconds of simulated time.

    `client` reaches a running twin; the default is the URL in the folder. Raises NotFound if there is no
    twin. Raises OperationFailed if a file cannot be written; the logs are unchanged then.
    """
    folder = DataFolder(data)
    identity = folder.identity() if data.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {data}: holds no twin")
    try:
        folder.hold()
    except FolderInUse as in_use:
        client = client_of_running(folder, client, in_use)
        before_us = client.resource(CLOCK, "now_us").now_us - keep_us
        return _archived(folder, identity, before_us, _shorten_running(client))
    try:
        shorten = partial(_shorten_stopped, OperationsFile(folder.operations))
        return _archived(folder, identity, _now_us(folder, identity) - keep_us, shorten)
    finally:
        folder.release()


def _now_us(folder: DataFolder, identity: TwinIdentity) -> int:
    """The time of a stopped twin, whose clock may have been saved before its last messages."""
    logs = [ReadOnlyLog(site_log(folder.logs, plan.site)) for plan in identity.sites]
    return max([folder.stored_clock().now_us, *(log.end_us for log in logs)])


def _archived(
    folder: DataFolder, identity: TwinIdentity, before_us: int, shorten: Shorten
) -> list[ArchivedSite]:
    return [_site(plan.site, site_log(folder.logs, plan.site), before_us, shorten) for plan in identity.sites]


def _site(site: str, content: LogBytes, before_us: int, shorten: Shorten) -> ArchivedSite:
    with archive_lock(content):
        found = find_archivable(content, before_us)
        if found is None:
            return ArchivedSite(site, content.live_start().place.position)
        segment = write_segment(content, found)
        shorten(site, content, found.end)
        return _archived_row(site, content, found, segment)


def _archived_row(
    site: str, content: LogBytes, found: ArchivableSegment, segment: ArchivedSegment
) -> ArchivedSite:
    return ArchivedSite(
        site=site,
        begins=found.end.position,
        messages=found.end.position - found.start.position,
        plain=found.end.offset - found.start.offset,
        size=segment.size,
        file=str(content.archive / segment.file),
    )


def _shorten_stopped(operations: OperationsLog, site: str, content: LogBytes, place: LogPosition) -> None:
    with TruncatedLog(content, place) as shorter:
        shorter.replace_log().close()
    _note(operations, site, place, local_person())


def _note(operations: OperationsLog, site: str, place: LogPosition, person: str) -> None:
    operations.append(new_operation(LogArchived(site=site, position=place.position), person))


def _shorten_running(client: Client) -> Shorten:
    def shorten(site: str, _content: LogBytes, place: LogPosition) -> None:
        client.post("/v1/archive", *ArchiveResult.model_fields, body={"site": site, "offset": place.offset})

    return shorten


@contextlib.contextmanager
def unless_archive_lost() -> Iterator[None]:
    """Tolerate that the first message of a fabric cannot be read: its creation was interrupted, or the
    archive is damaged. The twin can run without it."""
    try:
        yield
    except KeyError:
        pass
    except ArchiveDamaged as error:
        log.warning("%s", error)


class LogArchiver:
    """Switches the logs of a running twin to shorter files, one at a time, and records it on the operations
    log."""

    def __init__(self, logs: IndexedLogs, twin: EmbeddedTwin, operations: OperationsLog) -> None:
        self._logs = logs
        self._twin = twin
        self._operations = operations
        self._lock = threading.Lock()

    def take(self, site: str, offset: int, person: str) -> ArchiveResult:
        """Truncate the log of a site to begin at byte `offset`.

        Raises NotFound for an unknown site, InvalidInput if its archive does not end there. Raises
        OperationFailed if the archive is of another log, if the rest cannot be written, or if the loop does
        not become quiet; the log is unchanged then.
        """
        if site not in self._logs.sites():
            raise NotFound(f"site {site}: no such site")
        log = self._logs.open(site)
        with self._lock:
            if log.begins().offset != offset:
                place = self._place(site, offset)
                with TruncatedLog(log.content, place) as shorter:
                    self._twin.run_when_quiet(lambda: log.switch_to(shorter))
                _note(self._operations, site, place, person)
            begins = log.begins()
        return ArchiveResult(site=site, position=begins.position, offset=begins.offset)

    def _place(self, site: str, offset: int) -> LogPosition:
        log = self._logs.open(site)
        segments = read_segments(log.content.archive).segments
        ends = [segment.end for segment in segments if segment.start == log.begins().offset]
        if not ends or ends[0].offset != offset:
            raise InvalidInput(f"offset {offset}: the archive of {site} has no segment that ends there")
        if not ends[0].position < log.end or log.place_at(ends[0].position) != ends[0]:
            raise OperationFailed(
                f"archive {log.content.archive}: its last segment belongs to another log than {site}"
            )
        return ends[0]
