"""The queue as lines of waiting slices: one line for each tier, owner and shape, ordered by (priority,
highest first; age).

The order among lines changes all the time and is computed in `order`. A decision looks at lines rather than
slices: a fit depends only on the shape, and the right to pass or preempt only on the tier. So its cost does
not depend on the number of waiting slices.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from schemas.names import Shape

TIERS = ("production", "research", "filler")
"""The tiers, highest first."""
FILLER = TIERS.index("filler")

Place = tuple[int, int]
"""(−priority, slice number): the order in a line. A requeued slice keeps its number and so its old place."""
Line = tuple[int, str, Shape]
"""(tier number, owner, shape)."""


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
        """Remove a slice that is in the line."""
        places = self.lines[line]
        del places[bisect_left(places, place)]
        if not places:
            del self.lines[line]
        self._count(line, -1)

    def waiting(self, owner: str) -> int:
        """The number of waiting slices of an owner."""
        return self._waiting.get(owner, 0)

    def firm_owners(self) -> set[str]:
        """The owners with waiting production or research slices."""
        return {owner for owner, count in self._firm.items() if count}

    def _count(self, line: Line, change: int) -> None:
        for counts in (self._waiting, self._firm) if line[0] != FILLER else (self._waiting,):
            counts[line[1]] = counts.get(line[1], 0) + change

    def filler(self) -> Iterator[Line]:
        return (line for line in self.lines if line[0] == FILLER)
