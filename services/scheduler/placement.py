"""How slices lie on the cubes of each kind of pod: the one thing in which their schedulers differ.

A superpod's OCSes join any cubes, and only while a slice has them (Lightwave Fabrics 4.2). A static pod's
fibres join neighbours in a grid, always; what lies inside one cube needs none of them, and can move in both.
"""

from functools import cache
from typing import Protocol

import numpy as np

from schemas.names import Join, Shape
from services.scheduler.occupancy import Corner, Occupancy
from shared.models.static_pod import boxes
from shared.models.static_pod.plant import CUBES, neighbour_end
from shared.models.superpod import shapes
from shared.models.superpod.shapes import cube_grid, cubes_of, is_mesh, slice_joins
from shared.models.superpod.wiring import ENDS_PER_CUBE

Room = tuple[tuple[int, ...], Corner | None]
"""(cubes, corner): where a slice fits."""


class Placement(Protocol):
    """How slices lie on the cubes of a kind of pod.

    `links_stay`: whether links are lit whoever has their cubes, rather than only for a slice.
    """

    links_stay: bool

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
        """InvalidInput unless an empty pod can hold such a slice."""

    def room_for(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Room | None:
        """Where a slice fits now, or None. Without `whole_cubes`, idle cubes are kept for somebody else."""

    def joins(self, shape: Shape, twisted: bool, cubes: tuple[int, ...]) -> tuple[Join, ...]:
        """The circuits that a slice on these cubes needs made."""

    def can_move(self, cubes: tuple[int, ...]) -> bool:
        """Whether a spare can take the place of one of a slice's cubes."""

    def slice_at(self, occupancy: Occupancy, link_end: int) -> int | None:
        """The slice whose link ends here."""

    def waits_for(self, shape: Shape) -> str:
        """What a slice of whole cubes waits for, in words."""


class Switched:
    """A superpod's: any cubes will do, and circuits are made between them."""

    links_stay = False

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:
        shapes.check(shape, twisted, cubes_in_pod)

    def room_for(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Room | None:
        return occupancy.room_for(shapes.chips_of(shape), whole_cubes)

    def joins(self, shape: Shape, twisted: bool, cubes: tuple[int, ...]) -> tuple[Join, ...]:
        return slice_joins(shape, twisted, cubes)

    def can_move(self, cubes: tuple[int, ...]) -> bool:  # noqa: ARG002 -- as every placement
        return True

    def slice_at(self, occupancy: Occupancy, link_end: int) -> int | None:
        return occupancy.torus_at(link_end // ENDS_PER_CUBE)

    def waits_for(self, shape: Shape) -> str:
        return _counted(cubes_of(shape))


class FixedGrid:
    """A static pod's: a slice of several cubes lies on a box of adjacent ones and stays there; one inside a
    cube can go to any other. A link is a slice's if both its cubes are, so that links wrap around the slice
    only where it spans the whole grid."""

    links_stay = True

    def check(self, shape: Shape, twisted: bool, cubes_in_pod: int) -> None:  # noqa: ARG002 -- as every placement
        boxes.check(shape, twisted)

    def room_for(self, occupancy: Occupancy, shape: Shape, whole_cubes: bool) -> Room | None:
        """A mesh in any cube; whole cubes in the first box that is idle."""
        if is_mesh(shape):
            return occupancy.room_for(shapes.chips_of(shape), whole_cubes)
        if not whole_cubes or cubes_of(shape) > len(occupancy.idle):
            return None
        cubes = boxes.first_box(shape, sum([1 << cube for cube in occupancy.idle]))
        return None if cubes is None else (cubes, None)

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

    def waits_for(self, shape: Shape) -> str:
        extents = "×".join(str(side) for side in cube_grid(shape))
        return f"{extents} adjacent healthy idle cubes" if cubes_of(shape) > 1 else _counted(1)


def _counted(cubes: int) -> str:
    return f"{cubes} healthy idle cube{'s' if cubes > 1 else ''}"


@cache
def _neighbour_cubes() -> tuple[int, ...]:
    """By link end of a static pod: the cube at the other end of its fibres."""
    return tuple((neighbour_end(np.arange(CUBES * ENDS_PER_CUBE)) // ENDS_PER_CUBE).tolist())


PLACEMENTS: dict[str, Placement] = {"superpod": Switched(), "static-pod": FixedGrid()}
"""Kind of fabric → how slices lie on its cubes."""
