"""Builds the routing table of a slice, whole or with missing links."""

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import IntArray
from shared.models.topology.graph import SliceTopology
from shared.models.topology.routing.escape_tree import ROOT, escape_tree, levels
from shared.models.topology.routing.load_spreading import load_of, spread, ways_of
from shared.models.topology.routing.straight_runs import missing_links, straight_runs_of
from shared.models.topology.routing.table import ESCAPE, RoutingTable, direct_hops, groups_of, order_of

CHIPS_MAX = 4096
"""Maximum chips of a slice with a table: a whole superpod, 16.8 million ordered pairs."""
NAMED_MAX = 4
"""Unreachable chips that an error names, at most."""


def routing_table(topology: SliceTopology) -> RoutingTable:
    """Dimension order for a healthy slice; with missing links, detours with the load spread.

    A healthy slice needs two virtual channels on a torus, one on a mesh; a damaged slice at most four.
    InvalidInput names a chip that cannot be reached, or says that the slice is too large.
    """
    if topology.chips > CHIPS_MAX:
        raise InvalidInput(
            f"shape {shape_text(topology.shape)}: {topology.chips} chips are too many for a routing table; "
            f"must be at most {CHIPS_MAX}"
        )
    _check_connected(topology)
    lines = straight_runs_of(topology)
    sources, moves = groups_of(topology)
    order = order_of(topology, lines)
    hops = direct_hops(len(sources), topology.chips)
    missing = missing_links(topology, lines)
    if missing.any():
        hops = spread(ways_of(topology, lines, sources, moves, order), missing)
    escape = None
    if (hops.first == ESCAPE).any():
        targets = np.unique(moves[:, np.unique(np.nonzero(hops.first == ESCAPE)[1])])
        escape = escape_tree(topology, targets)
    return RoutingTable(topology, lines, order, sources, moves, hops.first, hops.last, escape)


def healthy_load(topology: SliceTopology) -> IntArray:
    """(N, 6): ways over each link of the whole slice under dimension order, one from every chip to every
    other.

    The reference for a table's load.
    """
    lines = straight_runs_of(topology)
    sources, moves = groups_of(lines.healthy)
    ways = ways_of(lines.healthy, lines, sources, moves, (0, 1, 2))
    return load_of(ways, direct_hops(len(sources), topology.chips)).astype(np.int64)


def _check_connected(topology: SliceTopology) -> None:
    cut_off = np.flatnonzero(levels(topology) < 0)
    if cut_off.size:
        named = [_place(topology, int(chip)) for chip in cut_off[:NAMED_MAX]]
        more = f" and {cut_off.size - NAMED_MAX} more" if cut_off.size > NAMED_MAX else ""
        raise InvalidInput(
            f"shape {shape_text(topology.shape)}: too many links are missing; chip "
            f"{_place(topology, ROOT)} cannot reach {', '.join(named)}{more}"
        )


def _place(topology: SliceTopology, chip: int) -> str:
    return f"({', '.join(str(c) for c in topology.coordinates[chip])})"
