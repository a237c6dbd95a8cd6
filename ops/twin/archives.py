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

from ops.common.client import Client
from ops.twin.backups.taking import client_of
from ops.twin.data import DataFolder, FolderInUse, TwinIdentity
from schemas.archive import ArchiveTaken, LogPlace, Stretch
from schemas.operations import LogArchived
from shared.basics.errors import ArchiveDamaged, InvalidInput, NotFound, OperationFailed
from shared.runtimes.embedded.operations import FileOperations
from shared.runtimes.embedded.twin import EmbeddedTwin
from shared.runtimes.operations import OperationsLog, local_person, new_operation
from shared.storage.log.archive import read_stretches
from shared.storage.log.archiving import Closed, ShorterLog, archiving, closed, compress
from shared.storage.log.indexed import IndexedLogs
from shared.storage.log.log_bytes import LogBytes, log_of
from shared.storage.log.log_file import LogFile

log = logging.getLogger("lightwave.up")

Shorten = Callable[[str, LogBytes, LogPlace], None]
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
        client = client_of(folder, client, held)
        before_us = int(client.thing("/v1/clock", "now_us")["now_us"]) - keep_us
        return _archived(folder, identity, before_us, _asking(client))
    try:
        by_hand = partial(_by_hand, FileOperations(folder.operations))
        return _archived(folder, identity, _now_us(folder, identity) - keep_us, by_hand)
    finally:
        folder.release()


def _now_us(folder: DataFolder, identity: TwinIdentity) -> int:
    """Of a twin that does not run: its clock may have been kept before its last messages."""
    logs = [LogFile(log_of(folder.logs, plan.site)) for plan in identity.sites]
    return max([folder.kept_clock().now_us, *(log.end_us for log in logs)])


def _archived(
    folder: DataFolder, identity: TwinIdentity, before_us: int, shorten: Shorten
) -> list[ArchivedSite]:
    return [_site(plan.site, log_of(folder.logs, plan.site), before_us, shorten) for plan in identity.sites]


def _site(site: str, content: LogBytes, before_us: int, shorten: Shorten) -> ArchivedSite:
    with archiving(content):
        found = closed(content, before_us)
        if found is None:
            return ArchivedSite(site, content.begun().place.position)
        stretch = compress(content, found)
        shorten(site, content, found.end)
        return _told(site, content, found, stretch)


def _told(site: str, content: LogBytes, found: Closed, stretch: Stretch) -> ArchivedSite:
    return ArchivedSite(
        site=site,
        begins=found.end.position,
        messages=found.end.position - found.start.position,
        plain=found.end.offset - found.start.offset,
        size=stretch.size,
        file=str(content.archive / stretch.file),
    )


def _by_hand(operations: OperationsLog, site: str, content: LogBytes, place: LogPlace) -> None:
    with ShorterLog(content, place) as shorter:
        shorter.take_name().close()
    _note(operations, site, place, local_person())


def _note(operations: OperationsLog, site: str, place: LogPlace, who: str) -> None:
    operations.append(new_operation(LogArchived(site=site, position=place.position), who))


def _asking(client: Client) -> Shorten:
    def ask(site: str, _content: LogBytes, place: LogPlace) -> None:
        client.post("/v1/archive", *ArchiveTaken.model_fields, body={"site": site, "offset": place.offset})

    return ask


@contextlib.contextmanager
def unless_lost() -> Iterator[None]:
    """Around the reading of how a fabric began: its making was cut off, or what tells of it in the archive is
    lost, without which a twin lives on."""
    try:
        yield
    except KeyError:
        pass
    except ArchiveDamaged as error:
        log.warning("%s", error)


class LivingArchive:
    """Of a twin that runs: lets its logs go on in shorter files, one at a time, and notes who asked."""

    def __init__(self, logs: IndexedLogs, twin: EmbeddedTwin, operations: OperationsLog) -> None:
        self._logs = logs
        self._twin = twin
        self._operations = operations
        self._lock = threading.Lock()

    def take(self, site: str, offset: int, who: str) -> ArchiveTaken:
        """Let the log of a site begin at this byte. NotFound for another site, InvalidInput where its archive
        does not end there, or with another log; OperationFailed where the rest cannot be written, or the loop
        does not come to a quiet moment, and the log stays as it was."""
        if site not in self._logs.sites():
            raise NotFound(f"site {site}: no such site")
        log = self._logs.open(site)
        with self._lock:
            if log.begins().offset != offset:
                place = self._place(site, offset)
                with ShorterLog(log.content, place) as shorter:
                    self._twin.at_quiet(lambda: log.go_on_in(shorter))
                _note(self._operations, site, place, who)
            begins = log.begins()
        return ArchiveTaken(site=site, position=begins.position, offset=begins.offset)

    def _place(self, site: str, offset: int) -> LogPlace:
        log = self._logs.open(site)
        stretches = read_stretches(log.content.archive).stretches
        ends = [stretch.end for stretch in stretches if stretch.start == log.begins().offset]
        if not ends or ends[0].offset != offset:
            raise InvalidInput(f"offset {offset}: the archive of {site} has no stretch up to there")
        if not ends[0].position < log.end or log.place_at(ends[0].position) != ends[0]:
            raise OperationFailed(
                f"archive {log.content.archive}: its last stretch is of another log than {site}"
            )
        return ends[0]
