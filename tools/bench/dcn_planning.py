"""Group `dcn`: planning, mapping and splitting for 64 blocks, compared with scipy's HiGHS and matchings, and
networkx.

All runs share one process. Each ratio compares consecutive runs on the same input, whose results were checked
to be equal.
"""

import statistics
import time
from collections.abc import Callable

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from shared.basics.errors import OperationFailed
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS, DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.one_hop import one_hop, proves
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.planning import CHAIN_MAX
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits, north_to_south
from shared.models.dcn.rewiring.rewired_circuits import (
    circuits_made,
    fewest_circuits_made,
    rewired,
)
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.path_program import exact_split
from shared.models.dcn.routing.weights import Split, split_demand
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray
from tools.bench.figure import BenchFigure

BLOCKS = 64
PEER_S_MAX = 120.0
"""Maximum seconds for HiGHS to find the one-hop optimum. If it takes longer, it and the ratio are left
out."""
REPEATS = 21
WEEK_H = 168
CLOSE, STEPS_MAX = 5e-4, 4_000
"""Required accuracy of the weights, and the maximum number of steps, if there is time."""


def measure_dcn(quick: bool) -> list[BenchFigure]:
    """Measure topology, mapping, rewiring and weights of a network of mixed generations."""
    plant = layout_of([Block(f"ab-{n}", (100, 200, 400)[n % 3], (256, 512)[n % 2]) for n in range(BLOCKS)])
    demand = demand_at(plant, DemandModel(), 0)
    repeats = 5 if quick else REPEATS
    return [
        *_topology(plant, demand, repeats, quick),
        *_mapping(repeats, quick),
        *_rewiring(plant, demand, repeats),
        *_weights(plant, demand, repeats, quick),
    ]


