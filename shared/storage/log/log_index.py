"""An SQLite index that makes a log of any length searchable.

For every message it stores position, time, type, fabric, cause, and the names of its subjects. It is only an
aid: it is rebuilt from the log if it is missing, damaged or of another log, and kept in memory if its disk is
full. An `Indexer` updates the index without delaying appends, and answers queries.
"""

import contextlib
import logging
import sqlite3
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

import orjson

from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope, EnvelopeFields
from schemas.limits import COUNT_MAX
from schemas.registry import TYPES, Unreadable, decode
from shared.basics.errors import ArchiveDamaged, OperationFailed
from shared.storage.files.file_errors import file_error
from shared.storage.log.log_bytes import LogBytes
from shared.storage.log.log_reader import LogQuery

VERSION = 3
"""Raised when messages are indexed under other names; older indexes are then rebuilt."""
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE strides (position INTEGER PRIMARY KEY, offset INTEGER, at_us INTEGER, seqs TEXT);
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
CREATE TABLE messages (
    position INTEGER PRIMARY KEY, offset INTEGER, at_us INTEGER, fabric INTEGER, type INTEGER, cause INTEGER
);
CREATE INDEX by_type ON messages (fabric, type);
CREATE INDEX by_cause ON messages (cause) WHERE cause IS NOT NULL;
CREATE TABLE things (thing INTEGER, position INTEGER, PRIMARY KEY (thing, position)) WITHOUT ROWID;
"""
EFFECTS_OF_CAUSE = """
WITH RECURSIVE chosen (position) AS (
    SELECT position FROM messages WHERE cause = ?
    UNION SELECT next.position FROM chosen JOIN messages AS next ON next.cause = chosen.position
)"""
WORDS_CACHED_MAX = 1 << 17
"""Words whose ids are cached."""

log = logging.getLogger("lightwave.log")


class IndexLost(Exception):
    """The index lost its content and restarts empty."""


@dataclass(frozen=True, slots=True)
class Stride:
    """The place of one message. `seqs` maps each source to its last seq before this position."""

    position: int
    offset: int
    at_us: int
    seqs: dict[str, int]


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the index stores of one message; `cause` is a position, `subjects` are names."""

    position: int
    offset: int
    at_us: int
    fabric: str
    type: str
    cause: int | None
    subjects: Iterable[str]


