"""Routing tables of a slice: dimension order with datelines, a free hop before and after, and an escape tree.

Every packet goes in straight runs, one dimension after the other, on virtual channels 0 and 1: it begins
each run on channel 0 and changes to 1 behind the ring's dateline (Dally and Seitz, 1987). Where a link of
that way is gone, it takes one free hop first, in any direction, on virtual channel 2, and where that is not
enough, one free hop last, on channel 3. What no free hops can save goes up and down a spanning tree (Autonet,
1991), on channel 2 all the way.

Why nothing waits for itself: a run never crosses its dateline twice, so no ring closes; runs follow one
order of dimensions; nobody on channels 0 or 1 ever asks for channel 2; on channel 2 a packet goes on only
along the tree's order, in which no cycle exists; and behind channel 3 a packet has arrived.
`shared.models.topology.routing.proof` does not take this on trust.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shared.models.superpod.shapes import CUBE_SIDE, is_mesh
from shared.models.superpod.wiring import DIMENSIONS, FACES, IntArray
from shared.models.topology.graph import SliceTopology
from shared.models.topology.routing.escape import EscapeTree
from shared.models.topology.routing.straight_runs import StraightRuns, missing_links
from shared.models.topology.symmetry import cube_moves, same_in_every_cube

DIRECT = -1
"""No free hop: dimension order from the start, or to the end."""
ESCAPE = len(FACES)
"""No free hops help: up and down the tree."""
FREE_CHANNEL = 2
"""The virtual channel of free first hops and of the escape tree."""
LAST_CHANNEL = 3
"""The virtual channel of free last hops."""

HopArray = npt.NDArray[np.int8]


class FreeHops(NamedTuple):
    """Directions (as in FACES) of the free hops from stored sources to all targets, each (S, N)."""

    first: HopArray
    """Of the hop from the source; DIRECT or ESCAPE."""
    last: HopArray
    """Of the hop to the target; DIRECT where there is none."""


def direct_hops(sources: int, targets: int) -> FreeHops:
    """No free hops: dimension order all the way."""
    direct = np.full((sources, targets), DIRECT, dtype=np.int8)
    return FreeHops(direct, direct)


@dataclass(frozen=True, eq=False, slots=True)
class RoutingTable:
    """The way of every ordered pair of chips of what is left of a slice.

    Only the sources of one group are stored: where the same links are gone from every cube, as behind a
    failed OCS, the table of one cube serves all, moved along with it.
    """

    topology: SliceTopology
    lines: StraightRuns
    order: tuple[int, int, int]
    """Dimensions (0, 1, 2 for x, y, z) in the order in which they are run."""
    sources: IntArray
    """(S,): the chips whose ways are stored."""
    moves: IntArray
    """(groups, N): where each move takes every chip; the sources of all groups are the chips of the slice."""
    first: HopArray
    """(S, N): direction (as in FACES) of the free first hop from a source to a target; DIRECT or ESCAPE."""
    last: HopArray
    """(S, N): direction of the free last hop; DIRECT where there is none."""
    escape: EscapeTree | None
    """The same tree for all groups; None where nobody escapes."""

    @property
    def virtual_channels(self) -> int:
        """Virtual channels that the table needs on a link."""
        if (self.last != DIRECT).any():
            return LAST_CHANNEL + 1
        if (self.first != DIRECT).any():
            return FREE_CHANNEL + 1
        return 1 if is_mesh(self.topology.shape) else 2


def groups_of(topology: SliceTopology) -> tuple[IntArray, IntArray]:
    """The sources and the moves of a table (see RoutingTable): the chips of the first cube and all shifts by
    whole cubes where what is gone is gone from every cube alike, otherwise all chips and no shift."""
    chips = np.arange(topology.chips)
    if not same_in_every_cube(topology):
        return chips, chips[None]
    return chips[(topology.coordinates < CUBE_SIDE).all(axis=1)], cube_moves(topology)


def order_of(topology: SliceTopology, lines: StraightRuns) -> tuple[int, int, int]:
    """Dimensions with missing links first: a free hop leaves a broken line only where the run along it comes
    before the run that would lead back."""
    missing = missing_links(topology, lines)
    damaged = [bool(missing[:, 2 * dimension : 2 * dimension + 2].any()) for dimension in range(DIMENSIONS)]
    x, y, z = sorted(range(DIMENSIONS), key=lambda dimension: (not damaged[dimension], dimension))
    return x, y, z
