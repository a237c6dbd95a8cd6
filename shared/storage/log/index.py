"""What makes a log findable however long it is: an SQLite file beside it.

It knows of every message where it stands, its time, type, fabric and cause, and the names under which people
look for it. It is only a help: made again from the log where it is missing, damaged or of another log, and
kept in memory where its disk takes no more.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import orjson

from shared.storage.log.reader import LogQuery

VERSION = 2
"""Raised where messages are found under other names than before: an index of that time is made anew."""
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
FOLLOWED = """
WITH RECURSIVE chosen (position) AS (
    SELECT position FROM messages WHERE cause = ?
    UNION SELECT next.position FROM chosen JOIN messages AS next ON next.cause = chosen.position
)"""
WORDS_KEPT_MAX = 1 << 17
"""Words whose numbers are kept at hand."""

log = logging.getLogger("lightwave.log")


class IndexLost(Exception):
    """What the index held is gone; it begins anew, empty."""


@dataclass(frozen=True, slots=True)
class Stride:
    """Where one message stands. `seqs` maps each source to its last seq before this position."""

    position: int
    offset: int
    at_us: int
    seqs: dict[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """What the index keeps of one message; `cause` is a position, `things` are names."""

    position: int
    offset: int
    at_us: int
    fabric: str
    type: str
    cause: int | None
    things: Iterable[str]


class LogIndex:
    """The index of one log; whoever shares it between threads keeps them apart. Where the file fails, it is
    made anew, and where that fails too, in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: dict[str, int] = {}
        self.end = self.offset = 0
        """Position and byte offset up to which the log is indexed."""
        try:
            self._db = _connected(path)
            self._take_up()
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError):
            self._begin()

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    def strides(self) -> list[Stride]:
        """Every stride that was added, in order; none where they cannot be read."""
        try:
            rows = self._db.execute("SELECT position, offset, at_us, seqs FROM strides ORDER BY position")
            return [_stride(row) for row in rows]
        except (sqlite3.Error, ValueError, TypeError):
            self.forget()
            return []

    def forget(self) -> None:
        """Begin anew, empty."""
        self.close()
        self._begin()

    def add(self, rows: Sequence[Row], strides: Sequence[Stride], end: int, offset: int) -> None:
        """Add the messages up to a position, all of them or none; IndexLost where that is impossible."""
        try:
            with self._db:
                self._number({word for row in rows for word in (row.fabric, row.type, *row.things)})
                ids = self._ids
                self._db.executemany(
                    "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
                    [(r.position, r.offset, r.at_us, ids[r.fabric], ids[r.type], r.cause) for r in rows],
                )
                self._db.executemany(
                    "INSERT OR IGNORE INTO things VALUES (?, ?)",
                    [(ids[thing], row.position) for row in rows for thing in row.things],
                )
                self._db.executemany(
                    "INSERT INTO strides VALUES (?, ?, ?, ?)",
                    [(s.position, s.offset, s.at_us, orjson.dumps(s.seqs).decode()) for s in strides],
                )
                told = {"version": VERSION, "end": end, "offset": offset}
                self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", told.items())
        except (sqlite3.Error, OverflowError) as error:
            self._lose(error)
        self.end, self.offset = end, offset

    def find(self, query: LogQuery, most: int, *, newest: bool) -> list[tuple[int, int]]:
        """(position, byte offset) of the first `most` messages that are asked for, or of the newest; oldest
        first."""
        order = "DESC" if newest else "ASC"
        found: list[tuple[int, int]] = []
        try:
            for kind in query.types or (None,):
                statement, values = _statement(query, kind, order)
                found += self._db.execute(statement, [*values, most])
        except sqlite3.Error as error:
            self._lose(error)
        found.sort()
        return found[-most:] if newest else found[:most]

    def count(self, query: LogQuery) -> int:
        """How many messages are asked for."""
        try:
            counts = 0
            for kind in query.types or (None,):
                statement, values = _statement(query, kind)
                counted = _sql("SELECT COUNT(*) FROM (", statement, ")")
                counts += self._db.execute(counted, values).fetchone()[0]
        except sqlite3.Error as error:
            self._lose(error)
        return counts

    # --- the file -------------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        kept = dict(self._db.execute("SELECT name, value FROM meta"))
        if kept["version"] != VERSION:
            raise ValueError(kept["version"])
        self.end, self.offset = int(kept["end"]), int(kept["offset"])

    def _begin(self) -> None:
        self._ids.clear()
        self.end = self.offset = 0
        try:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            self._db = _made(self._path)
        except (sqlite3.Error, OSError):
            self._db = _made(None)

    def _lose(self, error: Exception) -> NoReturn:
        log.warning("index %s: %s; it is made again from the log", self._path, error)
        self.close()
        # What failed on a file that was just begun would fail there again.
        was_new = self.end == 0
        self._begin()
        if was_new:
            self.close()
            self._db = _made(None)
        raise IndexLost(str(error)) from None

    def _number(self, words: set[str]) -> None:
        """Give every word a number, and have those of all at hand."""
        new = sorted(words - self._ids.keys())
        if len(self._ids) + len(new) > WORDS_KEPT_MAX:
            self._ids.clear()
            new = sorted(words)
        self._db.executemany("INSERT OR IGNORE INTO words (word) VALUES (?)", [(word,) for word in new])
        for word in new:
            (self._ids[word],) = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()


