"""The log of one site of a living twin: an append-only file of JSON lines, with an index.

Memory holds, for every 512th message, its byte offset, its time, and the last `seq` of every source before
it. So a time or an id is found by a binary search and a short scan, up to the last message. Every other query
uses the index, which a thread of its own updates (`shared/storage/log/log_index.py`).
"""

import contextlib
import logging
import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from schemas.envelope import Envelope, EnvelopeFields
from schemas.files.log_archive import LogPosition
from schemas.registry import Unreadable, decode
from shared.basics.errors import ArchiveDamaged, LogMoved, OperationFailed
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_files import open_own
from shared.storage.files.own_folders import make_own_folders
from shared.storage.log.archive_reader import commissioning_lines, segment_ends_after
from shared.storage.log.archive_writer import TruncatedLog, truncated_path
from shared.storage.log.log_bytes import LogBytes, site_log
from shared.storage.log.log_index import Indexer, LogIndex, MakeSubjectsOf, Stride
from shared.storage.log.log_lines import envelope_fields
from shared.storage.log.log_reader import LineFilter, LogQuery, commissioned_with

STRIDE = 512
"""Messages between two strides."""
CATCH_UP_S = 0.5
"""Wall time between two updates of the index."""

log = logging.getLogger("lightwave.log")


class IndexedLog:
    """One site's log file. One process appends; any of its threads may read meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = LogBytes(path)
        self.strides: list[Stride] = []
        self._seqs: dict[str, int] = {}
        self._size = self._message_count = 0
        self.end = 0
        """Messages that readers may see; grows by whole `append` calls."""
        try:
            make_own_folders(path.parent)
            truncated_path(self.content).unlink(missing_ok=True)  # left by an archiver that was killed
            self._live_start = self.content.live_start()
            self._file = open_own(path, "ab", buffering=0)
            self._written = os.fstat(self._file.fileno())
            self._index = LogIndex(path.with_suffix(".sqlite"))
            self._recover()
        except OSError as error:
            raise file_error(path, error) from None
        self.indexer = Indexer(self, self._index)

    @property
    def size(self) -> int:
        """Bytes of the messages up to `end`; valid between two appends."""
        return self._size

    def begins(self) -> LogPosition:
        """Where the live file starts."""
        return self._live_start.place

    def close(self) -> None:
        self._file.close()
        self.indexer.close()

    def check(self) -> None:
        """LogMoved unless the opened file still has the log's name: writes to another file would be lost."""
        try:
            if os.path.samestat(self.path.stat(), self._written):
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise file_error(self.path, error) from None
        raise LogMoved(
            f"log file {self.path}: was moved, removed or replaced while the twin writes to it; put it back"
        )

    def append(self, messages: list[Envelope], lines: list[bytes]) -> None:
        """Append messages with their encoded lines: all of them, or none and OperationFailed (disk full) or
        LogMoved."""
        self.check()
        data = b"".join([line + b"\n" for line in lines])
        try:
            written = self._file.write(data)
            if written != len(data):
                self._file.write(data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                self._truncate()
            raise file_error(self.path, error) from None
        for message, line in zip(messages, lines, strict=True):
            self._count(len(line) + 1, message.source, message.seq, message.at_us)
        self.end = self._message_count

    def sync(self) -> None:
        """Sync the log to the disk; OperationFailed if that fails."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise file_error(self.path, error) from None

    def place_at(self, position: int) -> LogPosition:
        """The place of an existing message."""
        stride = self.strides[_before(self.strides, position)]
        offset, at_us, seqs = stride.offset, stride.at_us, dict(stride.seqs)
        for at, line in self.lines(stride.position, position - stride.position + 1):
            if (fields := envelope_fields(line)) is not None:
                at_us, source = fields["at_us"], fields["source"]
                if at < position:
                    seqs[source] = max(fields["seq"], seqs.get(source, -1))
            offset += len(line) + 1 if at < position else 0
        return LogPosition(position=position, offset=offset, at_us=at_us, seqs=seqs)

    def switch_to(self, shorter: TruncatedLog) -> None:
        """Append to this file from now on; it takes the log's name. Call it from the thread that appends.
        LogMoved or OperationFailed; then nothing changes."""
        self.check()
        old, self._file = self._file, shorter.replace_log()
        self._live_start = shorter.live_start
        self._written = os.fstat(self._file.fileno())
        old.close()
        self._load_archive()

    def last_seq(self, source: str) -> int:
        """The last seq of this source in the log, or −1."""
        return self._seqs.get(source, -1)

    def position_at(self, at_us: int) -> int:
        """Position of the first message at or after this simulated time; `end` if none is."""
        place = bisect_left(self.strides, at_us, key=lambda stride: stride.at_us)
        for position, fields in self._scan(max(0, place - 1), len(self.strides)):
            if fields is not None and fields["at_us"] >= at_us:
                return position
        return self.end

    def position_of(self, message_id: str) -> int | None:
        """Position of the message with this id, or None."""
        source, _, number = message_id.rpartition("/")
        if not number.isdecimal() or len(number) > 20 or int(number) > self._seqs.get(source, -1):
            return None
        if message_id in self._commissioned:
            return self._commissioned[message_id]
        place = bisect_left(self.strides, int(number), key=lambda stride: stride.seqs.get(source, -1))
        for position, fields in self._scan(max(0, place - 1), place):
            if fields is not None and fields["id"] == message_id:
                return position
        return None

    def read(
        self, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        """(position, message) from `start` to the present end, without unreadable lines and lines that
        `line_filter` rejects."""
        for position, line in self.lines(start, most):
            if line_filter is not None and not line_filter(line):
                continue
            try:
                yield position, decode(line)
            except Unreadable:
                continue

    def lines(self, start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(position, line without newline) from `start` to the present end."""
        end = self.end if most is None else min(self.end, start + most)
        if start >= end:
            return
        if most == 1 and start in self._commissioning_lines:
            yield start, self._commissioning_lines[start]
            return
        entry = self.strides[_before(self.strides, start)]
        end_before = _before(self._segment_ends, start)
        if end_before >= 0 and self._segment_ends[end_before].position > entry.position:
            entry = self._segment_ends[end_before]  # skip an archived segment that ends before `start`
        try:
            opened = self.content.opened(entry.offset)
        except OSError as error:
            raise file_error(self.path, error) from None
        with opened as file:
            for position in range(entry.position, end):
                line = file.readline()
                if position >= start:
                    yield position, line.rstrip(b"\n")

    def _scan(self, entry: int, until: int) -> Iterator[tuple[int, EnvelopeFields | None]]:
        """The messages between two strides, or up to the end."""
        if not self.strides:
            return
        start = self.strides[entry].position
        most = self.strides[until].position - start if until < len(self.strides) else None
        for position, line in self.lines(start, most):
            yield position, envelope_fields(line)

    def _count(self, length: int, source: str | None, seq: int, at_us: int) -> None:
        if self._message_count % STRIDE == 0:
            self.strides.append(Stride(self._message_count, self._size, at_us, dict(self._seqs)))
        self._size += length
        self._message_count += 1
        if source is not None and seq > self._seqs.get(source, -1):
            self._seqs[source] = seq

    def _recover(self) -> None:
        """Use the index as far as it fits the log, read the rest of the log, and cut off a torn last line."""
        self._load_archive()
        strides = self._index.strides()
        if not (self._fits(strides) and self._index_rest(strides)):
            self._index.reset()
            self._index_rest([])
        self.end = self._message_count

    def _load_archive(self) -> None:
        """Load the segment ends and the commissionings of the archive, which every start needs."""
        self._segment_ends = [*map(_stride_of, segment_ends_after(self.content.archive, self._live_start, 0))]
        self._commissioning_lines: dict[int, bytes] = {}
        try:
            self._commissioning_lines = commissioning_lines(self.content.archive, self._live_start)
        except OperationFailed as error:
            log.warning("%s", error)
        heads = [(position, envelope_fields(line)) for position, line in self._commissioning_lines.items()]
        self._commissioned = {head["id"]: position for position, head in heads if head is not None}

    def _index_rest(self, strides: list[Stride]) -> bool:
        """Read the log from the last stride, or from the start of the live file if the index covers
        everything before. Returns whether the index ends at the end of a message."""
        last = strides[-1] if strides else Stride(0, 0, 0, {})
        live_start = _stride_of(self._live_start.place)
        start = live_start if last.position <= live_start.position <= self._index.end else last
        self.strides = [stride for stride in strides if stride.position < start.position]
        self._start_at(start)
        fits = self._index.end == start.position and self._index.offset == start.offset
        for end in (end for end in self._segment_ends if end.offset > start.offset):
            try:
                fits |= self._read_up_to(end.offset)
            except ArchiveDamaged as error:
                log.warning("%s; the twin continues after it", error)
                self.strides = self.strides or [Stride(0, 0, 0, {})]
                self._start_at(end)
        return self._read_up_to(None) or fits

    def _start_at(self, place: Stride) -> None:
        self._size, self._message_count, self._at_us = place.offset, place.position, place.at_us
        self._seqs = dict(place.seqs)

    def _read_up_to(self, offset: int | None) -> bool:
        """Read from the current place up to a byte, or to the end. Returns whether the index ends in that
        range at the end of a message."""
        fits = False
        with self.content.opened(self._size) as file:
            for line in file if offset != self._size else ():
                if not line.endswith(b"\n"):
                    self._truncate()
                    break
                fields = envelope_fields(line)
                if fields is None:
                    self._count(len(line), None, 0, self._at_us)
                else:
                    self._at_us = fields["at_us"]
                    self._count(len(line), fields["source"], fields["seq"], self._at_us)
                if self._message_count == self._index.end:
                    fits = self._size == self._index.offset
                if self._size == offset:
                    break
        return fits

    def _truncate(self) -> None:
        """Cut off what is after the last complete message."""
        os.ftruncate(self._file.fileno(), self._live_start.file_offset(self._size))

    def _fits(self, strides: list[Stride]) -> bool:
        """Whether index and log belong together. The strides must be in order and reach the index's end. The
        last one must be at the start of its message, unless it is in an archive that the index covers."""
        if [stride.position for stride in strides] != list(range(0, self._index.end, STRIDE)):
            return False
        if not strides:
            return True
        last, live_start = strides[-1], self._live_start.place
        if last.offset < live_start.offset and last.position <= live_start.position <= self._index.end:
            return True
        try:
            with self.content.opened(max(0, last.offset - 1)) as file:
                if last.offset and file.read(1) != b"\n":
                    return False
                fields = envelope_fields(file.readline())
        except ArchiveDamaged:
            return False
        is_next = fields is None or fields["seq"] > last.seqs.get(fields["source"], -1)
        return is_next and (fields is None or bool(fields["at_us"] == last.at_us))


def _before(places: Sequence[Stride], position: int) -> int:
    """Index of the last place up to a position; −1 if none is."""
    return bisect_right(places, position, key=lambda place: place.position) - 1


def _stride_of(place: LogPosition) -> Stride:
    return Stride(place.position, place.offset, place.at_us, place.seqs)


class IndexedLogs:
    """The logs of a twin's sites in one folder; a `shared.storage.log.log_reader.LogReader`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logs: dict[str, IndexedLog] = {}
        self._make_subjects_of: MakeSubjectsOf | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_indexes_current, name="log index", daemon=True)

    def open(self, site: str) -> IndexedLog:
        """The log of a site; creates it if needed."""
        if site not in self._logs:
            opened = IndexedLog(site_log(self.folder, site).path)
            self._name(site, opened)
            self._logs[site] = opened
        return self._logs[site]

    def index(self, make_subjects_of: MakeSubjectsOf) -> None:
        """Index messages by their subjects, too, and keep all indexes current from now on."""
        self._make_subjects_of = make_subjects_of
        for site, opened in list(self._logs.items()):
            self._name(site, opened)
        self._thread.start()

    def _name(self, site: str, opened: IndexedLog) -> None:
        if self._make_subjects_of is not None:
            config = partial(commissioned_with, self, site)
            opened.indexer.subjects_of = self._make_subjects_of(config, opened.indexer.recall)

    def _keep_indexes_current(self) -> None:
        logged: dict[str, str] = {}
        while not self._ended.wait(CATCH_UP_S):
            for site, opened in list(self._logs.items()):
                try:
                    opened.indexer.catch_up(CATCH_UP_S)
                    logged.pop(site, None)
                except OperationFailed as error:
                    if logged.get(site) != str(error):
                        log.warning("%s", error)
                    logged[site] = str(error)

    def sites(self) -> list[str]:
        """The sites whose logs are open."""
        return list(self._logs)

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        for opened in self._logs.values():
            opened.close()

    def _of(self, site: str) -> IndexedLog:
        if site not in self._logs:
            raise OperationFailed(f"site {site}: no log in {self.folder}")
        return self._logs[site]

    def end(self, site: str) -> int:
        return self._of(site).end

    def position_at(self, site: str, at_us: int) -> int:
        return self._of(site).position_at(at_us)

    def position_of(self, site: str, message_id: str) -> int | None:
        return self._of(site).position_of(message_id)

    def read(
        self, site: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        return self._of(site).read(start, most, line_filter)

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        return self._of(site).indexer.find(query, most, newest=newest)

    def count(self, site: str, query: LogQuery) -> int:
        return self._of(site).indexer.count(query)
