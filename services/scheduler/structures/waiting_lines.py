"""The waiting slices in lines: one for each tier, owner and shape, each in order of (priority, highest first;
age).

What stands before what among the lines is for `order` to say, at every moment anew. Whether a slice fits
depends on its shape, and who may pass or pre-empt on its tier, so that a decision looks at lines rather than
at slices, however many wait.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from schemas.names import Shape

TIERS = ("production", "research", "filler")
"""The tiers, first served first."""
FILLER = TIERS.index("filler")

Place = tuple[int, int]
"""(−priority, slice number): the order in a line. A slice that comes back has its number still, so that it
takes its old place."""
Line = tuple[int, str, Shape]
"""(number of the tier, owner, shape)."""


class Queue:
    """Waiting slices: line → their places, in order. No line is empty."""

    def __init__(self) -> None:
        self.lines: dict[Line, list[Place]] = {}
        self._waiting: dict[str, int] = {}
        self._firm: dict[str, int] = {}

    def add(self, line: Line, place: Place) -> None:
        insort(self.lines.setdefault(line, []), place)
        self._count(line, 1)

    def remove(self, line: Line, place: Place) -> None:
        """Take one out; it must be there."""
        places = self.lines[line]
        del places[bisect_left(places, place)]
        if not places:
            del self.lines[line]
        self._count(line, -1)

    def waiting(self, owner: str) -> int:
        """How many slices of an owner wait here."""
        return self._waiting.get(owner, 0)

    def firm_owners(self) -> set[str]:
        """Those of whom production or research waits here."""
        return {owner for owner, count in self._firm.items() if count}

    def _count(self, line: Line, more: int) -> None:
        for counts in (self._waiting, self._firm) if line[0] != FILLER else (self._waiting,):
            counts[line[1]] = counts.get(line[1], 0) + more

    def filler(self) -> Iterator[Line]:
        return (line for line in self.lines if line[0] == FILLER)
