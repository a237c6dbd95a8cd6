"""Group `topology`, routing: table and proof of a damaged slice, and the channel cycle search compared with
networkx."""

import time

from shared.basics.errors import OperationFailed
from tools.bench.figure import BenchFigure

SHAPE = (8, 8, 8)
FAILED_OCS = 0
REPEATS = 3


def measure_routing(quick: bool) -> list[BenchFigure]:
    """Measure 8×8×8 with one OCS out: its table, its proof, and both searches on the same dependencies."""
    import networkx as nx

    from shared.models.topology.graph import slice_topology, without_ocs
    from shared.models.topology.routing import find_cycle, paths_of, prove, routing_table
    from shared.models.topology.routing.proof import dependencies_of

    left = without_ocs(slice_topology(SHAPE), [FAILED_OCS])
    tables, proofs, ours, peers = [], [], [], []
    for _ in range(1 if quick else REPEATS):
        started = time.perf_counter()
        table = routing_table(left)
        tables.append(time.perf_counter() - started)
        proof = prove(left, paths_of(table), table.virtual_channels)
        proofs.append(time.perf_counter() - started - tables[-1])
        if not proof.holds:
            raise OperationFailed("routing proof: the table is not valid, so times mean nothing")
        tails, heads, channels = dependencies_of(left, paths_of(table), table.virtual_channels)
        graph = nx.DiGraph(zip(tails.tolist(), heads.tolist(), strict=True))
        started = time.perf_counter()
        cycle = find_cycle(tails, heads, channels)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        acyclic = nx.is_directed_acyclic_graph(graph)
        peers.append(time.perf_counter() - started)
        if acyclic == bool(cycle):
            raise OperationFailed("routing cycle search: networkx disagrees, so times mean nothing")
    how = f"8x8x8 without OCS {FAILED_OCS}, 261,632 ordered pairs, the best of {len(tables)}"
    search = f"{len(tails):,} dependencies between channels, the graphs already made"
    return [
        BenchFigure("routing table", round(min(tables), 2), "s", "table and proof under 2", how),
        BenchFigure("routing proof", round(min(proofs), 2), "s", "as above", how),
        BenchFigure("routing cycle search", round(1e3 * min(ours), 2), "ms", "-", search),
        BenchFigure("networkx cycle search", round(1e3 * min(peers), 1), "ms", "the peer", search),
        BenchFigure(
            "routing cycle search over networkx",
            round(min(peers) / min(ours), 1),
            "ratio",
            "-",
            "in the same run",
        ),
    ]
