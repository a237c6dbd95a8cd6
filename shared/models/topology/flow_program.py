"""Links of a slice by kind, and all shortest paths for given lengths of the kinds.

The basis of the bounds in shared.models.topology.concurrent_flow.
"""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from shared.models.superpod.wiring import DIMENSIONS, IntArray
from shared.models.topology.graph import COPPER, NO_LINK, SliceTopology
from shared.models.topology.lattice import FloatArray
from shared.models.topology.symmetry import Symmetry, symmetry_of

LENGTH_MIN = 1e-7
"""Minimum length of a link, relative to the longest: a path along links of length 0 could run in circles."""
TIE = 1e-10
"""Paths whose lengths differ by less, relative to the longest distance, are equally short."""


class FlowProgram:
    """Directed links (L) in order of their tails, their kinds (K), one source of each kind of chip (S)."""

    def __init__(self, topology: SliceTopology) -> None:
        symmetry: Symmetry = symmetry_of(topology)
        self.chips = topology.chips
        self.sources = symmetry.sources
        self.weights = symmetry.weights
        self.tails, ways = np.nonzero(topology.neighbours != NO_LINK)
        self.heads: IntArray = topology.neighbours[self.tails, ways]
        self.links: IntArray = symmetry.links[self.tails, ways]
        self.kinds = int(self.links.max()) + 1
        self.counts: IntArray = np.bincount(self.links)
        self.starts: IntArray = np.searchsorted(self.tails, np.arange(self.chips + 1))
        dimensions = np.where(topology.ocs[self.tails, ways] == COPPER, -1, ways // 2)
        planes = [self._only(dimensions == dimension) for dimension in range(DIMENSIONS)]
        self.planes = [lengths for lengths in planes if lengths.any()]

    def _only(self, links: npt.NDArray[np.bool_]) -> FloatArray:
        """Lengths of 1 for the kinds of these links, 0 for the others: the bound from cutting them."""
        return (np.bincount(self.links[links], minlength=self.kinds) > 0).astype(np.float64)

    def distances(self, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """((L,) length of every link, (S, chips) distance from every source), for lengths of the kinds (K,).

        Lengths of 0 are raised a little, relative to the others, so that no path runs in circles. Results are
        for the raised lengths, scaled to Σ c·l = 1, so the bound remains valid.
        """
        raised = np.maximum(lengths, float(lengths.max()) * LENGTH_MIN)
        raised /= float(raised @ self.counts)
        along = raised[self.links]
        graph = csr_array((along, self.heads, self.starts), shape=(self.chips, self.chips))
        distance: FloatArray = dijkstra(graph, indices=self.sources)
        return along, distance

    def upper_bound(self, lengths: FloatArray) -> float:
        """An upper bound of the rate of any routing: 1 ÷ Σ over ordered pairs of the distance."""
        return 1.0 / float(self.weights @ self.distances(lengths)[1].sum(axis=1))

    def route(self, lengths: FloatArray) -> tuple[float, FloatArray]:
        """(Σ over pairs of the distance, (S, K) uses of links on shortest paths by kind of source)."""
        along, distance = self.distances(lengths)
        demand = float(self.weights @ distance.sum(axis=1))
        tolerance = TIE * float(distance.max())
        uses = [
            weight * self._uses(away, along, tolerance)
            for away, weight in zip(distance, self.weights, strict=True)
        ]
        return demand, np.array(uses)

    def _uses(self, away: FloatArray, along: FloatArray, tolerance: float) -> FloatArray:
        """(K,) link uses of one source that reaches every chip over shortest paths.

        Each chip splits evenly over the last links of its shortest paths.
        """
        tight = np.flatnonzero(np.abs(away[self.tails] + along - away[self.heads]) <= tolerance)
        tails, heads = self.tails[tight], self.heads[tight]
        share = 1.0 / np.bincount(heads, minlength=self.chips)[heads]
        back = csr_array((share, (tails, heads)), shape=(self.chips, self.chips))
        carried = np.ones(self.chips)
        wave = np.ones(self.chips)
        while wave.any():
            wave = np.asarray(back @ wave, dtype=np.float64)
            carried += wave
        uses = np.bincount(self.links[tight], weights=share * carried[heads], minlength=self.kinds)
        return uses.astype(np.float64)
