"""Routing tables of a slice: dimension order with datelines, a free hop before and after, and an escape tree.

Every packet goes in straight runs, one dimension after the other, on virtual channels 0 and 1: it starts each
run on channel 0 and changes to 1 after the ring's dateline (Dally and Seitz, 1987). If a link of that way is
missing, it takes one free hop first, in any direction, on virtual channel 2. If that is not enough, it takes
one free hop last, on channel 3. Pairs that free hops cannot help go up and down a spanning tree (Autonet,
1991), on channel 2 all the way.

Why no deadlock is possible: a run never crosses its dateline twice, so no ring closes. Runs follow one order
of dimensions. A packet on channels 0 or 1 never requests channel 2. On channel 2 a packet continues only
along the tree's order, which has no cycle. After channel 3 a packet has arrived.
`shared.models.topology.routing.proof` verifies this independently.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shared.models.superpod.shapes import is_mesh
from shared.models.superpod.wiring import CUBE_SIDE, DIMENSIONS, FACES, IntArray
from shared.models.topology.graph import SliceTopology
from shared.models.topology.routing.escape_tree import EscapeTree
from shared.models.topology.routing.straight_runs import StraightRuns, missing_links
from shared.models.topology.symmetry import cube_moves, same_in_every_cube

DIRECT = -1
"""No free hop: dimension order from the start, or to the end."""
ESCAPE = len(FACES)
"""Free hops do not help: up and down the tree."""
FREE_CHANNEL = 2
"""The virtual channel of free first hops and of the escape tree."""
LAST_CHANNEL = 3
"""The virtual channel of free last hops."""

HopArray = npt.NDArray[np.int8]


class FreeHops(NamedTuple):
    """Directions (as in FACES) of the free hops from stored sources to all targets, each (S, N)."""

    first: HopArray
    """Direction of the hop from the source; DIRECT or ESCAPE."""
    last: HopArray
    """Direction of the hop to the target; DIRECT if there is none."""


def direct_hops(sources: int, targets: int) -> FreeHops:
    """No free hops: dimension order all the way."""
    direct = np.full((sources, targets), DIRECT, dtype=np.int8)
    return FreeHops(direct, direct)


@dataclass(frozen=True, eq=False, slots=True)
class RoutingTable:
    """The way of every ordered pair of chips over the remaining links of a slice.

    Only the sources of one group are stored: if the same links are missing in every cube, as with a failed
    OCS, the table of one cube serves all others, shifted.
    """

    topology: SliceTopology
    lines: StraightRuns
    order: tuple[int, int, int]
    """Dimensions (0, 1, 2 for x, y, z) in the order of the runs."""
    sources: IntArray
    """(S,): the chips whose ways are stored."""
    moves: IntArray
    """(groups, N): the chip that each move takes every chip to; the sources of all groups are the chips of
    the slice."""
    first: HopArray
    """(S, N): direction (as in FACES) of the free first hop from a source to a target; DIRECT or ESCAPE."""
    last: HopArray
    """(S, N): direction of the free last hop; DIRECT if there is none."""
    escape: EscapeTree | None
    """The same tree for all groups; None if no pair escapes."""

    @property
    def virtual_channels(self) -> int:
        """Virtual channels that the table needs on a link."""
        if (self.last != DIRECT).any():
            return LAST_CHANNEL + 1
        if (self.first != DIRECT).any():
            return FREE_CHANNEL + 1
        return 1 if is_mesh(self.topology.shape) else 2


def groups_of(topology: SliceTopology) -> tuple[IntArray, IntArray]:
    """The sources and the moves of a table (see RoutingTable).

    The chips of the first cube and all shifts by whole cubes if every cube misses the same links; otherwise
    all chips and no shift.
    """
    chips = np.arange(topology.chips)
    if not same_in_every_cube(topology):
        return chips, chips[None]
    return chips[(topology.coordinates < CUBE_SIDE).all(axis=1)], cube_moves(topology)


def order_of(topology: SliceTopology, lines: StraightRuns) -> tuple[int, int, int]:
    """Dimensions with missing links first.

    A free hop leaves a broken line only if the run along it comes before the run that would lead back.
    """
    missing = missing_links(topology, lines)
    damaged = [bool(missing[:, 2 * dimension : 2 * dimension + 2].any()) for dimension in range(DIMENSIONS)]
    x, y, z = sorted(range(DIMENSIONS), key=lambda dimension: (not damaged[dimension], dimension))
    return x, y, z
