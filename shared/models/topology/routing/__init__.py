"""Routing on slices: tables for whole and damaged slices, and the proof that a table holds."""

from shared.models.topology.routing.build import healthy_load, routing_table
from shared.models.topology.routing.cycles import find_cycle
from shared.models.topology.routing.figures import RoutingFigures, figures_of, routing_figures
from shared.models.topology.routing.paths import Paths, path_between, paths_of
from shared.models.topology.routing.proof import Channel, Proof, prove, throughput_of
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
    "path_between",
    "paths_of",
    "prove",
    "routing_figures",
    "routing_table",
    "throughput_of",
]