class LogIndex:
    """The index of one log; not thread-safe. If the file fails, it is recreated; if that fails, too, it is in
    memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ids: dict[str, int] = {}
        self.end = self.offset = 0
        """Position and byte offset up to which the log is indexed."""
        try:
            self._db = _connect(path)
            self._load()
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError):
            self._recreate()

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    def strides(self) -> list[Stride]:
        """All strides in order; empty if they cannot be read."""
        try:
            rows = self._db.execute("SELECT position, offset, at_us, seqs FROM strides ORDER BY position")
            return [_stride(row) for row in rows]
        except (sqlite3.Error, ValueError, TypeError):
            self.reset()
            return []

    def reset(self) -> None:
        """Restart with an empty index."""
        self.close()
        self._recreate()

    def add(self, rows: Sequence[IndexRow], strides: Sequence[Stride], end: int, offset: int) -> None:
        """Add the messages up to a position, all or none; IndexLost if that fails."""
        try:
            with self._db:
                self._number({word for row in rows for word in (row.fabric, row.type, *row.subjects)})
                ids = self._ids
                self._db.executemany(
                    "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
                    [(r.position, r.offset, r.at_us, ids[r.fabric], ids[r.type], r.cause) for r in rows],
                )
                self._db.executemany(
                    "INSERT OR IGNORE INTO things VALUES (?, ?)",
                    [(ids[subject], row.position) for row in rows for subject in row.subjects],
                )
                self._db.executemany(
                    "INSERT INTO strides VALUES (?, ?, ?, ?)",
                    [(s.position, s.offset, s.at_us, orjson.dumps(s.seqs).decode()) for s in strides],
                )
                meta = {"version": VERSION, "end": end, "offset": offset}
                self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
        except (sqlite3.Error, OverflowError) as error:
            self._fail(error)
        self.end, self.offset = end, offset

    def find(self, query: LogQuery, most: int, *, newest: bool) -> list[tuple[int, int]]:
        """(position, byte offset) of the first, or newest, `most` matching messages; oldest first."""
        order = "DESC" if newest else "ASC"
        places: list[tuple[int, int]] = []
        try:
            for kind in query.types or (None,):
                statement, values = _statement(query, kind, order)
                places += self._db.execute(statement, [*values, most])
        except sqlite3.Error as error:
            self._fail(error)
        places.sort()
        return places[-most:] if newest else places[:most]

    def count(self, query: LogQuery) -> int:
        """The number of matching messages."""
        try:
            counts = 0
            for kind in query.types or (None,):
                statement, values = _statement(query, kind)
                counted = _sql("SELECT COUNT(*) FROM (", statement, ")")
                counts += self._db.execute(counted, values).fetchone()[0]
        except sqlite3.Error as error:
            self._fail(error)
        return counts

    # --- the file -------------------------------------------------------------------------------------------

    def _load(self) -> None:
        kept = dict(self._db.execute("SELECT name, value FROM meta"))
        if kept["version"] != VERSION:
            raise ValueError(kept["version"])
        self.end, self.offset = int(kept["end"]), int(kept["offset"])

    def _recreate(self) -> None:
        self._ids.clear()
        self.end = self.offset = 0
        try:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            self._db = _create(self.path)
        except (sqlite3.Error, OSError):
            self._db = _create(None)

    def _fail(self, error: Exception) -> NoReturn:
        log.warning("index %s: %s; it is rebuilt from the log", self.path, error)
        self.close()
        # A file that fails when it is new would fail again: use memory.
        was_new = self.end == 0
        self._recreate()
        if was_new:
            self.close()
            self._db = _create(None)
        raise IndexLost(str(error)) from None

    def _number(self, words: set[str]) -> None:
        """Give every word an id, and cache the ids."""
        new = sorted(words - self._ids.keys())
        if len(self._ids) + len(new) > WORDS_CACHED_MAX:
            self._ids.clear()
            new = sorted(words)
        self._db.executemany("INSERT OR IGNORE INTO words (word) VALUES (?)", [(word,) for word in new])
        for word in new:
            (self._ids[word],) = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()


def _connect(path: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(path or ":memory:", check_same_thread=False)
    # Commits do not wait for the disk; entries that a power loss removes are rebuilt.
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
    return database


def _create(path: Path | None) -> sqlite3.Connection:
    database = _connect(path)
    database.executescript(TABLES)
    return database


def _stride(row: tuple[int, int, int, str]) -> Stride:
    position, offset, at_us, text = row
    seqs = {str(source): int(seq) for source, seq in dict(orjson.loads(text)).items()}
    return Stride(int(position), int(offset), int(at_us), seqs)


def _statement(query: LogQuery, kind: str | None, order: str = "") -> tuple[str, list[object]]:
    """The statement that finds the messages of one type or of all, and its values."""
    first, values, where = "", list[object](), list[str]()
    about, named = _about(query)
    if query.cause is not None:
        first, values = EFFECTS_OF_CAUSE, [query.cause]
    elif query.about:
        first, values = _sql("WITH chosen (position) AS (", about, ")"), [*named]
    # A unary plus keeps SQLite from using an index: start from `chosen`, or scan the log in its order. Use
    # the index by type only if the query selects nothing else.
    source = "chosen CROSS JOIN messages AS m ON m.position = chosen.position" if first else "messages AS m"
    plus = "" if kind is not None and not first else "+"
    where.append("m.position >= ? AND m.position < ?")
    values += [query.start, query.end]
    if query.cause is not None and query.about:
        where.append(f"m.position IN ({about})")
        values += named
    if query.fabric is not None:
        where.append(f"{plus}m.fabric IN {_word_ids(1)}")
        values.append(query.fabric)
    if kind is not None:
        where.append(f"{plus}m.type IN {_word_ids(1)}")
        values.append(kind)
    if query.without:
        where.append(f"+m.type NOT IN {_word_ids(len(query.without))}")
        values += query.without
    ordered = f"ORDER BY m.position {order} LIMIT ?" if order else ""
    where_all = " AND ".join(where)
    return _sql(first, "SELECT m.position, m.offset FROM", source, "WHERE", where_all, ordered), values


def _about(query: LogQuery) -> tuple[str, list[object]]:
    """The statement that finds messages about one of some names, and its values."""
    named = _sql("SELECT position FROM things WHERE thing IN", _word_ids(len(query.about)))
    if query.effects is None:
        return _sql(named, "GROUP BY position"), [*query.about]
    causes, effects = query.effects
    effects_of_names = _sql(
        *("SELECT m.position FROM (", named, ") AS n JOIN messages AS c ON c.position = n.position"),
        "JOIN messages AS m ON m.cause = c.position",
        *("WHERE +c.type IN", _word_ids(len(causes)), "AND +m.type IN", _word_ids(len(effects))),
    )
    return _sql(named, "UNION", effects_of_names), [*query.about, *query.about, *causes, *effects]


def _word_ids(count: int) -> str:
    """A subquery for the ids of `count` words, which are among the values."""
    return _sql("(SELECT id FROM words WHERE word IN (", ", ".join("?" * count), "))")


def _sql(*parts: str) -> str:
    """Join parts of a statement: only SQL of this module and placeholders, never a value."""
    return " ".join(parts)


BATCH = 1_000
"""Messages that are indexed in one transaction."""
WAIT_S_MAX = 5.0
"""How long a query waits for an index that is being built."""
RECENT_MAX = 20_000
"""Ids of recent messages whose positions are cached: most causes are recent."""
TRIES = 3
"""One with the file, one with a new file, one in memory."""

AnswerT = TypeVar("AnswerT")
SubjectsOf = Callable[[EnvelopeFields], Iterable[str]]
"""Message as JSON → the names of its subjects."""
Recall = Callable[[str, tuple[str, ...]], list[EnvelopeFields]]
"""Name and types → the earlier messages about that name, as JSON."""
MakeSubjectsOf = Callable[[Callable[[str], FabricConfig], Recall], SubjectsOf]
"""Makes the `SubjectsOf` of one site's log from the configurations of its fabrics (KeyError for an unknown
one) and a `Recall`."""


class IndexableLog(Protocol):
    """What the indexer needs of a log."""

    path: Path
    content: LogBytes
    end: int
    strides: list[Stride]

    def position_of(self, message_id: str) -> int | None: ...


class Indexer:
    """One log and its index; thread-safe."""

    def __init__(self, log: IndexableLog, index: LogIndex) -> None:
        self._log = log
        self._index = index
        self._lock = threading.Lock()
        self._recent: dict[str, int] = {}
        self._reported = ""
        self.subjects_of: SubjectsOf = lambda _message: ()

    def close(self) -> None:
        with self._lock:
            self._index.close()

    def catch_up(self, within_s: float) -> bool:
        """Index the rest of the log; whether that was done within this wall time."""
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
        """(position, message) of the first, or newest, `most` matching messages; oldest first."""
        places = self._with_index(lambda: self._index.find(query, most, newest=newest))
        messages = []
        for position, line in self._lines(places):
            try:
                messages.append((position, decode(line)))
            except Unreadable:
                continue
        return messages

    def count(self, query: LogQuery) -> int:
        """The number of matching messages."""
        return self._with_index(lambda: self._index.count(query))

    def recall(self, name: str, types: tuple[str, ...]) -> list[EnvelopeFields]:
        """A `Recall` for `subjects_of`, which runs while the index is being updated."""
        places = self._index.find(LogQuery(about=(name,), types=types), COUNT_MAX, newest=False)
        return [orjson.loads(line) for _, line in self._lines(places)]

    def _with_index(self, run: Callable[[], AnswerT]) -> AnswerT:
        for _ in range(TRIES):
            if not self.catch_up(WAIT_S_MAX):
                break
            with self._lock:
                try:
                    return run()
                except IndexLost:
                    self._recent.clear()
        done = 100 * self._index.end // max(1, self._log.end)
        raise OperationFailed(
            f"log {self._log.path.stem}: its index is being built, {done} % done; try again soon"
        )

    def _lines(self, places: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        try:
            with self._log.content.opened() as file:
                for position, offset in places:
                    file.seek(offset)
                    yield position, file.readline().rstrip(b"\n")
        except OSError as error:
            raise file_error(self._log.path, error) from None

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
            raise file_error(self._log.path, error) from None
        strides = self._log.strides
        first, last = (bisect_left(strides, place, key=lambda s: s.position) for place in (start, end))
        self._index.add(rows, strides[first:last], end, offset)

    def _row(self, position: int, offset: int, line: bytes) -> IndexRow | None:
        """The index row of a message; None if the line is not a message."""
        try:
            fields = orjson.loads(line)
            at_us, fabric, kind, cause = (fields[name] for name in ("at_us", "fabric", "type", "cause"))
            is_message = kind in TYPES and isinstance(fabric, str) and 0 <= at_us <= COUNT_MAX
        except (ValueError, TypeError, KeyError):
            return None
        if not is_message:
            return None
        self._remember(str(fields.get("id")), position)
        cause_position = None if cause is None else self._position_of(str(cause))
        return IndexRow(position, offset, at_us, fabric, kind, cause_position, self._subjects_in(fields))

    def _subjects_in(self, fields: EnvelopeFields) -> frozenset[str]:
        try:
            return frozenset(self.subjects_of(fields))
        except (ValueError, TypeError, LookupError, AttributeError):
            return frozenset()  # not a message of this twin: only its place is indexed

    def _remember(self, message_id: str, position: int) -> None:
        self._recent[message_id] = position
        if len(self._recent) > 2 * RECENT_MAX:
            for old in list(self._recent)[:RECENT_MAX]:
                del self._recent[old]

    def _position_of(self, message_id: str) -> int | None:
        """The position of a message, or None if the log has none or its segment is lost.

        A lost segment must not stop the index: queries about all later messages would fail with it.
        """
        known = self._recent.get(message_id)
        if known is not None:
            return known
        try:
            return self._log.position_of(message_id)
        except ArchiveDamaged as error:
            if str(error) != self._reported:
                self._reported = str(error)
                log.warning(
                    "%s; until then, the index has no causes in it: delete %s once it is restored",
                    error,
                    self._index.path,
                )
            return None
