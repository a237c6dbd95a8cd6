"""How slices are placed on the cubes of each kind of pod: the only difference between their schedulers.

A superpod's OCSes join any cubes, and only while a slice has them (Lightwave Fabrics 4.2). A static pod's
fibres always join neighbours in a grid. A slice inside one cube needs none of them, and can move in both
kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Protocol

import numpy as np

from schemas.names import Join, Shape
from services.scheduler.structures.occupancy import BLOCKS, Corner, Occupancy
from services.scheduler.structures.preemption_choice import VictimGroup, cheapest_groups, cheapest_place
from services.scheduler.structures.timeline import Timeline
from shared.models.static_pod import boxes
from shared.models.static_pod.static_pod_plant import CUBES, neighbour_end
from shared.models.superpod import shapes
from shared.models.superpod.shapes import cube_grid, cubes_of, is_mesh, slice_joins
from shared.models.superpod.wiring import ENDS_PER_CUBE

Fit = tuple[tuple[int, ...], Corner | None]
"""(cubes, corner): where a slice fits."""
LossBySlice = dict[int, int]
"""Slice that may be preempted → what it would lose, in chip-microseconds."""


VictimNumbers = tuple[int, ...]
"""The numbers of slices that leave, ascending."""


Cubes = tuple[int, ...]
ALL_CUBES = -1
"""All cubes, as a bit mask."""
COMPACTED_CUBES_MAX = 12
"""Maximum number of mesh-only cubes considered for compaction: at most 924 choices."""
RESEARCH_COST_SHIFT = 64
"""Bits by which the losses of research are shifted, so that they outweigh all losses of filler."""


class PodPlacement(Protocol):
    """How slices are placed on the cubes of a kind of pod.

    `links_are_fixed`: whether links are always lit, rather than only for a slice.
    """

    links_are_fixed: bool

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
        """Raise InvalidInput unless an empty pod can hold such a slice."""

    def find_fit(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Fit | None:
        """Where a slice fits now; None if there is no room. Without `whole_cubes`, idle cubes are
        not used."""

    def fit_by_preemption(
        self, occupancy: Occupancy, shape: Shape, lost: LossBySlice, *, among: int = ALL_CUBES, spare: int = 0
    ) -> tuple[Fit, VictimNumbers] | None:
        """Where a slice fits if some of the slices in `lost` leave, with the smallest loss, and which; None
        if nowhere. `among` limits the whole cubes, as a bit mask. `spare` cubes are left over; filler need
        not leave for those."""

    def first_cubes(self, shape: Shape, free: int) -> tuple[int, ...] | None:
        """The first whole cubes of a bit mask that can hold a slice. A mesh fits on any."""

    def cubes_to_empty(
        self, shape: Shape, loose: Sequence[int], crowded: Sequence[int], spare: int
    ) -> Iterable[tuple[Cubes, Cubes]]:
        """Which crowded cubes to empty so that a slice of whole cubes fits on them and on loose ones, with
        `spare` cubes left over. Yields (emptied cubes, the slice's cubes) for each minimal choice."""

    def start_us(self, timeline: Timeline, shape: Shape, held_back: int) -> int:
        """The latest start of a slice by a timeline, if `held_back` cubes are left over; FOREVER if there is
        none."""

    def joins(self, shape: Shape, twisted: bool, cubes: tuple[int, ...]) -> tuple[Join, ...]:
        """The joins that a slice on these cubes needs."""

    def can_move(self, cubes: tuple[int, ...]) -> bool:
        """Whether a spare can replace one of a slice's cubes."""

    def slice_at(self, occupancy: Occupancy, link_end: int) -> int | None:
        """The slice that this link end belongs to."""

    def is_inside(self, cubes: tuple[int, ...], link_end: int) -> bool:
        """Whether the link at this end of one of a slice's cubes belongs to the slice."""

    def needed_text(self, shape: Shape) -> str:
        """The cubes that a slice of whole cubes needs, in words."""


class SwitchedPlacement:
    """Placement in a superpod: any cubes will do, and circuits are made between them."""

    links_are_fixed = False

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
        shapes.check_shape(shape, twisted, cubes_in_pod)

    def find_fit(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Fit | None:
        return occupancy.find_fit(shapes.chips_of(shape), whole_cubes)

    def fit_by_preemption(
        self, occupancy: Occupancy, shape: Shape, lost: LossBySlice, *, among: int = ALL_CUBES, spare: int = 0
    ) -> tuple[Fit, VictimNumbers] | None:
        """A mesh on the cheapest block; whole cubes on idle cubes and those of the cheapest slices."""
        if is_mesh(shape):
            return _cheapest_block(occupancy, shape, lost, among)
        needed = cubes_of(shape)
        idle = [cube for cube in occupancy.idle if among >> cube & 1]
        groups = _victim_groups(occupancy, lost, among)
        chosen = cheapest_groups(groups, needed + spare - len(idle))
        if chosen is None:
            return None
        if spare:  # filler need not leave for the cubes that are only left over
            firm = [group for group in chosen if group.lost >> RESEARCH_COST_SHIFT]
            freed = sum([group.cubes for group in firm])
            filler = [group for group in groups if not group.lost >> RESEARCH_COST_SHIFT]
            chosen = (*firm, *(cheapest_groups(filler, needed - len(idle) - freed) or ()))
        leaving = {number for group in chosen for number in group.slices}
        freed_cubes = [cube for cube in occupancy.cubes_freed_by(leaving) if among >> cube & 1]
        cubes = sorted([*idle, *freed_cubes][:needed])
        return (tuple(cubes), None), tuple(sorted(leaving))

    def cubes_to_empty(
        self, shape: Shape, loose: Sequence[int], crowded: Sequence[int], spare: int
    ) -> Iterable[tuple[Cubes, Cubes]]:
        """Any subset of the first crowded cubes of the required size."""
        wanted = cubes_of(shape)
        for emptied in combinations(crowded[:COMPACTED_CUBES_MAX], max(0, wanted + spare - len(loose))):
            yield emptied, (*emptied, *loose)[:wanted]

    def first_cubes(self, shape: Shape, free: int) -> tuple[int, ...] | None:
        cubes = [cube for cube in range(free.bit_length()) if free >> cube & 1]
        return tuple(cubes[: cubes_of(shape)]) if len(cubes) >= cubes_of(shape) else None

    def start_us(self, timeline: Timeline, shape: Shape, held_back: int) -> int:
        if is_mesh(shape):
            return _mesh_start_us(timeline, shape, held_back)
        return timeline.cubes_us(cubes_of(shape) + held_back)

    def joins(self, shape: Shape, twisted: bool, cubes: tuple[int, ...]) -> tuple[Join, ...]:
        return slice_joins(shape, twisted, cubes)

    def can_move(self, cubes: tuple[int, ...]) -> bool:  # noqa: ARG002 -- as every placement
        return True

    def slice_at(self, occupancy: Occupancy, link_end: int) -> int | None:
        return occupancy.torus_at(link_end // ENDS_PER_CUBE)

    def is_inside(self, cubes: tuple[int, ...], link_end: int) -> bool:  # noqa: ARG002 -- as every placement
        return True

    def needed_text(self, shape: Shape) -> str:
        return _healthy_idle_cubes(cubes_of(shape))


class FixedGridPlacement:
    """Placement in a static pod: a slice of several cubes needs a box of adjacent cubes and stays there; a
    slice inside a cube can go to any other.

    A link belongs to a slice if both its cubes do. So links wrap around a slice only where it spans the whole
    grid.
    """

    links_are_fixed = True

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:  # noqa: ARG002 -- as every placement
        boxes.check_static_shape(shape, twisted)

    def find_fit(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Fit | None:
        """A mesh in any cube; whole cubes in the first idle box."""
        if is_mesh(shape):
            return occupancy.find_fit(shapes.chips_of(shape), whole_cubes)
        if not whole_cubes or cubes_of(shape) > len(occupancy.idle):
            return None
        cubes = boxes.first_box(shape, sum([1 << cube for cube in occupancy.idle]))
        return None if cubes is None else (cubes, None)

    def fit_by_preemption(
        self,
        occupancy: Occupancy,
        shape: Shape,
        lost: LossBySlice,
        *,
        among: int = ALL_CUBES,
        spare: int = 0,  # noqa: ARG002 -- as every placement
    ) -> tuple[Fit, VictimNumbers] | None:
        """A mesh on the cheapest block of a cube; whole cubes on the cheapest box."""
        if is_mesh(shape):
            return _cheapest_block(occupancy, shape, lost, among)
        takeable = sum([1 << cube for cube in _takeable(occupancy, among)])
        places = {
            frozenset([number for cube in cubes for number in occupancy.holders[cube]]): cubes
            for mask, cubes in reversed(boxes.boxes(shape))
            if mask & takeable == mask
        }
        victims = cheapest_place(places, lost)
        return None if victims is None else ((places[victims], None), tuple(sorted(victims)))

    def cubes_to_empty(
        self,
        shape: Shape,
        loose: Sequence[int],
        crowded: Sequence[int],
        spare: int,
    ) -> Iterable[tuple[Cubes, Cubes]]:
        """For every box, the crowded cubes in its way."""
        if cubes_of(shape) + spare > len(loose) + len(crowded):
            return
        for _, cubes in boxes.boxes(shape):
            emptied = [cube for cube in cubes if cube not in loose]
            if emptied and set(emptied) <= set(crowded):
                yield tuple(emptied), cubes

    def first_cubes(self, shape: Shape, free: int) -> tuple[int, ...] | None:
        if is_mesh(shape):
            return ((free & -free).bit_length() - 1,) if free else None
        return boxes.first_box(shape, free)

    def start_us(self, timeline: Timeline, shape: Shape, held_back: int) -> int:
        if is_mesh(shape):
            return _mesh_start_us(timeline, shape, held_back)
        free_us = timeline.free_us
        box_us = min([max([free_us[cube] for cube in cubes]) for _, cubes in boxes.boxes(shape)])
        return max(box_us, timeline.cubes_us(cubes_of(shape) + held_back))

    def joins(
        self,
        shape: Shape,  # noqa: ARG002 -- as every placement
        twisted: bool,  # noqa: ARG002 -- as every placement
        cubes: tuple[int, ...],  # noqa: ARG002 -- as every placement
    ) -> tuple[Join, ...]:
        return ()

    def can_move(self, cubes: tuple[int, ...]) -> bool:
        return len(cubes) == 1

    def slice_at(self, occupancy: Occupancy, link_end: int) -> int | None:
        number = occupancy.torus_at(link_end // ENDS_PER_CUBE)
        far = occupancy.torus_at(_neighbour_cubes()[link_end])
        return number if number == far else None

    def is_inside(self, cubes: tuple[int, ...], link_end: int) -> bool:
        return _neighbour_cubes()[link_end] in cubes

    def needed_text(self, shape: Shape) -> str:
        extents = "×".join(str(side) for side in cube_grid(shape))
        return f"{extents} adjacent healthy idle cubes" if cubes_of(shape) > 1 else _healthy_idle_cubes(1)


def _takeable(occupancy: Occupancy, among: int) -> Iterator[int]:
    """The cubes of a bit mask that can be used once they are empty."""
    return (
        cube
        for cube, allowed in enumerate(occupancy.allowed)
        if allowed and not occupancy.kept[cube] and among >> cube & 1
    )


def _victim_groups(occupancy: Occupancy, lost: LossBySlice, among: int) -> list[VictimGroup]:
    """The groups that can leave: slices with the cubes that they free, and all meshes of a cube together."""
    cubes: dict[tuple[int, ...], int] = {}
    for cube in occupancy.cubes_freed_by(lost):
        if among >> cube & 1:
            holders = occupancy.holders[cube]
            cubes[holders] = cubes.get(holders, 0) + 1
    return [
        VictimGroup(holders, freed, sum([lost[number] for number in holders]))
        for holders, freed in cubes.items()
    ]


def _cheapest_block(
    occupancy: Occupancy, shape: Shape, lost: LossBySlice, among: int
) -> tuple[Fit, VictimNumbers] | None:
    places: dict[frozenset[int], Fit] = {}
    for cube, holders in enumerate(occupancy.holders):
        if not occupancy.allowed[cube] or not among >> cube & 1:
            continue
        if holders and not any(number in lost for number in holders):
            continue
        blocks = BLOCKS[shapes.chips_of(shape)]
        if not occupancy.kept[cube] and not any(number in occupancy.meshes for number in holders):
            blocks = blocks[:1]  # one slice has the whole cube: all blocks are equivalent
        for corner, mask in blocks:
            if not mask & occupancy.kept[cube]:
                slices_on_block = frozenset(occupancy.slices_on(cube, mask))
                places.setdefault(slices_on_block, ((cube,), corner))
    victims = cheapest_place(places, lost)
    return None if victims is None else (places[victims], tuple(sorted(victims)))


def _mesh_start_us(timeline: Timeline, shape: Shape, held_back: int) -> int:
    """The start of a mesh: in a partly used cube, or in a whole cube beyond those held back."""
    return min(timeline.block_us(shapes.chips_of(shape)), timeline.cubes_us(1 + held_back))


def _healthy_idle_cubes(cubes: int) -> str:
    return f"{cubes} healthy idle cube{'s' if cubes > 1 else ''}"


@cache
def _neighbour_cubes() -> tuple[int, ...]:
    """By link end of a static pod: the cube at the other end of its fibres."""
    return tuple((neighbour_end(np.arange(CUBES * ENDS_PER_CUBE)) // ENDS_PER_CUBE).tolist())


SWITCHED_PLACEMENT, FIXED_GRID_PLACEMENT = SwitchedPlacement(), FixedGridPlacement()
PLACEMENTS: dict[str, PodPlacement] = {"superpod": SWITCHED_PLACEMENT, "static-pod": FIXED_GRID_PLACEMENT}
"""Kind of fabric → its placement."""