def _topology(plant: NetworkLayout, demand: IntArray, repeats: int, quick: bool) -> list[BenchFigure]:
    found = one_hop(plant, demand)
    if not proves(plant, demand, found):
        raise OperationFailed("dcn one-hop topology: its certificate is not valid, so times mean nothing")
    ours_s = _median(lambda: one_hop(plant, demand), repeats)
    joint = engineer(plant, demand)
    joint_s = _median(lambda: engineer(plant, demand), max(3, repeats // 3))
    gap = joint.split.use / joint.bound - 1.0
    figures = [
        BenchFigure(
            "dcn one-hop topology", _ms(ours_s), "ms", "at most 5", f"{BLOCKS} blocks, the exact optimum"
        ),
        BenchFigure(
            "dcn topology with transit", _ms(joint_s), "ms", "-", f"{BLOCKS} blocks, and its weights"
        ),
        BenchFigure(
            "dcn topology with transit gap", round(gap, 3), "fraction", "-", "largest use over its bound"
        ),
    ]
    peer = None if quick else _by_highs(plant, demand)
    if peer is not None:
        peer_s, served = peer
        if abs(served / float(found.served) - 1.0) > 1e-6:
            raise OperationFailed(
                "dcn one-hop topology: HiGHS finds a different optimum, so times mean nothing"
            )
        how = "scipy's milp on the same input, first found to have the same optimum"
        figures += [
            BenchFigure("HiGHS one-hop topology", round(peer_s, 1), "s", "the peer", how),
            BenchFigure("dcn one-hop over HiGHS", round(peer_s / ours_s), "ratio", "at least 500", how),
        ]
    return figures


def _by_highs(plant: NetworkLayout, demand: IntArray) -> tuple[float, float] | None:
    """Return (seconds, served share) of the integer program; None if it takes too long."""
    rows, columns = np.triu_indices(len(plant.blocks), 1)
    pairs = len(rows)
    wanted = np.maximum(demand, demand.T)[rows, columns] / (plant.rates[rows, columns] * MBPS_PER_GBPS)
    place = np.arange(pairs)
    incident = csr_array(
        (np.ones(2 * pairs), (np.concatenate([rows, columns]), np.concatenate([place, place]))),
        shape=(len(plant.blocks), pairs + 1),
    )
    serves = csr_array(
        (
            np.concatenate([np.ones(pairs), -wanted]),
            (np.concatenate([place, place]), np.concatenate([place, np.full(pairs, pairs)])),
        )
    )
    started = time.perf_counter()
    answer = milp(
        np.append(np.zeros(pairs), -1.0),
        constraints=[LinearConstraint(incident, ub=plant.uplinks), LinearConstraint(serves, lb=0.0)],
        integrality=np.append(np.ones(pairs), 0),
        bounds=Bounds(0.0, np.inf),
        options={"mip_rel_gap": 0.0, "time_limit": PEER_S_MAX},
    )
    taken = time.perf_counter() - started
    if answer.status != 0:
        return None
    links = np.rint(answer.x[:-1])
    return taken, float((links[wanted > 0] / wanted[wanted > 0]).min())


def _mapping(repeats: int, quick: bool) -> list[BenchFigure]:
    # Blocks of one kind with all uplinks used, for which the peer's matchings are complete.
    alike = layout_of([Block(f"ab-{n}", 400, 512) for n in range(BLOCKS)])
    full = uniform_mesh(alike)
    if not (links_of(matched_circuits(alike, full)) == full).all() or _matching_loop(alike, full):
        raise OperationFailed("dcn mapping: the circuits are not the links, so times mean nothing")
    ours_s = _median(lambda: matched_circuits(alike, full), repeats)
    peer_s = _median(lambda: _matching_loop(alike, full), max(3, repeats // 3))
    how = f"{int(full.sum()) // 2:,} links onto {alike.ocs_count} OCSes"
    figures = [
        BenchFigure("dcn mapping", _ms(ours_s), "ms", "at most 50", how),
        BenchFigure(
            "scipy matching loop", _ms(peer_s), "ms", "the peer", f"{how}, one matching after another"
        ),
        BenchFigure(
            "dcn mapping over scipy", round(peer_s / ours_s, 1), "ratio", "at least 10", "the two above"
        ),
    ]
    if not quick:
        started = time.perf_counter()
        if _networkx_loop(alike, full):
            raise OperationFailed("dcn mapping: networkx leaves links over, so times mean nothing")
        other_s = time.perf_counter() - started
        matchings = f"{how}, Hopcroft and Karp's matching one after another"
        figures += [
            BenchFigure("networkx matching loop", _ms(other_s), "ms", "the peer", matchings),
            BenchFigure("dcn mapping over networkx", round(other_s / ours_s), "ratio", "-", "as above"),
        ]
    return figures


def _rewiring(plant: NetworkLayout, demand: IntArray, repeats: int) -> list[BenchFigure]:
    now = matched_circuits(plant, engineer(plant, demand).links)
    later = engineer(plant, demand_at(plant, DemandModel(), WEEK_H)).links
    few = rewired(plant, now, later, CHAIN_MAX)
    missing = int(np.maximum(later - links_of(few), 0).sum()) // 2
    few_s = _median(lambda: rewired(plant, now, later, CHAIN_MAX), max(3, repeats // 3))
    how = f"{int(now.sum()):,} circuits, to the topology for a week later"
    least = f"at least {fewest_circuits_made(now, later):,}"
    made_of = {
        f", all links but {missing}": few,
        ", all links": rewired(plant, now, later),
        " afresh": matched_circuits(plant, later),
    }
    return [
        BenchFigure("dcn rewiring", _ms(few_s), "ms", "-", f"{how}, chains of at most {CHAIN_MAX}"),
        *(
            BenchFigure(f"dcn circuits made{words}", circuits_made(now, then), "circuits", least, how)
            for words, then in made_of.items()
        ),
    ]


def _matching_loop(plant: NetworkLayout, links: IntArray) -> int:
    """Do the same split with scipy's maximum matchings of the directed links, one after another. Return how
    many links are left at the end."""
    left = north_to_south(links)
    for _ in range(int(plant.ports.max()) * plant.ocs_count):
        partner = maximum_bipartite_matching(csr_array(left), perm_type="column")
        tails = np.flatnonzero(partner >= 0)
        left[tails, partner[tails]] -= 1
    return int(left.sum())


def _networkx_loop(plant: NetworkLayout, links: IntArray) -> int:
    """Do the same split with networkx's maximum matchings of a graph from which used links are removed."""
    left = north_to_south(links)
    blocks = len(plant.blocks)
    tails = range(blocks)
    graph = nx.Graph([(tail, blocks + head) for tail, head in np.argwhere(left).tolist()])
    for _ in range(int(plant.ports.max()) * plant.ocs_count):
        partner = nx.bipartite.hopcroft_karp_matching(graph, tails)
        for tail in tails:
            if tail in partner:
                head = partner[tail] - blocks
                left[tail, head] -= 1
                if left[tail, head] == 0:
                    graph.remove_edge(tail, blocks + head)
    return int(left.sum())


def _weights(plant: NetworkLayout, demand: IntArray, repeats: int, quick: bool) -> list[BenchFigure]:
    carries = trunk_capacity(plant, uniform_mesh(plant))
    split = split_demand(carries, demand)
    ours_s = _median(lambda: split_demand(carries, demand), repeats)
    nearer = split_demand(carries, demand, gap=CLOSE, steps_max=STEPS_MAX)
    nearer_s = _median(lambda: split_demand(carries, demand, gap=CLOSE, steps_max=STEPS_MAX), 3)
    how = f"{BLOCKS} blocks, uniform mesh"
    figures = [
        BenchFigure("dcn weights", _ms(ours_s), "ms", "at most 8", f"{how}, {split.steps} steps"),
        BenchFigure(
            "dcn weights proved gap", _gap(split), "fraction", "-", "largest use over its lower bound"
        ),
        BenchFigure(
            "dcn weights, closer", _ms(nearer_s), "ms", "at most 1,000", f"{how}, {nearer.steps} steps"
        ),
        BenchFigure("dcn weights proved gap, closer", _gap(nearer), "fraction", "-", "as above"),
    ]
    if not quick:
        started = time.perf_counter()
        exact = exact_split(carries, demand)
        peer_s = time.perf_counter() - started
        gaps = [round(found.use / exact.use - 1.0, 5) for found in (split, nearer)]
        how = "minimum largest use, then minimum transit, by scipy's linprog on the same input"
        figures += [
            BenchFigure("HiGHS weights", round(peer_s, 1), "s", "the peer", how),
            BenchFigure("dcn weights gap", gaps[0], "fraction", "-", "largest use over HiGHS's"),
            BenchFigure("dcn weights gap, closer", gaps[1], "fraction", "-", "as above"),
        ]
    return figures


def _gap(split: Split) -> float:
    return round(split.use / split.bound - 1.0, 5)


def _median(work: Callable[[], object], repeats: int) -> float:
    spans = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        spans.append(time.perf_counter() - started)
    return statistics.median(spans)


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 2)
