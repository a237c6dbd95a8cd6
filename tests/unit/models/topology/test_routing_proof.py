"""The proof of a routing table: it must see every fault that a table can have."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.superpod.wiring import FACES
from shared.models.topology.graph import SliceTopology, slice_topology, without_links
from shared.models.topology.routing import Channel, Paths, find_cycle, paths_of, prove, routing_table

WHOLE = slice_topology((4, 4, 8))
edges = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), unique=True)
    )
)


@given(edges)
def test_a_cycle_is_found_exactly_where_networkx_finds_one(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    nodes, pairs = graph
    oracle = nx.DiGraph(pairs)
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    cycle = find_cycle(array[:, 0], array[:, 1], nodes)
    assert bool(cycle) == (not nx.is_directed_acyclic_graph(oracle))
    assert len(set(cycle)) == len(cycle)
    assert all(oracle.has_edge(a, b) for a, b in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True))


def around_the_ring(topology: SliceTopology) -> Paths:
    """Two hops +z from each chip of one ring of 8, all on virtual channel 0: the textbook's deadlock."""
    ring = np.arange(8)
    links = np.array([6 * ring + 4, 6 * topology.neighbours[ring, 4] + 4], dtype=np.int32)
    return Paths(ring, (ring + 2) % 8, links, np.zeros((2, 8), dtype=np.int8))


def test_a_known_cycle_is_found_and_named() -> None:
    proof = prove(WHOLE, [around_the_ring(WHOLE)], 1)
    assert not proof.holds
    assert proof.dependencies == 8
    assert {channel.chip for channel in proof.cycle} == set(range(8))
    chips = [channel.chip for channel in proof.cycle]
    assert [(b - a) % 8 for a, b in pairwise(chips)] == [1] * 7
    assert "chip (0, 0, 7) +z, virtual channel 0" in [channel.name(WHOLE) for channel in proof.cycle]


def test_datelines_break_the_rings() -> None:
    table = routing_table(WHOLE)
    without = [Paths(p.sources, p.targets, p.links, np.zeros_like(p.channels)) for p in paths_of(table)]
    assert prove(WHOLE, paths_of(table), 2).cycle == ()
    cycle = prove(WHOLE, without, 1).cycle
    assert len(cycle) >= 3
    for held, asked in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
        assert WHOLE.neighbours[held.chip, held.direction] == asked.chip


def one_way(links: list[int], source: int, target: int) -> Paths:
    hops = np.array(links, dtype=np.int32)[:, None]
    return Paths(np.array([source]), np.array([target]), hops, np.zeros(hops.shape, dtype=np.int8))


@pytest.mark.parametrize(
    ("links", "reached"),
    [
        ([4], 1),  # chip 0, +z
        ([4, -1], 1),
        ([], 0),  # no way at all
        ([0], 0),  # ends elsewhere
        ([4, 6 * 5 + 4], 0),  # continues elsewhere
        ([-1, 4], 0),  # begins with nothing
        ([4, 6 + 4], 0),  # goes past its target
    ],
)
def test_a_path_counts_only_if_it_reaches_its_target(links: list[int], reached: int) -> None:
    proof = prove(WHOLE, [one_way(links, 0, 1)], 1)
    assert proof.reached == reached
    assert ((0, 1) in proof.unreached) == (not reached)
    assert not proof.holds


def test_a_way_over_a_missing_link_does_not_count() -> None:
    table = routing_table(WHOLE)
    left = without_links(WHOLE, [(0, 4)])
    proof = prove(left, paths_of(table), 2)
    assert proof.cycle == ()
    assert not proof.holds
    lost = sum(
        int(np.isin(block.links, [4, 6 + 5]).any(axis=0).sum()) for block in paths_of(table)
    )  # over the link from either end
    assert proof.pairs - proof.reached == lost
    assert (0, 1) in proof.unreached
    assert len(proof.unreached) == 8


def test_a_channel_has_a_name() -> None:
    assert Channel(37, FACES.index("-y"), 1).name(WHOLE) == "chip (1, 0, 5) -y, virtual channel 1"
