"""How slices lie on the cubes of each kind of pod: the one thing in which their schedulers differ.

A superpod's OCSes join any cubes, and only while a slice has them (Lightwave Fabrics 4.2). A static pod's
fibres join neighbours in a grid, always; what lies inside one cube needs none of them, and can move in both.
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
"""Slice that may be made to leave → what it would lose, in chip-microseconds."""


VictimNumbers = tuple[int, ...]
"""Slices that leave, rising."""


Cubes = tuple[int, ...]
ALL_CUBES = -1
"""All cubes, as a bit mask."""
COMPACTED_CUBES_MAX = 12
"""Cubes used by meshes alone of which some are emptied: at most 924 choices."""
RESEARCH_COST_SHIFT = 64
"""Bits by which what research would lose is raised above all that filler can lose."""


class PodPlacement(Protocol):
    """How slices lie on the cubes of a kind of pod.

    `links_stay`: whether links are lit whoever has their cubes, rather than only for a slice.
    """

    links_are_fixed: bool

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
        """InvalidInput unless an empty pod can hold such a slice."""

    def find_fit(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Fit | None:
        """Where a slice fits now, or None. Without `whole_cubes`, idle cubes are kept for somebody else."""

    def fit_by_preemption(
        self, occupancy: Occupancy, shape: Shape, lost: LossBySlice, *, among: int = ALL_CUBES, spare: int = 0
    ) -> tuple[Fit, VictimNumbers] | None:
        """Where a slice fits once some of these have left, who lose least by it, and which; or None. `among`
        is the set of cubes that whole ones are taken of, as a bit mask; so many `spare` cubes are to be left
        over for which filler need not leave."""

    def first_cubes(self, shape: Shape, free: int) -> tuple[int, ...] | None:
        """The first whole cubes of a set, given as a bit mask, on which a slice can lie; a mesh on any."""

    def cubes_to_empty(
        self, shape: Shape, loose: Sequence[int], crowded: Sequence[int], spare: int
    ) -> Iterable[tuple[Cubes, Cubes]]:
        """Which of the crowded cubes could be emptied so that a slice of whole cubes fits on those and loose
        ones, the first ones first, and so many `spare` ones are left over: (emptied, the slice's) for each
        choice of no more than it takes."""

    def start_us(self, timeline: Timeline, shape: Shape, held_back: int) -> int:
        """When a slice can start by a timeline at the latest, if so many cubes are to be left over;
        FOREVER if that never comes."""

    def joins(self, shape: Shape, twisted: bool, cubes: tuple[int, ...]) -> tuple[Join, ...]:
        """The circuits that a slice on these cubes needs made."""

    def can_move(self, cubes: tuple[int, ...]) -> bool:
        """Whether a spare can take the place of one of a slice's cubes."""

    def slice_at(self, occupancy: Occupancy, link_end: int) -> int | None:
        """The slice whose link ends here."""

    def needed_text(self, shape: Shape) -> str:
        """What a slice of whole cubes waits for, in words."""


class SwitchedPlacement:
    """A superpod's: any cubes will do, and circuits are made between them."""

    links_are_fixed = False

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
        shapes.check_shape(shape, twisted, cubes_in_pod)

    def find_fit(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Fit | None:
        return occupancy.find_fit(shapes.chips_of(shape), whole_cubes)

    def fit_by_preemption(
        self, occupancy: Occupancy, shape: Shape, lost: LossBySlice, *, among: int = ALL_CUBES, spare: int = 0
    ) -> tuple[Fit, VictimNumbers] | None:
        """A mesh on the cheapest block; whole cubes idle ones and those of the cheapest slices."""
        if is_mesh(shape):
            return _block_by_force(occupancy, shape, lost, among)
        needed = cubes_of(shape)
        idle = [cube for cube in occupancy.idle if among >> cube & 1]
        leavers = _leavers(occupancy, lost, among)
        chosen = cheapest_groups(leavers, needed + spare - len(idle))
        if chosen is None:
            return None
        if spare:  # who leaves only for what is left over need not, if it is filler
            firm = [leaver for leaver in chosen if leaver.lost >> RESEARCH_COST_SHIFT]
            freed = sum([leaver.cubes for leaver in firm])
            filler = [leaver for leaver in leavers if not leaver.lost >> RESEARCH_COST_SHIFT]
            chosen = (*firm, *(cheapest_groups(filler, needed - len(idle) - freed) or ()))
        leaving = {number for leaver in chosen for number in leaver.slices}
        theirs = [cube for cube in occupancy.cubes_freed_by(leaving) if among >> cube & 1]
        cubes = sorted([*idle, *theirs][:needed])
        return (tuple(cubes), None), tuple(sorted(leaving))

    def cubes_to_empty(
        self, shape: Shape, loose: Sequence[int], crowded: Sequence[int], spare: int
    ) -> Iterable[tuple[Cubes, Cubes]]:
        """Any so many of the first crowded cubes."""
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

    def needed_text(self, shape: Shape) -> str:
        return _counted(cubes_of(shape))


class FixedGridPlacement:
    """A static pod's: a slice of several cubes lies on a box of adjacent ones and stays there; one inside a
    cube can go to any other. A link is a slice's if both its cubes are, so that links wrap around the slice
    only where it spans the whole grid."""

    links_are_fixed = True

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:  # noqa: ARG002 -- as every placement
        boxes.check_static_shape(shape, twisted)

    def find_fit(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Fit | None:
        """A mesh in any cube; whole cubes in the first box that is idle."""
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
            return _block_by_force(occupancy, shape, lost, among)
        takeable = sum([1 << cube for cube in _takeable(occupancy, among)])
        places = {
            frozenset([number for cube in cubes for number in occupancy.holders[cube]]): cubes
            for mask, cubes in reversed(boxes.boxes(shape))
            if mask & takeable == mask
        }
        found = cheapest_place(places, lost)
        return None if found is None else ((places[found], None), tuple(sorted(found)))

    def cubes_to_empty(
        self,
        shape: Shape,
        loose: Sequence[int],
        crowded: Sequence[int],
        spare: int,
    ) -> Iterable[tuple[Cubes, Cubes]]:
        """For every box, what is in its way."""
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

    def needed_text(self, shape: Shape) -> str:
        extents = "×".join(str(side) for side in cube_grid(shape))
        return f"{extents} adjacent healthy idle cubes" if cubes_of(shape) > 1 else _counted(1)


def _takeable(occupancy: Occupancy, among: int) -> Iterator[int]:
    """The cubes of a set that may be given away once nobody uses them."""
    return (
        cube
        for cube, allowed in enumerate(occupancy.allowed)
        if allowed and not occupancy.kept[cube] and among >> cube & 1
    )


def _leavers(occupancy: Occupancy, lost: LossBySlice, among: int) -> list[VictimGroup]:
    """What can be made to leave as a whole: slices with the cubes that they would free, and all meshes of a
    cube together."""
    cubes: dict[tuple[int, ...], int] = {}
    for cube in occupancy.cubes_freed_by(lost):
        if among >> cube & 1:
            holders = occupancy.holders[cube]
            cubes[holders] = cubes.get(holders, 0) + 1
    return [
        VictimGroup(holders, freed, sum([lost[number] for number in holders]))
        for holders, freed in cubes.items()
    ]


def _block_by_force(
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
            blocks = blocks[:1]  # one slice has the whole cube: all blocks are alike
        for corner, mask in blocks:
            if not mask & occupancy.kept[cube]:
                on_it = frozenset(occupancy.slices_on(cube, mask))
                places.setdefault(on_it, ((cube,), corner))
    found = cheapest_place(places, lost)
    return None if found is None else (places[found], tuple(sorted(found)))


def _mesh_start_us(timeline: Timeline, shape: Shape, held_back: int) -> int:
    """In a cube that others use still, or in a whole one beyond those held back."""
    return min(timeline.block_us(shapes.chips_of(shape)), timeline.cubes_us(1 + held_back))


def _counted(cubes: int) -> str:
    return f"{cubes} healthy idle cube{'s' if cubes > 1 else ''}"


@cache
def _neighbour_cubes() -> tuple[int, ...]:
    """By link end of a static pod: the cube at the other end of its fibres."""
    return tuple((neighbour_end(np.arange(CUBES * ENDS_PER_CUBE)) // ENDS_PER_CUBE).tolist())


PLACEMENTS: dict[str, PodPlacement] = {"superpod": SwitchedPlacement(), "static-pod": FixedGridPlacement()}
"""Kind of fabric → how slices lie on its cubes."""
