"""Straight runs: the steps of dimension-ordered routing between any two chips, and where each run leads.

A run goes along one dimension, from a chip, by a signed number of steps. On a torus, twisted or not, the
chips form a group: the way from a to b depends on their difference alone, so the shortest steps are computed
once for each difference, as the shortest vectors (in the sum of absolute steps) of its class in the lattice
of the wraps. Crossing the wrap of one dimension may move others (TPU v4, 2.8), which is all a twist does.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from shared.models.superpod.shapes import POD_CUBES_MAX, is_mesh
from shared.models.superpod.wiring import DIMENSIONS, IntArray
from shared.models.topology.graph import NO_LINK, SliceTopology, slice_topology

StepArray = npt.NDArray[np.int16]
WRAPS = 2
"""Lattice vectors up to this many wraps a dimension are tried for the shortest steps: from a difference
inside the shape none is further away."""
TIE_WEIGHTS = (1.0, 1.3, 1.7)
"""Apart, so that of several shortest steps one is always preferred."""
TIES = np.eye(6, 3, dtype=np.int64)
TIES_TWISTED = np.array([[1, 1, 1], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]])
"""(6, 3): which bits of a source's place in its cube (the low bits of x, y, z, then the high ones) add up
to the sign that it prefers along x, y, z. Untwisted, each parity decides its own dimension, which fills all
links alike. Twisted, a shortest way may also trade one dimension for another; this one was found by drawing
at random, and leaves the busiest link within 4 % of the mean on the twisted shapes of a pod."""
SIGN_BITS = np.array([4, 2, 1])


@dataclass(frozen=True, eq=False, slots=True)
class StraightRuns:
    """The straight runs of a healthy slice; every array is read-only."""

    healthy: SliceTopology
    reach: int
    """Steps of the longest run."""
    after: IntArray
    """(3, N, 2·reach + 1): the chip after `steps` along a dimension stands at column reach + steps; −1 where
    the run leaves a mesh."""
    dateline: npt.NDArray[np.bool_]
    """(N, 6): whether the link closes its ring. Of the rings that the links of a dimension really form, each
    is cut once, before its lowest chip; a twist makes fewer and longer rings."""
    shortest: StepArray
    """(8, N, 3): steps to a chip from chip 0 for each preference of signs; of a mesh empty, since there is
    but one shortest way in each order of dimensions."""
    wraps: IntArray
    """(3, 3): what moves besides when the wrap of each dimension is crossed."""

    def steps(self, sources: IntArray, targets: IntArray) -> StepArray:
        """Signed steps along x, y, z from sources to targets: (…, 3) for what the two broadcast to.

        Of several shortest ones the source's place in its cube decides, so that neighbouring sources take
        opposite ways and every link carries its share of the ties.
        """
        places = self.healthy.coordinates
        difference = places[targets] - places[sources]
        if is_mesh(self.healthy.shape):
            return difference.astype(np.int16)
        for dimension in range(DIMENSIONS):
            wraps, inside = np.divmod(difference[..., dimension], self.healthy.shape[dimension])
            difference[..., dimension] = inside
            difference += wraps[..., None] * self.wraps[dimension]
        _, y, z = self.healthy.shape
        chips = (difference[..., 0] * y + difference[..., 1]) * z + difference[..., 2]
        local = places[sources]
        bits = np.concatenate([local % 2, local // 2 % 2], axis=-1)
        signs = bits @ (TIES_TWISTED if self.healthy.twisted else TIES) % 2
        steps: StepArray = self.shortest[signs @ SIGN_BITS, chips]
        return steps


def straight_runs_of(topology: SliceTopology) -> StraightRuns:
    """The runs of a slice's shape, whatever of its links are gone."""
    healthy = slice_topology(topology.shape, topology.twisted, POD_CUBES_MAX)
    if is_mesh(healthy.shape):
        wraps = np.zeros((DIMENSIONS, DIMENSIONS), dtype=np.int64)
        shortest = np.empty((8, 0, DIMENSIONS), dtype=np.int16)
        reach = max(healthy.shape) - 1
        dateline = np.zeros(healthy.neighbours.shape, dtype=np.bool_)
    else:
        wraps = _wraps(healthy)
        shortest = _shortest(healthy, wraps)
        reach = int(np.abs(shortest).max())
        dateline = _datelines(healthy)
    return StraightRuns(healthy, reach, _after(healthy, reach), dateline, shortest, wraps)


def missing_links(topology: SliceTopology, lines: StraightRuns) -> npt.NDArray[np.bool_]:
    """(N, 6): whether the healthy slice has a link there and this one has not."""
    missing: npt.NDArray[np.bool_] = (lines.healthy.neighbours != NO_LINK) & (topology.neighbours == NO_LINK)
    return missing


def _wraps(healthy: SliceTopology) -> IntArray:
    """Where the + wrap of each dimension leads from the far end of the line through chip 0."""
    x, y, z = healthy.shape
    ends = ((x - 1) * y * z, (y - 1) * z, z - 1)
    return np.array([healthy.coordinates[healthy.neighbours[end, 2 * d]] for d, end in enumerate(ends)])


def _shortest(healthy: SliceTopology, wraps: IntArray) -> StepArray:
    basis = np.diag(healthy.shape) - wraps
    lattice = np.array(list(product(range(-WRAPS, WRAPS + 1), repeat=DIMENSIONS))) @ basis
    vectors = healthy.coordinates[:, None] + lattice
    lengths = np.abs(vectors).sum(axis=2)
    longer = lengths > lengths.min(axis=1, keepdims=True)
    signs = np.array(list(product((1, -1), repeat=DIMENSIONS))) * TIE_WEIGHTS
    chips = np.arange(healthy.chips)
    chosen = [np.where(longer, -np.inf, vectors @ preference).argmax(axis=1) for preference in signs]
    return np.array([vectors[chips, best] for best in chosen]).astype(np.int16)


def _after(healthy: SliceTopology, reach: int) -> IntArray:
    after = np.empty((DIMENSIONS, healthy.chips, 2 * reach + 1), dtype=np.int64)
    after[:, :, reach] = np.arange(healthy.chips)
    for dimension in range(DIMENSIONS):
        for way, sign in ((2 * dimension, 1), (2 * dimension + 1, -1)):
            # One place more: −1, the chip beyond a mesh's edge, leads to itself.
            onward = np.append(healthy.neighbours[:, way], -1)
            for step in range(1, reach + 1):
                after[dimension, :, reach + sign * step] = onward[
                    after[dimension, :, reach + sign * (step - 1)]
                ]
    return after


def _datelines(healthy: SliceTopology) -> npt.NDArray[np.bool_]:
    chips = np.arange(healthy.chips)
    dateline = np.empty(healthy.neighbours.shape, dtype=np.bool_)
    for dimension in range(DIMENSIONS):
        ahead = healthy.neighbours[:, 2 * dimension]
        lowest, jump = chips, ahead
        for _ in range(healthy.chips.bit_length()):
            lowest, jump = np.minimum(lowest, lowest[jump]), jump[jump]
        dateline[:, 2 * dimension] = ahead == lowest
        dateline[:, 2 * dimension + 1] = chips == lowest
    return dateline
