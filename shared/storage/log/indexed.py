"""The living twin's log of one site: an append-only file of JSON lines, and a sparse index into it.

The index holds, for every 512th message, its byte offset, its time, and the last `seq` of every source before
it. So a view and an id are both found by a binary search and a short scan. The index is only a help: it is
made again from the log where it is missing or does not fit.
"""

import contextlib
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from shared.basics.errors import OperationFailed
from shared.storage.log.lines import failure
from shared.storage.log.reader import LineFilter

STRIDE = 512
"""Messages between two entries of the index."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one message stands. `seqs` maps each source to its last seq before this position."""

    position: int
    offset: int
    at_us: int
    seqs: dict[str, int]


class IndexedLog:
    """One site's log file. One process appends; any thread may read while it does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._index_path = path.with_suffix(".index")
        self._entries: list[Entry] = []
        self._seqs: dict[str, int] = {}
        self._size = self._counted = 0
        self.end = 0
        """Messages that readers may see; moves on by a whole `append` at once."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
            self._index = self._index_path.open("ab", buffering=0)
            self._recover()
        except OSError as error:
            raise failure(path, error) from None

    def close(self) -> None:
        self._file.close()
        self._index.close()

    def append(self, messages: list[Envelope], lines: list[bytes]) -> None:
        """Append messages with their encoded lines. All of them, or (disk full) none and OperationFailed."""
        data = b"".join([line + b"\n" for line in lines])
        try:
            written = self._file.write(data)
            if written != len(data):
                self._file.write(data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), self._size)
            raise failure(self.path, error) from None
        for message, line in zip(messages, lines, strict=True):
            self._count(len(line) + 1, message.source, message.seq, message.at_us)
        self.end = self._counted

    def last_seq(self, source: str) -> int:
        """The last seq of this source in the log, or −1."""
        return self._seqs.get(source, -1)

    def position_at(self, at_us: int) -> int:
        """Position of the first message at or after this simulated time; `end` if there is none."""
        place = bisect_left(self._entries, at_us, key=lambda e: e.at_us)
        for position, fields in self._scan(max(0, place - 1)):
            if fields is not None and fields["at_us"] >= at_us:
                return position
        return self.end

    def position_of(self, message_id: str) -> int | None:
        """Position of the message with this id, or None."""
        source, _, number = message_id.rpartition("/")
        if not number.isdecimal() or len(number) > 20:
            return None
        place = bisect_left(self._entries, int(number), key=lambda e: e.seqs.get(source, -1))
        for position, fields in self._scan(max(0, place - 1), STRIDE):
            if fields is not None and fields["id"] == message_id:
                return position
        return None

    def read(
        self, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        """(position, message) from `start` to the present end; what the line_filter holds back and lines that
        cannot be read are left out."""
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
        entry = self._entries[bisect_right(self._entries, start, key=lambda e: e.position) - 1]
        try:
            opened = self.path.open("rb")
        except OSError as error:
            raise failure(self.path, error) from None
        with opened as file:
            file.seek(entry.offset)
            for position in range(entry.position, end):
                line = file.readline()
                if position >= start:
                    yield position, line.rstrip(b"\n")

    def _scan(self, entry: int, most: int | None = None) -> Iterator[tuple[int, dict[str, Any] | None]]:
        if not self._entries:
            return
        for position, line in self.lines(self._entries[entry].position, most):
            yield position, _head(line)

    def _count(self, length: int, source: str | None, seq: int, at_us: int) -> None:
        if self._counted % STRIDE == 0:
            entry = Entry(self._counted, self._size, at_us, dict(self._seqs))
            self._entries.append(entry)
            self._save(entry)
        self._size += length
        self._counted += 1
        if source is not None and seq > self._seqs.get(source, -1):
            self._seqs[source] = seq

    def _save(self, entry: Entry) -> None:
        row = orjson.dumps([entry.position, entry.offset, entry.at_us, entry.seqs])
        try:
            self._index.write(row + b"\n")
        except OSError:
            return  # only a help: made again from the log when it is next opened

    def _recover(self) -> None:
        """Take up the index as far as it fits the log, read on from there, and cut off a torn last line."""
        size = self.path.stat().st_size
        entries = [e for e in _load(self._index_path) if e.offset < size]
        if not self._fits(entries):
            entries = []
        start = entries[-1] if entries else Entry(0, 0, 0, {})
        self._entries = entries[:-1]
        self._seqs = dict(start.seqs)
        self._size, self._counted = start.offset, start.position
        os.ftruncate(self._index.fileno(), 0)
        for entry in self._entries:
            self._save(entry)
        at_us = start.at_us
        with self.path.open("rb") as file:
            file.seek(start.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    os.ftruncate(self._file.fileno(), self._size)
                    break
                fields = _head(line) or {"source": None, "seq": 0, "at_us": at_us}
                at_us = fields["at_us"]
                self._count(len(line), fields["source"], fields["seq"], at_us)
        self.end = self._counted

    def _fits(self, entries: list[Entry]) -> bool:
        """Whether index and log belong together: entries in order, and the last one at the start of its
        message.
        """
        if any(e.position != n * STRIDE for n, e in enumerate(entries)):
            return False
        if not entries:
            return True
        last = entries[-1]
        with self.path.open("rb") as file:
            if last.offset:
                file.seek(last.offset - 1)
                if file.read(1) != b"\n":
                    return False
            fields = _head(file.readline())
        return fields is None or fields["at_us"] == last.at_us


def _head(line: bytes) -> dict[str, Any] | None:
    """The envelope's fields as they stand, or None where the line is no envelope."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    wanted = {"id": str, "source": str, "seq": int, "at_us": int}
    if isinstance(fields, dict) and all(isinstance(fields.get(k), t) for k, t in wanted.items()):
        return fields
    return None


def _load(path: Path) -> list[Entry]:
    entries = []
    for row in path.read_bytes().splitlines():
        try:
            position, offset, at_us, seqs = orjson.loads(row)
        except ValueError:
            break
        entries.append(Entry(position, offset, at_us, seqs))
    return entries


class IndexedLogs:
    """The logs of a twin's sites in one folder; a `shared.storage.log.reader.LogReader`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logs: dict[str, IndexedLog] = {}

    def open(self, site: str) -> IndexedLog:
        """The log of a site, made where there is none."""
        if site not in self._logs:
            self._logs[site] = IndexedLog(self.folder / f"{site}.jsonl")
        return self._logs[site]

    def sites(self) -> list[str]:
        """The sites whose logs are open."""
        return list(self._logs)

    def close(self) -> None:
        for log in self._logs.values():
            log.close()

    def _of(self, site: str) -> IndexedLog:
        if site not in self._logs:
            raise OperationFailed(f"site {site}: no log of it in {self.folder}")
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
