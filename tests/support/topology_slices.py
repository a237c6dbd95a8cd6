"""Slices for topology tests, and the same graphs in networkx and igraph."""

from collections.abc import Sequence

import igraph
import networkx as nx
import numpy as np
from hypothesis import strategies as st

from schemas.names import Shape
from shared.models.superpod.shapes import MESHES, is_twistable, legal_shapes
from shared.models.topology import SliceTopology, slice_topology, without_ocs

SMALL = ((4, 4, 4), (4, 4, 8), (4, 4, 12), (4, 8, 8))
WHOLE: list[tuple[Shape, bool]] = [
    (shape, twisted)
    for shape in (*MESHES, *SMALL)
    for twisted in ((False, True) if is_twistable(shape) else (False,))
]
DEGRADED: list[tuple[Shape, bool, tuple[int, ...]]] = [
    ((4, 4, 4), False, (0,)),
    ((4, 4, 8), False, (0, 17, 47)),
    ((4, 4, 8), True, (5,)),
    ((4, 4, 8), True, (3, 17)),
    ((4, 4, 8), False, tuple(range(33, 48))),
    ((4, 4, 12), False, (16, 20)),
    ((4, 8, 8), True, (9, 40)),
]


def degraded(shape: Shape, twisted: bool, lost: Sequence[int]) -> SliceTopology:
    return without_ocs(slice_topology(shape, twisted), lost)


def directed_links(topology: SliceTopology) -> list[tuple[int, int]]:
    tails, directions = np.nonzero(topology.neighbours >= 0)
    return list(zip(tails.tolist(), topology.neighbours[tails, directions].tolist(), strict=True))


def in_networkx(topology: SliceTopology) -> "nx.Graph[int]":
    graph = nx.Graph(directed_links(topology))
    graph.add_nodes_from(range(topology.chips))
    return graph


def in_igraph(topology: SliceTopology) -> igraph.Graph:
    return igraph.Graph(n=topology.chips, edges=directed_links(topology), directed=True)


@st.composite
def slices(draw: st.DrawFn, cubes_max: int = 8) -> tuple[Shape, bool]:
    """Draw a legal slice of up to `cubes_max` cubes, twisted or not."""
    shape = draw(st.sampled_from(legal_shapes(cubes_max)))
    return shape, draw(st.booleans()) if is_twistable(shape) else False
