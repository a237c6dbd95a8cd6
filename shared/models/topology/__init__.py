"""Slice topologies: coordinates, chip graphs, capacity and routing."""

from shared.models.topology.graph import SliceTopology, slice_topology, without_links, without_ocs
from shared.models.topology.shortest_paths import Hops, hops, link_load
from shared.models.topology.slice_figures import SliceFigures, all_to_all_bounds, slice_figures
from shared.models.topology.suggest import Suggestion, ranked_shapes

__all__ = [
    "Hops",
    "SliceFigures",
    "SliceTopology",
    "Suggestion",
    "all_to_all_bounds",
    "hops",
    "link_load",
    "ranked_shapes",
    "slice_figures",
    "slice_topology",
    "without_links",
    "without_ocs",
]
