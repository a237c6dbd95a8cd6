"""When cubes come free, by the estimates of the moment, and so when a waiting slice can start at the latest.

A timeline has for every cube who is on it, or will be, and until when. A slice that passes the first in line
is put into the timeline, and delays the first if its start then comes later: that is the whole of EASY
(Lifka, "The ANL/IBM SP scheduling system", 1995), wherever slices may lie.
"""

from collections.abc import Sequence

from services.scheduler.placement.occupancy import BLOCKS, WHOLE_CUBE

FOREVER = 1 << 62
"""The end of what has none that anybody knows: a slice without a duration, a cube that is out of order."""

Stay = tuple[int, int]
"""(chips of a cube as a bit mask, until when they are in use)."""


class Timeline:
    """Until when the cubes of a pod are in use, as seen at `now_us`."""

    def __init__(self, now_us: int, stays: Sequence[tuple[Stay, ...]]) -> None:
        self.now_us = now_us
        self.stays = list(stays)
        self.free_us = [
            cube[0][1] if len(cube) == 1 else max([until_us for _, until_us in cube], default=now_us)
            for cube in stays
        ]
        """By cube: when the whole of it is free."""

    def with_slice(self, cubes: Sequence[int], mask: int, until_us: int) -> "Timeline":
        """The timeline once these chips of each of the cubes are in use until then."""
        after = Timeline.__new__(Timeline)
        after.now_us, after.stays, after.free_us = self.now_us, list(self.stays), list(self.free_us)
        for cube in cubes:
            after.stays[cube] = (*after.stays[cube], (mask, until_us))
            after.free_us[cube] = max(after.free_us[cube], until_us)
        return after

    def cubes_us(self, cubes: int) -> int:
        """When so many cubes, whichever, are free; FOREVER if that never comes."""
        return sorted(self.free_us)[cubes - 1] if cubes <= len(self.free_us) else FOREVER

    def block_us(self, chips: int) -> int:
        """When a block of so many chips is free in a cube that others still use then."""
        return min(
            [
                block_us
                for cube, whole_us in zip(self.stays, self.free_us, strict=True)
                if whole_us > self.now_us
                for _, mask in BLOCKS[chips]
                if (block_us := self._mask_us(cube, mask)) < whole_us
            ],
            default=FOREVER,
        )

    def _mask_us(self, cube: tuple[Stay, ...], mask: int) -> int:
        return max([until_us for used, until_us in cube if used & mask], default=self.now_us)


def whole(until_us: int) -> tuple[Stay, ...]:
    """A cube that is in use as a whole."""
    return ((WHOLE_CUBE, until_us),)
