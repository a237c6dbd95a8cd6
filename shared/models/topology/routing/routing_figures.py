"""Figures of a slice's routing: the table is built, proven and compared with the healthy slice."""

from dataclasses import dataclass

import numpy as np

from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import DIMENSIONS
from shared.models.topology.graph import NO_LINK, SliceTopology
from shared.models.topology.routing.build import healthy_load, routing_table
from shared.models.topology.routing.proof import Proof, prove, throughput_of
from shared.models.topology.routing.routed_paths import paths_of
from shared.models.topology.routing.straight_runs import missing_links
from shared.models.topology.routing.table import DIRECT, ESCAPE, RoutingTable


@dataclass(frozen=True, slots=True)
class RoutingFigures:
    """The figures of one table. Throughputs in units of one link's bandwidth in one direction."""

    shape: str
    twisted: bool
    chips: int
    missing_links: int
    order: str
    """The dimensions in the order of the runs."""
    virtual_channels: int
    pairs: int
    """Ordered pairs of different chips."""
    reached: int
    detours: int
    """Pairs with a free hop, first or last, around missing links or to spread the load."""
    escapes: int
    """Pairs that use the escape tree."""
    deadlock_free: bool
    dependencies: int
    """Between channels; free of cycles if `deadlock_free`."""
    cycle: tuple[str, ...]
    mean_hops: float
    """Over all ordered pairs, a chip with itself included, as of the shape itself."""
    max_hops: int
    mean_load: float | None
    """Ways over a remaining link; None if there is none."""
    max_load: int
    load_by_dimension: tuple[int, int, int]
    """Maximum ways over a link along x, y and z."""
    all_to_all_throughput: float | None
    """Per chip with this table; None for one chip."""
    all_to_all_kept: float | None
    """Share of the healthy slice's throughput by dimension order; above 1 if spreading gained more than was
    lost."""


def routing_figures(topology: SliceTopology) -> RoutingFigures:
    """Builds and proves the table of a slice and returns its figures; InvalidInput as in `routing_table`."""
    table = routing_table(topology)
    return figures_of(table, prove(topology, paths_of(table), table.virtual_channels))


def figures_of(table: RoutingTable, proof: Proof) -> RoutingFigures:
    """The figures of a table and the proof of it."""
    topology = table.topology
    there = topology.neighbours != NO_LINK
    free = (table.first != ESCAPE) & ((table.first != DIRECT) | (table.last != DIRECT))
    throughput = throughput_of(topology, proof.load)
    healthy = throughput_of(topology, healthy_load(topology))
    x, y, z = (int(load) for load in proof.load.reshape(-1, DIMENSIONS, 2).max(axis=(0, 2)))
    return RoutingFigures(
        shape=shape_text(topology.shape),
        twisted=topology.twisted,
        chips=topology.chips,
        missing_links=int(missing_links(topology, table.lines).sum()) // 2,
        order="".join("xyz"[dimension] for dimension in table.order),
        virtual_channels=proof.virtual_channels,
        pairs=proof.pairs,
        reached=proof.reached,
        detours=int(np.count_nonzero(free)) * len(table.moves),
        escapes=int(np.count_nonzero(table.first == ESCAPE)) * len(table.moves),
        deadlock_free=not proof.cycle,
        dependencies=proof.dependencies,
        cycle=tuple(channel.name(topology) for channel in proof.cycle),
        mean_hops=proof.mean_hops,
        max_hops=proof.max_hops,
        mean_load=float(proof.load[there].mean()) if there.any() else None,
        max_load=max(x, y, z),
        load_by_dimension=(x, y, z),
        all_to_all_throughput=throughput,
        all_to_all_kept=None if throughput is None or healthy is None else throughput / healthy,
    )
