"""The plant of a static pod: 64 cubes at fixed places of a 4×4×4 torus of cubes, joined by fixed fibres.

It is the symmetric 16×16×16 torus that Lightwave Fabrics (4.2, Table 1) compares the superpod with. Short
fibres join the cubes directly, so in a slice of several cubes no other cube can replace one. Hosts, chips,
link ends and their names are those of a superpod. Cubes are numbered x-major: x slowest, z fastest.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shared.models.plant.plant_format import IntArray, LinkEnds, Plant
from shared.models.superpod.superpod_plant import CUBE_KINDS, CUBE_SUPPLIES, cube_axes, end_chips
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, STRANDS

if TYPE_CHECKING:
    from schemas.config.pods import StaticPodSizeConfig

GRID = (4, 4, 4)
"""Cubes along x, y, z."""
CUBES = GRID[0] * GRID[1] * GRID[2]


def neighbour_end(end: npt.ArrayLike) -> IntArray:
    """The link ends at the other ends of the links.

    A cube's + face is joined to the − face of the next cube in that dimension, index by index. Takes numbers
    of link ends (96 × cube + 16 × face + index) of any shape, returns numbers of that shape.
    """
    cube, rest = np.divmod(np.asarray(end, dtype=np.int64), ENDS_PER_CUBE)
    face, index = np.divmod(rest, FACE_LINKS)
    place = np.stack(np.unravel_index(cube, GRID))
    step = np.where(face % 2 == 0, 1, -1) * (face // 2 == np.arange(3).reshape(3, *[1] * cube.ndim))
    far_cube = np.ravel_multi_index(tuple(place + step), GRID, mode="wrap")
    far: IntArray = far_cube * ENDS_PER_CUBE + (face ^ 1) * FACE_LINKS + index
    return far


@lru_cache(maxsize=1)
def static_pod_plant() -> Plant:
    """The plant of a static pod: 64 cubes, 1,024 hosts, 4,096 chips, 6,144 link ends; no OCS."""
    far = neighbour_end(np.arange(CUBES * ENDS_PER_CUBE))
    fibres = np.repeat(far[:, None], STRANDS, axis=1)
    ends = LinkEnds("end", "end", fibres, "chip", end_chips(CUBES))
    return Plant("pod", cube_axes(CUBES), CUBE_KINDS, "cube", ends, CUBE_SUPPLIES)


def plant_of_static_pod(_pod: "StaticPodSizeConfig") -> Plant:
    """The plant of a configured static pod: all are alike."""
    return static_pod_plant()
