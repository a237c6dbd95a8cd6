"""Shared by all importers: options, counts of skipped records, times, owners and sorted output."""

import csv
import datetime as dt
import heapq
import re
import tempfile
import zoneinfo
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from ops.lab.recorded_csv import csv_errors
from ops.local.output_file import atomic_output_file, is_same_file
from ops.report.safe_text import quoted
from schemas.limits import DURATION_S_MAX
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput

SORTED_ROWS_MAX = 200_000
"""Maximum number of rows that are sorted in memory; more are sorted in files and merged."""
OWNER_CHARS_MAX = 60


REPEATED = "repeats an earlier record"


class ImportCounts:
    """Counts the records that were read, and those that were skipped, by reason."""

    def __init__(self) -> None:
        self.read = 0
        self.dropped: Counter[str] = Counter()
        self._seen: set[int] = set()

    def is_new(self, record: Hashable) -> bool:
        """Whether this record is the first of its kind. Others are counted as dropped."""
        key = hash(record)
        if key in self._seen:
            self.drop(REPEATED)
            return False
        self._seen.add(key)
        return True

    def drop(self, reason: str) -> None:
        self.dropped[reason] += 1


def time_zone(option: str | None, needed_by: str | None) -> dt.tzinfo | None:
    """Return the time zone of an option; None if it is not given and no format needs it.

    Raises InvalidInput if it is unknown, if it is missing although the format `needed_by` needs it, or if it
    is given although none does.
    """
    if option is None and needed_by is not None:
        raise InvalidInput(
            f"--time-zone: is missing; times of {needed_by} have no zone; give one such as UTC, "
            "America/Los_Angeles or Asia/Shanghai"
        )
    if option is None:
        return None
    if needed_by is None:
        raise InvalidInput("--time-zone: has no effect on the times of this format; leave it out")
    try:
        return zoneinfo.ZoneInfo(option)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        hint = closest_match_hint(option, zoneinfo.available_timezones())
        raise InvalidInput(
            f"--time-zone: {quoted(option)} is not a known time zone; must be like UTC or Asia/Shanghai{hint}"
        ) from None


def date_s(
    place: str, column: str, value: object, zone: dt.tzinfo | None, *, form: str, example: str
) -> float:
    """Return the time of a date in seconds since 1970. Without a time zone of its own it is in `zone`.

    `form` is "iso", or a format of strptime. Raises InvalidInput that names place, column and value.
    """
    shown = f"{place}: {column} {quoted(value)} is not allowed; must be"
    zoned = "" if zone is not None else " with a time zone"
    try:
        if not isinstance(value, str):
            raise TypeError
        date = dt.datetime.fromisoformat(value) if form == "iso" else dt.datetime.strptime(value, form)  # noqa: DTZ007 -- the zone follows
        if date.tzinfo is None and zone is not None:
            date = date.replace(tzinfo=zone)
        found_s = date.astimezone(dt.UTC).timestamp() if date.tzinfo is not None else None
    except (TypeError, ValueError, OverflowError):
        found_s = None
    if found_s is None:
        raise InvalidInput(f"{shown} a date{zoned} such as {example}")
    return found_s


def none_usable(what: str, source: Path, noun: str, counts: ImportCounts) -> InvalidInput:
    """Return the error for a file of which nothing can be used: it is empty, or all was left out."""
    if not counts.read:
        return InvalidInput(f"{what} {source}: has no {noun}; must have one or more")
    why = ", ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
    return InvalidInput(
        f"{what} {source}: none of its {counts.read:,} {noun} can be used{f': {why}' if why else ''}"
    )


def check_columns(what: str, names: Sequence[str], needed: Sequence[str]) -> None:
    """Raise InvalidInput if a column that is read has its name twice: only one of the two would count."""
    for name in needed:
        if (times := list(names).count(name)) > 1:
            raise InvalidInput(f"{what}, line 1: column {name} is there {times} times; must be there once")


class OwnerNames:
    """Owners for the users of a trace: their names in lowercase, with a hyphen for characters that an owner's
    name cannot have. If names of several users become equal, each gets a number."""

    def __init__(self) -> None:
        self._by_user: dict[str, str] = {}
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_user)

    def of(self, user: str) -> str:
        """Return the owner of this user."""
        if user not in self._by_user:
            plain = (
                re.sub("[^a-z0-9]+", "-", user.lower()).strip("-")[:OWNER_CHARS_MAX].strip("-") or "unknown"
            )
            name, number = plain, 1
            while name in self._taken:
                number += 1
                name = f"{plain}-{number}"
            self._taken.add(name)
            self._by_user[user] = name
        return self._by_user[user]


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Report a file that cannot be read, as `csv_errors` does."""
    with csv_errors(f"{what} {path}"):
        yield


def check_out(out: Path, *inputs: Path | None) -> None:
    """Raise InvalidInput if the file to write is one of the files to read, also through links."""
    for source in inputs:
        if source is not None and is_same_file(out, source):
            raise InvalidInput(f"OUT {out}: is the same file as the input {source}; must be another file")


Row = tuple[float, tuple[str, ...]]
"""(time in seconds, the other cells of a row)."""


def write_sorted(out: Path, header: Sequence[str], rows: Iterable[Row]) -> tuple[int, float, float]:
    """Write rows in order of time to a CSV file, with times relative to the first row. Return (rows, first
    time, last time).

    Writes no file if there are no rows. Memory does not grow with their number.
    """
    with ExitStack() as stack, reading(out, "file"):
        runs: list[Iterator[Row]] = []
        part: list[Row] = []
        for row in rows:
            part.append(row)
            if len(part) == SORTED_ROWS_MAX:
                runs.append(_stored_run(stack, sorted(part)))
                part = []
        part.sort()
        if not part and not runs:
            return 0, 0.0, 0.0
        count, first_s, last_s = 0, 0.0, 0.0
        with atomic_output_file(out) as file:
            file.write((",".join(header) + "\n").encode())
            for time_s, cells in heapq.merge(*runs, part):
                first_s = time_s if not count else first_s
                count, last_s = count + 1, time_s
                if time_s - first_s > DURATION_S_MAX:
                    raise InvalidInput("its times span more than 100 years; must be at most that")
                file.write((",".join([f"{time_s - first_s:.16g}", *cells]) + "\n").encode())
        return count, first_s, last_s


def _stored_run(stack: ExitStack, rows: Sequence[Row]) -> Iterator[Row]:
    file: IO[str] = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))  # noqa: SIM115 -- the stack closes it
    csv.writer(file).writerows([repr(time_s), *cells] for time_s, cells in rows)
    file.seek(0)
    return ((float(cells[0]), tuple(cells[1:])) for cells in csv.reader(file))
