"""Who makes room for a slice that may pre-empt others: those who lose least by it, and no more than are
needed.

A choice frees whole cubes. What it costs is the work that its slices lose, then how many they are: so no
slice leaves whose cubes are not needed, for without it the choice would be as cheap and smaller.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Cost = tuple[int, int]
"""(chip-microseconds lost, slices): the less the better, in this order."""


@dataclass(frozen=True, slots=True)
class VictimGroup:
    """What could be made to leave as a whole: a slice, or all meshes of one cube. `cubes` it frees, and
    `lost` chip-microseconds of work that no checkpoint keeps."""

    slices: tuple[int, ...]
    cubes: int
    lost: int

    @property
    def cost(self) -> Cost:
        return self.lost, len(self.slices)


def cheapest_groups(leavers: Sequence[VictimGroup], needed: int) -> tuple[VictimGroup, ...] | None:
    """The cheapest of these that free at least so many cubes together, in their order; None if all of them
    free fewer. Exact: a knapsack over cubes, in leavers × `needed` steps; of equal choices the one with
    earlier leavers."""
    if needed <= 0:
        return ()
    if sum([leaver.cubes for leaver in leavers]) < needed:
        return None
    best: list[tuple[int, int, tuple[int, ...]] | None] = [(0, 0, ()), *[None] * needed]
    for place, leaver in enumerate(leavers):
        for freed in range(needed - 1, -1, -1):
            before = best[freed]
            if before is None:
                continue
            lost, slices, chosen = before
            then = min(needed, freed + leaver.cubes)
            offer = (lost + leaver.lost, slices + len(leaver.slices), (*chosen, place))
            present = best[then]
            if present is None or offer < present:
                best[then] = offer
    found = best[needed]
    return None if found is None else tuple([leavers[place] for place in found[2]])


def cheapest_place(places: Iterable[frozenset[int]], lost: dict[int, int]) -> frozenset[int] | None:
    """Where only certain places will do, blocks of a cube or boxes of a grid: of places, each given as the
    slices that lie on it, the one whose slices lose least. `lost` has those that may be pre-empted, with what
    they would lose; a place on which any other lies is none. The first of several that are equal."""
    found: tuple[Cost, frozenset[int]] | None = None
    for place in places:
        if not all(number in lost for number in place):
            continue
        cost = sum([lost[number] for number in place]), len(place)
        if found is None or cost < found[0]:
            found = cost, place
    return None if found is None else found[1]
