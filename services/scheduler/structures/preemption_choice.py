"""Chooses the slices to preempt: those that lose least work, and no more than needed.

A choice frees whole cubes. Its cost is the work that its slices lose, then their number. So a slice whose
cubes are not needed never leaves: without it, the choice would be no dearer and smaller.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Cost = tuple[int, int]
"""(chip-microseconds lost, slices): compared in this order, less is better."""


@dataclass(frozen=True, slots=True)
class VictimGroup:
    """Slices that can only leave together: one slice, or all meshes of a cube."""

    slices: tuple[int, ...]
    cubes: int
    """Cubes that come free."""
    lost: int
    """Chip-microseconds of work that no checkpoint keeps."""

    @property
    def cost(self) -> Cost:
        return self.lost, len(self.slices)


def cheapest_groups(groups: Sequence[VictimGroup], needed: int) -> tuple[VictimGroup, ...] | None:
    """The cheapest groups that free at least `needed` cubes, in input order; None if all together free fewer.

    Exact: a knapsack over cubes in (groups × `needed`) steps. Ties go to earlier groups.
    """
    if needed <= 0:
        return ()
    if sum([group.cubes for group in groups]) < needed:
        return None
    best: list[tuple[int, int, tuple[int, ...]] | None] = [(0, 0, ()), *[None] * needed]
    for place, group in enumerate(groups):
        for freed in range(needed - 1, -1, -1):
            before = best[freed]
            if before is None:
                continue
            lost, slices, chosen = before
            total = min(needed, freed + group.cubes)
            candidate = (lost + group.lost, slices + len(group.slices), (*chosen, place))
            current = best[total]
            if current is None or candidate < current:
                best[total] = candidate
    cheapest = best[needed]
    return None if cheapest is None else tuple([groups[place] for place in cheapest[2]])


def cheapest_place(places: Iterable[frozenset[int]], lost: dict[int, int]) -> frozenset[int] | None:
    """The place whose slices lose least, if only certain places will do: blocks of a cube or boxes of a grid.

    Each place is given as the set of slices on it. `lost` has the slices that may be preempted and their
    losses; a place with any other slice is skipped. Ties go to the first place.
    """
    best: tuple[Cost, frozenset[int]] | None = None
    for place in places:
        if not all(number in lost for number in place):
            continue
        cost = sum([lost[number] for number in place]), len(place)
        if best is None or cost < best[0]:
            best = cost, place
    return None if best is None else best[1]
