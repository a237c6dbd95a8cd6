"""The last things that ended (faults, repairs, slices), kept in a state for people to look at."""

from typing import Protocol, TypeVar

ENDED_MAX = 200
"""Ended things kept in one ledger, the last to end; older ones are forgotten."""


class Ended(Protocol):
    """A row of a ledger: when it ended, simulated microseconds."""

    @property
    def ended_us(self) -> int | None: ...


RowT = TypeVar("RowT", bound=Ended)


def keep_ended(ledger: dict[int, RowT], number: int, row: RowT) -> int | None:
    """Enter what has just ended under its number. Returns the number that is forgotten for it, the oldest by
    (time of the end, number); None while there is room. The order of the table plays no part."""
    ledger[number] = row
    if len(ledger) <= ENDED_MAX:
        return None
    _, oldest = min([(row.ended_us or 0, number) for number, row in ledger.items()])
    del ledger[oldest]
    return oldest
