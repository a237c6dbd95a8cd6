"""Reads recorded inputs as CSV, row by row. Errors name the file, the line, the column and the value."""

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ops.local.input_files import short_lines
from ops.report.safe_text import quoted
from schemas.limits import DURATION_S_MAX
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.basics.value_words import has_zero_in_front, read_number

T = TypeVar("T")
OnBytes = Callable[[int], None]
"""Receives the number of bytes read so far."""
REPORTED_ROWS = 2_000
"""Rows between two reports of progress."""
SECONDS_ALLOWED = "seconds from 0 to 100 years"
SPAN_ALLOWED = "seconds above 0 up to 100 years"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file, and its description in errors."""

    what: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row: the place of its cells in errors, and the cells by column."""

    where: str
    line: int
    cells: dict[str, str]

    def read(self, name: str, parse: Callable[[str], T], allowed: str, default: T | None = None) -> T:
        """Return the parsed cell of a column, or `default` for an empty or missing one. Raises InvalidInput
        if `parse` raises ValueError or KeyError."""
        text = self.cells.get(name, "").strip()
        if not text and default is not None:
            return default
        try:
            return parse(text)
        except (ValueError, KeyError):
            if not text:
                raise self.empty(name, allowed) from None
            zero = ", without a zero in front" if has_zero_in_front(text) else ""
            raise InvalidInput(
                f"{self.where}: {name} {quoted(text)} is not allowed; must be {allowed}{zero}"
            ) from None

    def empty(self, name: str, allowed: str) -> InvalidInput:
        """Return the error for an empty cell."""
        return InvalidInput(f"{self.where}: {name} is empty; must be {allowed}")


@contextmanager
def csv_errors(what: str) -> Iterator[None]:
    """Turn errors of a CSV file that cannot be read into NotFound, OperationFailed or InvalidInput. `what`
    names the file."""
    try:
        yield
    except IsADirectoryError:
        raise InvalidInput(f"{what}: is a folder; must be a file") from None
    except FileNotFoundError:
        raise NotFound(f"{what}: no such file") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{what}: not a text file in UTF-8") from None
    except csv.Error as error:
        raise InvalidInput(f"{what}: not CSV: {error}") from None
    except OSError as error:
        raise OperationFailed(f"{what}: {error.strerror or error}") from None


def csv_rows(path: Path, columns: Columns, on_bytes: OnBytes | None = None) -> Iterator[CsvRow]:
    """Yield the rows of a file with a header, without empty lines.

    Raises NotFound, OperationFailed or InvalidInput if the file cannot be read, has a different header, or
    has no rows.
    """
    what = f"{columns.what} {path}"
    with csv_errors(what), path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(short_lines(file, what), strict=True)
        lines = _csv_lines(what, reader)
        header = [name.strip() for name in next(lines, [])]
        _check_header(what, header, columns)
        count, void = 0, None
        for texts in lines:
            is_void = not any(text.strip() for text in texts)
            if len(texts) < 2 and is_void:
                continue  # an empty line
            if is_void and not count:
                void = void or CsvRow(f"{what}, line {reader.line_num}", reader.line_num, {})
                continue
            if void is not None:
                yield void  # a row of commas in front of others; its cells are refused
            count += 1
            if on_bytes is not None and count % REPORTED_ROWS == 0:
                on_bytes(os.lseek(file.fileno(), 0, os.SEEK_CUR))
            where = f"{what}, line {reader.line_num}"
            yield CsvRow(where, reader.line_num, _cells(where, header, texts))
    if not count:
        raise InvalidInput(f"{what}: has no rows; must have one or more after the header")


def _csv_lines(what: str, reader: Any) -> Iterator[list[str]]:
    """Yield the rows of a csv.reader. Raises InvalidInput that names the first line of an invalid row."""
    while True:
        first = reader.line_num + 1
        try:
            texts: list[str] | None = next(reader, None)
        except csv.Error as error:
            end = "unexpected end of data" in str(error)
            problem = "a quotation mark that opens in this line is not closed" if end else str(error)
            raise InvalidInput(f"{what}, line {first}: not CSV: {problem}") from None
        if texts is None:
            return
        yield texts


def _check_header(what: str, header: Sequence[str], columns: Columns) -> None:
    known = (*columns.required, *columns.optional)
    if not any(header):
        raise InvalidInput(f"{what}: is empty; must have the columns {','.join(columns.required)} and rows")
    for name in columns.required:
        if name not in header:
            raise InvalidInput(
                f"{what}, line 1: column {name} is missing; required columns: {','.join(columns.required)}"
            )
    for name in header:
        if name not in known:
            raise InvalidInput(
                f"{what}, line 1: column {quoted(name)} is unknown; must be one of {','.join(known)}"
                f"{closest_match_hint(name, known)}"
            )
        if (times := header.count(name)) > 1:
            raise InvalidInput(f"{what}, line 1: column {name} is there {times} times; must be there once")


def _cells(where: str, header: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    if surplus := len(texts) - len(header):
        raise InvalidInput(f"{where}: has {abs(surplus)} cells too {'many' if surplus > 0 else 'few'}")
    return dict(zip(header, texts, strict=True))


def seconds(text: str) -> float:
    """Parse seconds from 0 to 100 years. Raises ValueError for other texts."""
    value = read_number(text)
    if value is None or not 0 <= value <= DURATION_S_MAX:
        raise ValueError(text)
    return value


def seconds_above_0(text: str) -> float:
    """Parse seconds above 0 up to 100 years. Raises ValueError for other texts."""
    value = seconds(text)
    if value == 0:
        raise ValueError(text)
    return value
