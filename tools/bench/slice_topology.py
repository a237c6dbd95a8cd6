"""Group `topology`: the time of a full pod's figures, and of its link load compared with igraph's.

Without igraph, which only the extra `test` installs, the peer's figures are left out.
"""

import importlib.util
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shared.basics.errors import OperationFailed
from tools.bench.figure import BenchFigure

FloatArray = npt.NDArray[np.float64]
SHAPE = (16, 16, 16)
REPEATS = 9
IGRAPH_REPEATS = 3


def measure_topology(quick: bool) -> list[BenchFigure]:
    """Measure all figures of the full pod, its link load with our code and with igraph in the same run, and
    the throughput of a slice without one or two OCSes."""
    from shared.models.topology.concurrent_flow import FlowBounds, concurrent_flow
    from shared.models.topology.graph import slice_topology, without_ocs
    from shared.models.topology.shortest_paths import link_load
    from shared.models.topology.slice_figures import slice_figures

    topology = slice_topology(SHAPE)
    show_s = _best(lambda: slice_figures(SHAPE), REPEATS)
    load_s = _best(lambda: link_load(topology), REPEATS)
    left = without_ocs(slice_topology((8, 8, 8)), [0])
    flow_s = _best(lambda: concurrent_flow(left), 1 if quick else 3)
    twisted = without_ocs(slice_topology((8, 8, 16), twisted=True), [3, 20])
    found: list[FlowBounds] = []
    several_s = _best(lambda: found.append(concurrent_flow(twisted)), 1)
    gap = 1.0 - found[0].lower / found[0].upper
    how = "16x16x16, one thread, the best of several in one process, imports done"
    figures = [
        BenchFigure("topology show", round(1e3 * show_s, 1), "ms", "at most 50", f"all figures; {how}"),
        BenchFigure("topology link load", round(1e3 * load_s, 3), "ms", "-", how),
        BenchFigure(
            "topology degraded throughput", round(flow_s, 2), "s", "-", "8x8x8 without OCS 0, both bounds"
        ),
        BenchFigure(
            "topology several OCSes out",
            round(several_s, 1),
            "s",
            "-",
            f"8x8x16 twisted without OCSes 3 and 20; bounds {gap:.2%} apart",
        ),
    ]
    if importlib.util.find_spec("igraph"):
        peer_s = _igraph(link_load(topology)[topology.neighbours >= 0], 1 if quick else IGRAPH_REPEATS)
        ratio = "igraph's time over ours for the loads of all directed links, first found to be the same"
        figures += [
            BenchFigure("igraph edge betweenness", round(1e3 * peer_s, 1), "ms", "the peer", how),
            BenchFigure(
                "topology link load over igraph", round(peer_s / load_s), "ratio", "at least 4,000", ratio
            ),
        ]
    return figures


def _best(call: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds."""
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


def _igraph(loads: FloatArray, repeats: int) -> float:
    """Return the seconds that igraph takes for these loads, which are given by chip and direction."""
    import igraph

    from shared.models.topology.graph import slice_topology

    neighbours = slice_topology(SHAPE).neighbours
    tails, _ = np.nonzero(neighbours >= 0)
    edges = list(zip(tails.tolist(), neighbours[neighbours >= 0].tolist(), strict=True))
    graph = igraph.Graph(n=len(neighbours), edges=edges, directed=True)
    if not np.allclose(graph.edge_betweenness(directed=True), loads):
        raise OperationFailed("topology link load: is not igraph's edge betweenness, so times mean nothing")
    return _best(lambda: graph.edge_betweenness(directed=True), repeats)
