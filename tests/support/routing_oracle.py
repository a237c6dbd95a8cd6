"""What `prove` finds out about routing tables, found out slowly: way by way, into graphs of networkx."""

from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np

from shared.models.superpod.wiring import FACES
from shared.models.topology.graph import SliceTopology
from shared.models.topology.routing import Paths

Way = list[tuple[int, int]]
"""(link, virtual channel) of each hop."""


@dataclass
class Followed:
    """What following every way came to."""

    reached: set[tuple[int, int]]
    dependencies: "nx.DiGraph[tuple[int, int]]"
    load: np.ndarray
    ways: dict[tuple[int, int], Way]


def chip_graph(topology: SliceTopology) -> "nx.DiGraph[int]":
    """Chips, and an edge for each direction of each link that is left."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(topology.chips))
    for chip, row in enumerate(topology.neighbours.tolist()):
        graph.add_edges_from((chip, far) for far in row if far >= 0)
    return graph


def follow(topology: SliceTopology, blocks: list[Paths]) -> Followed:
    """Follow every way that only takes links which are there."""
    found = Followed(set(), nx.DiGraph(), np.zeros((topology.chips, 6), dtype=int), {})
    for block in blocks:
        for n, (source, target) in enumerate(
            zip(block.sources.tolist(), block.targets.tolist(), strict=True)
        ):
            links, virtual = block.links[:, n].tolist(), block.channels[:, n].tolist()
            way = [(link, channel) for link, channel in zip(links, virtual, strict=True) if link >= 0]
            at = source
            for link, _ in way:
                chip, direction = divmod(link, len(FACES))
                assert chip == at
                at = int(topology.neighbours[chip, direction])
                assert at >= 0
                found.load[chip, direction] += 1
            found.dependencies.add_nodes_from(way)
            found.dependencies.add_edges_from(pairwise(way))
            if at == target:
                found.reached.add((source, target))
            found.ways[source, target] = way
    return found
