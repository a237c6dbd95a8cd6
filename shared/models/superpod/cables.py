"""The copper cables inside a cube, between the trays of its hosts.

The 4×4×4 chips of a cube are a mesh ([T4] 2.2: passive electrical cables in a rack). A tray has the chips of
one host, a 2 × 2 mesh with links on its board. Every other link of the mesh is a cable. Links that leave the
cube are optical and belong to link ends.
"""

from functools import cache
from itertools import product

from shared.models.superpod.wiring import CHIPS_PER_HOST, CUBE_SIDE, DIMENSIONS, chip_in_cube


@cache
def internal_links() -> tuple[tuple[int, int], ...]:
    """The electrical links of a cube as pairs of chip numbers: by dimension, then by the chip with the lower
    coordinate."""
    found: list[tuple[int, int]] = []
    for dimension in range(DIMENSIONS):
        for x, y, z in product(range(CUBE_SIDE), repeat=DIMENSIONS):
            if (x, y, z)[dimension] + 1 < CUBE_SIDE:
                far = (x + (dimension == 0), y + (dimension == 1), z + (dimension == 2))
                found.append((chip_in_cube((x, y, z)), chip_in_cube(far)))
    return tuple(found)


@cache
def cables() -> tuple[tuple[int, int], ...]:
    """The two chips of every cable of a cube, in order of the cables' numbers."""
    return tuple((a, b) for a, b in internal_links() if a // CHIPS_PER_HOST != b // CHIPS_PER_HOST)


CABLES_PER_CUBE = len(cables())
"""Of the 144 links of a cube, 64 are on the boards of its 16 trays."""


def cable_chips(cable: int) -> tuple[int, int]:
    """The numbers (0 … 63) of the chips of its cube that a cable joins; IndexError for an unknown cable."""
    if not 0 <= cable < CABLES_PER_CUBE:
        raise IndexError(f"cable {cable}: there are {CABLES_PER_CUBE}")
    return cables()[cable]


def cable_hosts(cable: int) -> tuple[int, int]:
    """The hosts (0 … 15) of its cube at both ends of a cable."""
    one, other = cable_chips(cable)
    return one // CHIPS_PER_HOST, other // CHIPS_PER_HOST


@cache
def cables_of_host(host: int) -> tuple[int, ...]:
    """The numbers of the cables at a host's tray, in order."""
    return tuple(cable for cable in range(CABLES_PER_CUBE) if host in cable_hosts(cable))
