"""When cubes come free, by the estimates of the moment, and so when a waiting slice can start at the latest.

A timeline has for every cube who is on it, or will be, and until when. A slice that passes the first in line
is put into the timeline, and delays the first if its start then comes later: that is the whole of EASY
(Lifka, "The ANL/IBM SP scheduling system", 1995), wherever slices may lie.
"""

from collections.abc import Mapping, Sequence

from services.scheduler.structures.occupancy import BLOCKS, WHOLE_CUBE

FOREVER = 1 << 62
"""The end of what has none that anybody knows: a slice without a duration, a cube that is out of order."""

BusyInterval = tuple[int, int]
"""(chips of a cube as a bit mask, until when they are in use)."""


class Timeline:
    """Until when the cubes of a pod are in use, as seen at `now_us`. `free_us` has by cube when the whole of
    it is free; `parts` has the stays in those cubes that are not simply in use as a whole until then."""

    def __init__(
        self, now_us: int, free_us: Sequence[int], parts: Mapping[int, tuple[BusyInterval, ...]]
    ) -> None:
        self.now_us = now_us
        self.free_us = list(free_us)
        self.parts = dict(parts)
        for cube, intervals in parts.items():
            self.free_us[cube] = max([until_us for _, until_us in intervals], default=now_us)

    def with_slice(self, cubes: Sequence[int], mask: int, until_us: int) -> "Timeline":
        """The timeline once these chips of each of the cubes are in use until then."""
        parts = {cube: (*self._intervals(cube), (mask, until_us)) for cube in cubes}
        return Timeline(self.now_us, self.free_us, self.parts | parts)

    def cubes_us(self, cubes: int) -> int:
        """When so many cubes, whichever, are free; FOREVER if that never comes."""
        return sorted(self.free_us)[cubes - 1] if cubes <= len(self.free_us) else FOREVER

    def block_us(self, chips: int) -> int:
        """When a block of so many chips is free in a cube that others still use then."""
        return min(
            [
                block_us
                for cube, intervals in self.parts.items()
                for _, mask in BLOCKS[chips]
                if (block_us := self._mask_us(intervals, mask)) < self.free_us[cube]
            ],
            default=FOREVER,
        )

    def _intervals(self, cube: int) -> tuple[BusyInterval, ...]:
        return self.parts.get(cube, ((WHOLE_CUBE, self.free_us[cube]),))

    def _mask_us(self, intervals: tuple[BusyInterval, ...], mask: int) -> int:
        return max([until_us for used, until_us in intervals if used & mask], default=self.now_us)
