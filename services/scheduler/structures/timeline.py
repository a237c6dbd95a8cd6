"""When cubes come free by the current estimates, and so the latest start of a waiting slice.

A timeline has the slices on every cube, now and later, and their ends. To test whether a slice may pass the
first in line, add it to the timeline: it delays the first if that start then comes later. This is EASY
(Lifka, "The ANL/IBM SP scheduling system", 1995), for any placement.
"""

from collections.abc import Mapping, Sequence

from services.scheduler.structures.occupancy import BLOCKS, WHOLE_CUBE

FOREVER = 1 << 62
"""The end of anything without a known end: a slice without a duration, or a cube that is out of use."""

BusyInterval = tuple[int, int]
"""(chips of a cube as a bit mask, until when they are in use)."""


class Timeline:
    """Until when the cubes of a pod are in use, as seen at `now_us`.

    `free_us`, by cube: when the whole cube is free. `parts`: the busy intervals of cubes that are only partly
    in use.
    """

    def __init__(
        self, now_us: int, free_us: Sequence[int], parts: Mapping[int, tuple[BusyInterval, ...]]
    ) -> None:
        self.now_us = now_us
        self.free_us = list(free_us)
        self.parts = dict(parts)
        for cube, intervals in parts.items():
            self.free_us[cube] = max([until_us for _, until_us in intervals], default=now_us)

    def with_slice(self, cubes: Sequence[int], mask: int, until_us: int) -> "Timeline":
        """The timeline with these chips of each of the cubes in use until then."""
        later = Timeline(self.now_us, self.free_us, {})
        later.parts = self.parts | {cube: (*self._intervals(cube), (mask, until_us)) for cube in cubes}
        for cube in cubes:
            later.free_us[cube] = max(self.free_us[cube], until_us)
        return later

    def cubes_us(self, cubes: int) -> int:
        """When this many cubes are free; FOREVER if never."""
        return sorted(self.free_us)[cubes - 1] if cubes <= len(self.free_us) else FOREVER

    def block_us(self, chips: int) -> int:
        """When a block of this many chips is free in a cube that is still partly in use; FOREVER if never."""
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
