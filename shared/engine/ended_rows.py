"""Bounded tables of the objects (faults, repairs, slices) that ended last, for status documents."""

from typing import TypeVar

ENDED_MAX = 200
"""Rows of one table; the oldest row is dropped for a new one."""

RowT = TypeVar("RowT")


def add_ended(table: dict[int, RowT], number: int, row: RowT) -> int | None:
    """Append the row of an object that has just ended. Returns the number of the oldest row if it was
    dropped to make room, None otherwise."""
    table[number] = row
    if len(table) <= ENDED_MAX:
        return None
    oldest = next(iter(table))
    del table[oldest]
    return oldest
