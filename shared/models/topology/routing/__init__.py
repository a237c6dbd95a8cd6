"""Routing on slices: tables for whole and damaged slices, and the proof of a table."""

from shared.models.topology.routing.build import healthy_load, routing_table
from shared.models.topology.routing.proof import Channel, Proof, find_cycle, prove, throughput_of
from shared.models.topology.routing.routed_paths import Paths, paths_of
from shared.models.topology.routing.routing_figures import RoutingFigures, figures_of, routing_figures
from shared.models.topology.routing.table import RoutingTable

__all__ = [
    "Channel",
    "Paths",
    "Proof",
    "RoutingFigures",
    "RoutingTable",
    "figures_of",
    "find_cycle",
    "healthy_load",
    "paths_of",
    "prove",
    "routing_figures",
    "routing_table",
    "throughput_of",
]
