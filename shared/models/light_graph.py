"""The plant as a graph: parts, what they belong to, and fibres. Never used while a message is handled."""

from functools import lru_cache

import networkx as nx

from shared.models.plant.plant import Plant

GRAPHS_KEPT_MAX = 8
"""Fabrics whose graph is cached: a superpod's has 24,432 parts and takes a second to build."""


@lru_cache(maxsize=GRAPHS_KEPT_MAX)
def light_graph(plant: Plant, fabric: str) -> "nx.Graph[str]":
    """Every part of a fabric by name, read-only; copy it to change it.

    A node has its `kind` and `number`. An edge has a `kind`: `part-of`; `drives`, from a chip to its link
    ends; or `fibre`, with its `strands`, from a link end to the port or link end where it leads.
    """
    graph: nx.Graph[str] = nx.Graph()
    for kind in plant.kinds:
        for part in plant.parts(kind.word, fabric):
            graph.add_node(part.name, kind=part.kind, number=part.number)
            owner = plant.owner(part)
            if owner is not None:
                graph.add_edge(part.name, owner.name, kind="part-of")
    for end in plant.parts(plant.ends.kind, fabric):
        driver = plant.part(plant.ends.driven_by, int(plant.ends.drivers[end.number]), fabric)
        graph.add_edge(driver.name, end.name, kind="drives")
        for strand, far in enumerate(plant.joined(end)):
            fibres = graph.get_edge_data(end.name, far.name, {"strands": ()})["strands"]
            strands = tuple(sorted({*fibres, strand}))
            graph.add_edge(end.name, far.name, kind="fibre", strands=strands)
    nx.freeze(graph)
    return graph
