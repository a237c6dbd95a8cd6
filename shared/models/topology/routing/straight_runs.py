"""Straight runs: steps of dimension-ordered routing between any two chips, and the end of each run.

A run goes along one dimension, from a chip, by a signed number of steps. On a torus, twisted or not, the
chips form a group. The way from a to b depends only on their difference, so the shortest steps are computed
once for each difference: as the shortest vectors (by the sum of absolute steps) of its class in the lattice
of the wraps. Crossing the wrap of one dimension may move others (TPU v4, 2.8), which is all that a twist
does.
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
"""Lattice vectors with up to this many wraps per dimension are tried for the shortest steps: no difference
inside the shape needs more."""
TIE_WEIGHTS = (1.0, 1.3, 1.7)
"""Different weights, so one of several shortest steps is always preferred."""
TIES = np.eye(6, 3, dtype=np.int64)
TIES_TWISTED = np.array([[1, 1, 1], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]])
"""(6, 3): bits of a source's place in its cube (the low bits of x, y, z, then the high ones) whose sum is the
preferred sign along x, y, z. Untwisted, each parity determines its own dimension, which loads all links
equally. Twisted, a shortest way may also trade one dimension for another; this choice was found by random
search, and leaves the busiest link within 4 % of the mean on the twisted shapes of a pod."""
SIGN_BITS = np.array([4, 2, 1])


@dataclass(frozen=True, eq=False, slots=True)
class StraightRuns:
    """The straight runs of a healthy slice; every array is read-only."""

    healthy: SliceTopology
    reach: int
    """Steps of the longest run."""
    after: IntArray
    """(3, N, 2·reach + 1): the chip after `steps` along a dimension, at column reach + steps; −1 if the run
    leaves a mesh."""
    dateline: npt.NDArray[np.bool_]
    """(N, 6): whether the link closes its ring. Each ring of a dimension's links is cut once, before its
    lowest chip; a twist makes fewer and longer rings."""
    shortest: StepArray
    """(8, N, 3): steps to a chip from chip 0 for each preference of signs; empty for a mesh, which has only
    one shortest way in each order of dimensions."""
    wraps: IntArray
    """(3, 3): additional movement when the wrap of each dimension is crossed."""

    def steps(self, sources: IntArray, targets: IntArray) -> StepArray:
        """Signed steps along x, y, z from sources to targets: (…, 3) for their broadcast shape.

        If several are equally short, the source's place in its cube decides, so neighbouring sources use
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
    """The runs of a slice's shape, regardless of missing links."""
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
    """(N, 6): whether the healthy slice has a link there that this one does not have."""
    missing: npt.NDArray[np.bool_] = (lines.healthy.neighbours != NO_LINK) & (topology.neighbours == NO_LINK)
    return missing


def _wraps(healthy: SliceTopology) -> IntArray:
    """Position that the + wrap of each dimension leads to, from the far end of the line through chip 0."""
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
            # One extra place: −1, the chip beyond a mesh's edge, leads to itself.
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
