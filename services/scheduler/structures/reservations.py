"""Reservations of cubes over time: each slice in line starts as early as it can without delaying earlier
ones."""

from bisect import bisect_left
from collections.abc import Iterable

from services.scheduler.structures.timeline import FOREVER


class ReservationTable:
    """The use of cubes over time, from `now_us` on: in use by running slices, or reserved for waiting ones.

    Sets of cubes are bit masks. Nothing changes between two of the `times`, or after the last.
    """

    def __init__(self, now_us: int, free_us: Iterable[int]) -> None:
        ends = list(free_us)
        self.everything = (1 << len(ends)) - 1
        self.times = sorted({now_us, *(end_us for end_us in ends if now_us < end_us < FOREVER)})
        self.busy = [
            sum([1 << cube for cube, end_us in enumerate(ends) if end_us > at_us]) for at_us in self.times
        ]
        self.booked = [0] * len(self.times)

    def free(self, at: int, until_us: int) -> int:
        """The cubes that are free from `times[at]` until `until_us`."""
        taken = 0
        for number in range(at, len(self.times)):
            if number > at and self.times[number] >= until_us:
                break
            taken |= self.busy[number] | self.booked[number]
            if taken == self.everything:
                break
        return self.everything & ~taken

    def is_booked(self, cube: int, until_us: int) -> bool:
        """Whether a waiting slice has reserved this cube before `until_us`."""
        return any(
            booked >> cube & 1
            for at_us, booked in zip(self.times, self.booked, strict=True)
            if at_us < until_us
        )

    def reserve(self, cubes: int, from_us: int, until_us: int) -> None:
        first, last = self._index_of(from_us), self._index_of(until_us)
        for number in range(first, last):
            self.booked[number] |= cubes

    def _index_of(self, at_us: int) -> int:
        """The index of this time in `times`; inserted if missing."""
        if at_us >= FOREVER:
            return len(self.times)
        number = bisect_left(self.times, at_us)
        if number == len(self.times) or self.times[number] != at_us:
            self.times.insert(number, at_us)
            self.busy.insert(number, self.busy[number - 1])
            self.booked.insert(number, self.booked[number - 1])
        return number
