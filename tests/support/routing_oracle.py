"""A slow reference for `prove`: it follows every route hop by hop and builds networkx graphs."""

from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np

from shared.models.superpod.wiring import FACES
from shared.models.topology.graph import SliceTopology
from shared.models.topology.routing import Paths

Route = list[tuple[int, int]]
"""(link, virtual channel) of each hop of a route."""


@dataclass
class Followed:
    """The result of following every route."""

    reached: set[tuple[int, int]]
    dependencies: "nx.DiGraph[tuple[int, int]]"
    load: np.ndarray
    routes: dict[tuple[int, int], Route]


def chip_graph(topology: SliceTopology) -> "nx.DiGraph[int]":
    """Return a graph of chips with an edge for each direction of each remaining link."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(topology.chips))
    for chip, row in enumerate(topology.neighbours.tolist()):
        graph.add_edges_from((chip, far) for far in row if far >= 0)
    return graph


def follow(topology: SliceTopology, blocks: list[Paths]) -> Followed:
    """Follow every route. Each must use only links that exist."""
    result = Followed(set(), nx.DiGraph(), np.zeros((topology.chips, 6), dtype=int), {})
    for block in blocks:
        for n, (source, target) in enumerate(
            zip(block.sources.tolist(), block.targets.tolist(), strict=True)
        ):
            links, virtual = block.links[:, n].tolist(), block.channels[:, n].tolist()
            hops = [(link, channel) for link, channel in zip(links, virtual, strict=True) if link >= 0]
            at = source
            for link, _ in hops:
                chip, direction = divmod(link, len(FACES))
                assert chip == at
                at = int(topology.neighbours[chip, direction])
                assert at >= 0
                result.load[chip, direction] += 1
            result.dependencies.add_nodes_from(hops)
            result.dependencies.add_edges_from(pairwise(hops))
            if at == target:
                result.reached.add((source, target))
            result.routes[source, target] = hops
    return result
