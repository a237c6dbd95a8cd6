"""`lightwave archive`: closed stretches of an embedded twin's logs go compressed into a folder beside them.

Whoever gives the command compresses, in its own process; a twin that runs is asked only to go on in a shorter
file, which it takes up between two steps.
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
"""Lets the log of a site begin at a place, up to which its archive has it."""


@dataclass(frozen=True, slots=True)
class ArchivedSite:
    """What of a site's log went into its archive: so many messages, which were `plain` bytes and are `size`
    in this file; all of it 0 and no file where nothing did. `begins` is the message at which the log's own
    file begins now."""

    site: str
    begins: int
    messages: int = 0
    plain: int = 0
    size: int = 0
    file: str | None = None


def run_archive(data: Path, keep_us: int, client: Client | None = None) -> list[ArchivedSite]:
    """Archive what the logs of the twin in this folder hold of more than so much simulated time ago; `client`
    reaches it if it runs. NotFound where there is no twin; OperationFailed where a file cannot be written;
    what any log says is then the same as before."""
    folder = DataFolder(data)
    identity = folder.identity() if data.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {data}: holds no twin")
    try:
        folder.hold()
    except FolderInUse as held:
        client = client_of_running(folder, client, held)
        before_us = client.resource(CLOCK, "now_us").now_us - keep_us
        return _archived(folder, identity, before_us, _shorten_running(client))
    try:
        by_hand = partial(_shorten_stopped, OperationsFile(folder.operations))
        return _archived(folder, identity, _now_us(folder, identity) - keep_us, by_hand)
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
        stretch = write_segment(content, found)
        shorten(site, content, found.end)
        return _archived_row(site, content, found, stretch)


def _archived_row(
    site: str, content: LogBytes, found: ArchivableSegment, stretch: ArchivedSegment
) -> ArchivedSite:
    return ArchivedSite(
        site=site,
        begins=found.end.position,
        messages=found.end.position - found.start.position,
        plain=found.end.offset - found.start.offset,
        size=stretch.size,
        file=str(content.archive / stretch.file),
    )


def _shorten_stopped(operations: OperationsLog, site: str, content: LogBytes, place: LogPosition) -> None:
    with TruncatedLog(content, place) as shorter:
        shorter.replace_log().close()
    _note(operations, site, place, local_person())


def _note(operations: OperationsLog, site: str, place: LogPosition, who: str) -> None:
    operations.append(new_operation(LogArchived(site=site, position=place.position), who))


def _shorten_running(client: Client) -> Shorten:
    def ask(site: str, _content: LogBytes, place: LogPosition) -> None:
        client.post("/v1/archive", *ArchiveResult.model_fields, body={"site": site, "offset": place.offset})

    return ask


@contextlib.contextmanager
def unless_archive_lost() -> Iterator[None]:
    """Around the reading of how a fabric began: its making was cut off, or what tells of it in the archive is
    lost, without which a twin lives on."""
    try:
        yield
    except KeyError:
        pass
    except ArchiveDamaged as error:
        log.warning("%s", error)


class LogArchiver:
    """Of a twin that runs: lets its logs go on in shorter files, one at a time, and notes who asked."""

    def __init__(self, logs: IndexedLogs, twin: EmbeddedTwin, operations: OperationsLog) -> None:
        self._logs = logs
        self._twin = twin
        self._operations = operations
        self._lock = threading.Lock()

    def take(self, site: str, offset: int, who: str) -> ArchiveResult:
        """Let the log of a site begin at this byte. NotFound for another site, InvalidInput where its archive
        does not end there, or with another log; OperationFailed where the rest cannot be written, or the loop
        does not come to a quiet moment, and the log stays as it was."""
        if site not in self._logs.sites():
            raise NotFound(f"site {site}: no such site")
        log = self._logs.open(site)
        with self._lock:
            if log.begins().offset != offset:
                place = self._place(site, offset)
                with TruncatedLog(log.content, place) as shorter:
                    self._twin.run_when_quiet(lambda: log.switch_to(shorter))
                _note(self._operations, site, place, who)
            begins = log.begins()
        return ArchiveResult(site=site, position=begins.position, offset=begins.offset)

    def _place(self, site: str, offset: int) -> LogPosition:
        log = self._logs.open(site)
        segments = read_segments(log.content.archive).segments
        ends = [stretch.end for stretch in segments if stretch.start == log.begins().offset]
        if not ends or ends[0].offset != offset:
            raise InvalidInput(f"offset {offset}: the archive of {site} has no segment that ends there")
        if not ends[0].position < log.end or log.place_at(ends[0].position) != ends[0]:
            raise OperationFailed(
                f"archive {log.content.archive}: its last segment belongs to another log than {site}"
            )
        return ends[0]
