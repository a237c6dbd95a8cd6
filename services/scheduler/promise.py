"""When the first in the queue can start at the latest, and who may pass it without making it wait for longer
(Lifka, "The ANL/IBM SP scheduling system", 1995: EASY).

Any cubes will do, so that what counts is how many there are. All is judged on the estimates of the moment:
one that overruns moves the promise, and that is said.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """The first of the queue can start at `at_us`; `spare` cubes are then left over, so that whoever needs no
    more may stay for longer."""

    at_us: int
    spare: int

    def lets_pass(self, cubes: int, ends_us: int) -> bool:
        """Whether a slice of so many cubes that fits now and ends then keeps the first from nothing."""
        return ends_us <= self.at_us or cubes <= self.spare

    def after(self, cubes: int, ends_us: int) -> "Promise":
        """The promise when such a slice has started."""
        return self if ends_us <= self.at_us else Promise(self.at_us, self.spare - cubes)


def promise(idle: int, ends: Iterable[tuple[int, int]], cubes: int, now_us: int) -> Promise | None:
    """When so many cubes are idle, of which `idle` are now and others as slices end: `ends` are (end,
    cubes), by estimate. None if they never suffice."""
    if idle >= cubes:
        return Promise(now_us, idle - cubes)
    there, at_us = idle, now_us
    for end_us, freed in sorted(ends):
        if there >= cubes and end_us > at_us:
            break
        there += freed
        at_us = max(end_us, now_us)
    return Promise(at_us, there - cubes) if there >= cubes else None
