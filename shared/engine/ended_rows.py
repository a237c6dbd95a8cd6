"""The last things that ended (faults, repairs, slices), kept in a state for people to look at."""

from typing import TypeVar

ENDED_MAX = 200
"""Ended things kept in one ledger, the last to end; older ones are forgotten."""

RowT = TypeVar("RowT")


def add_ended(table: dict[int, RowT], number: int, row: RowT) -> int | None:
    """Enter what has just ended under its number, as the last row of the table. Returns the number that is
    forgotten for it, the first to have been entered; None while there is room."""
    table[number] = row
    if len(table) <= ENDED_MAX:
        return None
    oldest = next(iter(table))
    del table[oldest]
    return oldest