def _connected(path: Path | None) -> sqlite3.Connection:
    found = sqlite3.connect(path or ":memory:", check_same_thread=False)
    # A commit waits for no disk: what a power cut takes from the index is made again.
    found.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
    return found


def _made(path: Path | None) -> sqlite3.Connection:
    made = _connected(path)
    made.executescript(TABLES)
    return made


def _stride(row: tuple[int, int, int, str]) -> Stride:
    position, offset, at_us, text = row
    seqs = {str(source): int(seq) for source, seq in dict(orjson.loads(text)).items()}
    return Stride(int(position), int(offset), int(at_us), seqs)


def _statement(query: LogQuery, kind: str | None, order: str = "") -> tuple[str, list[object]]:
    """The statement that finds the messages of one type or all, and its values."""
    first, values, where = "", list[object](), list[str]()
    about, named = _about(query)
    if query.cause is not None:
        first, values = FOLLOWED, [query.cause]
    elif query.about:
        first, values = _sql("WITH chosen (position) AS (", about, ")"), [*named]
    # What is chosen leads, or the log in its order; the index of types only where that is all that is asked.
    source = "chosen CROSS JOIN messages AS m ON m.position = chosen.position" if first else "messages AS m"
    plus = "" if kind is not None and not first else "+"
    where.append("m.position >= ? AND m.position < ?")
    values += [query.start, query.end]
    if query.cause is not None and query.about:
        where.append(f"m.position IN ({about})")
        values += named
    if query.fabric is not None:
        where.append(f"{plus}m.fabric IN {_words(1)}")
        values.append(query.fabric)
    if kind is not None:
        where.append(f"{plus}m.type IN {_words(1)}")
        values.append(kind)
    if query.without:
        where.append(f"+m.type NOT IN {_words(len(query.without))}")
        values += query.without
    ordered = f"ORDER BY m.position {order} LIMIT ?" if order else ""
    where_all = " AND ".join(where)
    return _sql(first, "SELECT m.position, m.offset FROM", source, "WHERE", where_all, ordered), values


def _about(query: LogQuery) -> tuple[str, list[object]]:
    """The statement that finds what is about one of some names, and its values."""
    named = _sql("SELECT position FROM things WHERE thing IN", _words(len(query.about)))
    if query.effects is None:
        return _sql(named, "GROUP BY position"), [*query.about]
    causes, effects = query.effects
    led_to = _sql(
        *("SELECT m.position FROM (", named, ") AS n JOIN messages AS c ON c.position = n.position"),
        "JOIN messages AS m ON m.cause = c.position",
        *("WHERE +c.type IN", _words(len(causes)), "AND +m.type IN", _words(len(effects))),
    )
    return _sql(named, "UNION", led_to), [*query.about, *query.about, *causes, *effects]


def _words(count: int) -> str:
    """The numbers of so many words, which stand among the values."""
    return _sql("(SELECT id FROM words WHERE word IN (", ", ".join("?" * count), "))")


def _sql(*parts: str) -> str:
    """Pieces of a statement put together: words of this module and marks only, never a value."""
    return " ".join(parts)
