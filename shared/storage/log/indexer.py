"""Keeps the index of a log up with it, off the way of whoever appends, and answers from it."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from schemas.bounds import COUNT_MAX
from schemas.config import FabricConfig
from schemas.envelope import Envelope
from schemas.registry import TYPES, Unreadable, decode
from shared.basics.errors import OperationFailed
from shared.storage.log.index import IndexLost, LogIndex, Row, Stride
from shared.storage.log.lines import failure
from shared.storage.log.log_bytes import LogBytes
from shared.storage.log.reader import LogQuery

BATCH = 1_000
"""Messages that are indexed at once."""
WAIT_S_MAX = 5.0
"""How long a question waits for an index that is being made."""
RECENT_MAX = 20_000
"""Ids of messages whose positions are kept at hand: most causes are not far back."""
TRIES = 3
"""A file that fails is made anew, and then one in memory."""

AnswerT = TypeVar("AnswerT")
ThingsOf = Callable[[dict[str, Any]], Iterable[str]]
"""The names under which a message is found, of the message as JSON has it."""
Recall = Callable[[str, tuple[str, ...]], list[dict[str, Any]]]
"""The messages before, as JSON has them, that are found under a name and are of some types."""
MakeThingsOf = Callable[[Callable[[str], FabricConfig], Recall], ThingsOf]
"""How to name what the messages of one site's log are about, with the configurations of its fabrics (KeyError
for an unknown one) and what was said before."""


class Log(Protocol):
    """What is asked of the log that is indexed."""

    path: Path
    content: LogBytes
    end: int
    strides: list[Stride]

    def position_of(self, message_id: str) -> int | None: ...


class Indexer:
    """One log and its index; any thread may ask."""

    def __init__(self, log: Log, index: LogIndex) -> None:
        self._log = log
        self._index = index
        self._lock = threading.Lock()
        self._recent: dict[str, int] = {}
        self.things_of: ThingsOf = lambda _message: ()

    def close(self) -> None:
        with self._lock:
            self._index.close()

    def catch_up(self, within_s: float) -> bool:
        """Index what the log holds beyond the index; whether that was done in so much wall time."""
        until_s = time.monotonic() + within_s
        while True:
            with self._lock:
                if self._index.end >= self._log.end:
                    return True
                try:
                    self._add_batch()
                except IndexLost:
                    self._recent.clear()
            if time.monotonic() > until_s:
                return False

    def find(self, query: LogQuery, most: int, *, newest: bool) -> list[tuple[int, Envelope]]:
        """(position, message) of the first that are asked for, or of the newest; oldest first."""
        places = self._asked(lambda: self._index.find(query, most, newest=newest))
        found = []
        for position, line in self._lines(places):
            try:
                found.append((position, decode(line)))
            except Unreadable:
                continue
        return found

    def count(self, query: LogQuery) -> int:
        """How many messages are asked for."""
        return self._asked(lambda: self._index.count(query))

    def recall(self, name: str, types: tuple[str, ...]) -> list[dict[str, Any]]:
        """For `things_of`, which is called while the index is being added to."""
        places = self._index.find(LogQuery(about=(name,), types=types), COUNT_MAX, newest=False)
        return [orjson.loads(line) for _, line in self._lines(places)]

    def _asked(self, ask: Callable[[], AnswerT]) -> AnswerT:
        for _ in range(TRIES):
            if not self.catch_up(WAIT_S_MAX):
                break
            with self._lock:
                try:
                    return ask()
                except IndexLost:
                    self._recent.clear()
        done = 100 * self._index.end // max(1, self._log.end)
        raise OperationFailed(
            f"log {self._log.path.stem}: its index is being made, {done} % so far; ask again in a moment"
        )

    def _lines(self, places: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        try:
            with self._log.content.opened() as file:
                for position, offset in places:
                    file.seek(offset)
                    yield position, file.readline().rstrip(b"\n")
        except OSError as error:
            raise failure(self._log.path, error) from None

    def _add_batch(self) -> None:
        start, offset = self._index.end, self._index.offset
        end = min(self._log.end, start + BATCH)
        rows = []
        try:
            with self._log.content.opened(offset) as file:
                for position in range(start, end):
                    line = file.readline()
                    row = self._row(position, offset, line)
                    if row is not None:
                        rows.append(row)
                    offset += len(line)
        except OSError as error:
            raise failure(self._log.path, error) from None
        strides = self._log.strides
        first, last = (bisect_left(strides, place, key=lambda s: s.position) for place in (start, end))
        self._index.add(rows, strides[first:last], end, offset)

    def _row(self, position: int, offset: int, line: bytes) -> Row | None:
        """What is to be kept of a message; None of a line that is none."""
        try:
            fields = orjson.loads(line)
            at_us, fabric, kind, cause = (fields[name] for name in ("at_us", "fabric", "type", "cause"))
            is_message = kind in TYPES and isinstance(fabric, str) and 0 <= at_us <= COUNT_MAX
        except (ValueError, TypeError, KeyError):
            return None
        if not is_message:
            return None
        self._note(str(fields.get("id")), position)
        because = None if cause is None else self._position_of(str(cause))
        return Row(position, offset, at_us, fabric, kind, because, self._things(fields))

    def _things(self, fields: dict[str, Any]) -> frozenset[str]:
        try:
            return frozenset(self.things_of(fields))
        except (ValueError, TypeError, LookupError, AttributeError):
            return frozenset()  # no message of this twin: it is found by its place only

    def _note(self, message_id: str, position: int) -> None:
        self._recent[message_id] = position
        if len(self._recent) > 2 * RECENT_MAX:
            for old in list(self._recent)[:RECENT_MAX]:
                del self._recent[old]

    def _position_of(self, message_id: str) -> int | None:
        known = self._recent.get(message_id)
        return known if known is not None else self._log.position_of(message_id)
