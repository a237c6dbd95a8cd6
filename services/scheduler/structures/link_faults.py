"""The link ends of a pod that are not up, by cube, and what follows from them for each slice.

It is derived from `bad_ends` of the state and kept next to it. The faults of a slice are computed when they
are first needed, and again only after an end of its cubes has changed. So the cost grows with the ends that
change, not with those that are broken.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from schemas.names import Shape
from shared.models.superpod.shapes import cube_grid
from shared.models.superpod.wiring import DIMENSIONS, ENDS_PER_CUBE, FACE_LINKS, FACES, ocs_of
from shared.models.topology.reroute import WHOLE_PPM

LinkCondition = Literal["down", "degraded"]
Cubes = tuple[int, ...]
IsInside = Callable[[Cubes, int], bool]
"""(cubes of a slice, an end of one of them) → whether its link belongs to the slice."""


@dataclass(frozen=True)  # without slots: `cached_property`
class SliceFaults:
    """The link ends of one slice that are not up, ascending."""

    shape: Shape
    cubes: Cubes
    down: tuple[int, ...] = ()
    degraded: tuple[int, ...] = ()

    @cached_property
    def down_by_cube(self) -> Mapping[int, int]:
        """Cube → its ends that are down, ascending by cube."""
        return Counter([end // ENDS_PER_CUBE for end in self.down])

    @cached_property
    def down_by_ocs(self) -> Mapping[int, int]:
        """OCS → the ends that are down over it."""
        return Counter([ocs_of(end) for end in self.down])

    def down_by_cube_without(self, ocses: Iterable[int]) -> Mapping[int, int]:
        """Cube → its ends that are down, except those over these OCSes; ascending by cube."""
        left_out = self.down_by_ocs.keys() & set(ocses)
        if not left_out:
            return self.down_by_cube
        return Counter([end // ENDS_PER_CUBE for end in self.down if ocs_of(end) not in left_out])

    @cached_property
    def remaining_ppm(self) -> tuple[int, int, int]:
        """By dimension, the share of links that is left in the plane that lost most, in parts per million."""
        grid = cube_grid(self.shape)
        places = {cube: place for place, cube in enumerate(self.cubes)}
        links_down: Counter[tuple[int, int]] = Counter()
        for face_of_pod, links in Counter([end // FACE_LINKS for end in self.down]).items():
            cube, face = divmod(face_of_pod, len(FACES))
            dimension, is_minus = divmod(face, 2)
            if not is_minus:
                x, rest = divmod(places[cube], grid[1] * grid[2])
                links_down[dimension, (x, *divmod(rest, grid[2]))[dimension]] += links
        remaining = [WHOLE_PPM] * DIMENSIONS
        for (dimension, _), links in links_down.items():
            plane = FACE_LINKS * len(self.cubes) // grid[dimension]
            remaining[dimension] = min(remaining[dimension], WHOLE_PPM - WHOLE_PPM * links // plane)
        return remaining[0], remaining[1], remaining[2]


class LinkFaults:
    """The link ends of a pod that are not up, by cube, and the faults of its slices.

    `is_inside` tells whether a link belongs to a slice. Only `record` changes the ends, and it forgets the
    faults of the slice on that cube: nothing else makes them stale, because they depend on nothing else.
    """

    def __init__(self, bad_ends: Mapping[int, LinkCondition], is_inside: IsInside) -> None:
        self._is_inside = is_inside
        self._by_cube: dict[int, dict[int, LinkCondition]] = {}
        self._known: dict[tuple[Shape, Cubes], SliceFaults] = {}
        self._known_on: dict[int, tuple[Shape, Cubes]] = {}
        """Cube → the slice in `_known` that includes it. At most one, so `_known` stays small."""
        for end, condition in bad_ends.items():
            self.record(end, condition)

    def record(self, end: int, condition: LinkCondition | None) -> None:
        """Record the new condition of a link end; None if it is up, or dark because no slice uses it."""
        cube = end // ENDS_PER_CUBE
        if condition is not None:
            self._by_cube.setdefault(cube, {})[end] = condition
        elif cube in self._by_cube:
            self._by_cube[cube].pop(end, None)
        self._forget(cube)

    def ends_on(self, cube: int) -> list[int]:
        """The ends of a cube that are not up."""
        return list(self._by_cube.get(cube, ()))

    def of(self, shape: Shape, cubes: Cubes) -> SliceFaults:
        """The faults of a slice of whole cubes."""
        known = self._known.get((shape, cubes))
        if known is not None:
            return known
        conditions = {
            end: condition
            for cube in cubes
            for end, condition in self._by_cube.get(cube, {}).items()
            if self._is_inside(cubes, end)
        }
        ends = sorted(conditions)
        found = SliceFaults(
            shape,
            cubes,
            tuple([end for end in ends if conditions[end] == "down"]),
            tuple([end for end in ends if conditions[end] == "degraded"]),
        )
        for cube in cubes:
            self._forget(cube)
            self._known_on[cube] = shape, cubes
        self._known[shape, cubes] = found
        return found

    def _forget(self, cube: int) -> None:
        """Forget the faults of the slice that includes this cube: the only place that does."""
        key = self._known_on.pop(cube, None)
        if key is not None:
            self._known.pop(key, None)
