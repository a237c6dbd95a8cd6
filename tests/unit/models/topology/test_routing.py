"""Routing tables on healthy and damaged slices, against networkx and closed forms."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import FACES
from shared.models.topology.graph import SliceTopology, slice_topology, without_links, without_ocs
from shared.models.topology.routing import (
    RoutingTable,
    healthy_load,
    paths_of,
    prove,
    routing_figures,
    routing_table,
)
from shared.models.topology.routing.escape_tree import escape_hops, escape_tree
from shared.models.topology.routing.load_spreading import load_of, ways_of
from shared.models.topology.routing.straight_runs import straight_runs_of
from shared.models.topology.routing.table import DIRECT, ESCAPE, FreeHops
from tests.support.routing_oracle import Followed, chip_graph, follow

HEALTHY = [
    ((1, 1, 2), False),
    ((1, 2, 2), False),
    ((2, 4, 4), False),
    ((4, 4, 4), False),
    ((4, 4, 8), False),
    ((4, 4, 8), True),
    ((4, 8, 8), True),
]
TWISTED = [(4, 4, 8), (4, 8, 8), (8, 8, 16), (8, 16, 16)]


def followed(table: RoutingTable) -> Followed:
    return follow(table.topology, list(paths_of(table)))


@pytest.mark.parametrize(("shape", "twisted"), HEALTHY)
def test_a_healthy_table_takes_shortest_ways_in_order_of_dimensions(
    shape: tuple[int, int, int], twisted: bool
) -> None:
    table = routing_table(slice_topology(shape, twisted))
    shortest = dict(nx.all_pairs_shortest_path_length(chip_graph(table.topology)))
    ways = followed(table).routes
    assert len(ways) == table.topology.chips * (table.topology.chips - 1)
    for (source, target), way in ways.items():
        directions = [link % len(FACES) for link, _ in way]
        assert len(way) == shortest[source][target]
        assert [d // 2 for d in directions] == sorted(d // 2 for d in directions)
        assert len(set(directions)) == len({d // 2 for d in directions})


@pytest.mark.parametrize(("shape", "twisted"), HEALTHY)
def test_each_ring_has_one_dateline_in_each_direction(shape: tuple[int, int, int], twisted: bool) -> None:
    lines = straight_runs_of(slice_topology(shape, twisted))
    for direction in range(len(FACES)):
        onward = lines.healthy.neighbours[:, direction]
        graph = nx.DiGraph([(chip, far) for chip, far in enumerate(onward.tolist()) if far >= 0])
        rings = [ring for ring in nx.strongly_connected_components(graph) if len(ring) > 1]
        assert int(lines.dateline[:, direction].sum()) == len(rings)
        assert all(lines.dateline[sorted(ring), direction].sum() == 1 for ring in rings)
        longest = int(np.abs(lines.shortest[..., direction // 2]).max(initial=0))
        assert all(longest < len(ring) for ring in rings), "a run might cross its dateline twice"


@pytest.mark.parametrize("shape", [(4, 4, 4), (4, 4, 8), (4, 8, 12), (8, 8, 8), (4, 4, 64), (16, 16, 16)])
def test_healthy_load_is_the_closed_form(shape: tuple[int, int, int]) -> None:
    """Side / 4 hops on average along each dimension, over one link a chip in each direction."""
    load = healthy_load(slice_topology(shape))
    chips = shape[0] * shape[1] * shape[2]
    for dimension, side in enumerate(shape):
        assert (load[:, 2 * dimension : 2 * dimension + 2] == chips * side // 8).all()


@pytest.mark.parametrize("shape", TWISTED)
def test_twisted_ties_leave_every_link_near_the_mean(shape: tuple[int, int, int]) -> None:
    load = healthy_load(slice_topology(shape, True))
    assert load.max() <= 1.04 * load.mean()


@pytest.mark.parametrize("ocs", [0, 21, 47])
def test_one_ocs_out_of_8x8x8_keeps_nearly_the_cut_bound(ocs: int) -> None:
    """15 of 16 links across the middle are left: nothing keeps more than 15/16 of the all-to-all."""
    figures = routing_figures(without_ocs(slice_topology((8, 8, 8)), [ocs]))
    assert figures.reached == figures.pairs == 512 * 511
    assert figures.deadlock_free
    assert figures.virtual_channels == 3
    assert figures.escapes == 0
    assert figures.missing_links == 8
    assert figures.all_to_all_kept is not None
    assert 0.92 <= figures.all_to_all_kept <= 15 / 16


@pytest.mark.slow("routes for 512 chips")
@pytest.mark.parametrize("lost", [[0, 16, 32], [5, 23, 39]])
def test_an_ocs_out_in_every_dimension_of_8x8x8_keeps_as_much(lost: list[int]) -> None:
    """One free hop first and one last go around three broken lines, so no path needs the tree."""
    figures = routing_figures(without_ocs(slice_topology((8, 8, 8)), lost))
    assert figures.reached == figures.pairs
    assert figures.deadlock_free
    assert figures.virtual_channels == 4
    assert figures.escapes == 0
    assert figures.all_to_all_kept is not None
    assert 0.92 <= figures.all_to_all_kept <= 15 / 16


@pytest.mark.parametrize("shape", [(4, 4, 8), (4, 8, 8)])
def test_one_ocs_out_of_a_twisted_torus_is_hardly_felt(shape: tuple[int, int, int]) -> None:
    figures = routing_figures(without_ocs(slice_topology(shape, True), [3]))
    assert figures.all_to_all_kept is not None
    assert 0.95 <= figures.all_to_all_kept <= 1.02


damage = st.tuples(
    st.sampled_from([*HEALTHY[2:6], ((2, 2, 4), False)]),
    st.sets(st.integers(0, 47), max_size=5),
    st.lists(st.tuples(st.integers(0, 1023), st.integers(0, 5)), max_size=4),
)


def damaged(what: tuple[tuple[tuple[int, int, int], bool], set[int], list[tuple[int, int]]]) -> SliceTopology:
    (shape, twisted), ocs, links = what
    left = without_ocs(slice_topology(shape, twisted), ocs)
    for chip, direction in links:
        if left.neighbours[chip % left.chips, direction] >= 0:
            left = without_links(left, [(chip % left.chips, direction)])
    return left


@settings(deadline=None, max_examples=15)
@given(damage)
def test_after_any_failure_all_connected_chips_are_reached_without_deadlock(
    what: tuple[tuple[tuple[int, int, int], bool], set[int], list[tuple[int, int]]],
) -> None:
    left = damaged(what)
    if not nx.is_strongly_connected(chip_graph(left)):
        with pytest.raises(InvalidInput, match="no way leads to"):
            routing_table(left)
        return
    table = routing_table(left)
    slow = followed(table)
    proof = prove(left, paths_of(table), table.virtual_channels)
    assert proof.holds
    assert len(slow.reached) == proof.reached == left.chips * (left.chips - 1)
    assert nx.is_directed_acyclic_graph(slow.dependencies)
    assert slow.dependencies.number_of_edges() == proof.dependencies
    assert (slow.load == proof.load).all()
    assert (slow.load[left.neighbours < 0] == 0).all()
    assert proof.virtual_channels <= table.virtual_channels <= 4
    hops = [len(way) for way in slow.routes.values()]
    assert proof.max_hops == max(hops)
    assert proof.mean_hops == pytest.approx(sum(hops) / left.chips**2)


@pytest.mark.parametrize("ocs", [[], [0], [3, 18], [0, 17, 40], list(range(32, 47))])
def test_load_by_runs_is_load_by_hops(ocs: list[int]) -> None:
    table = routing_table(without_ocs(slice_topology((4, 4, 8)), ocs))
    ways = ways_of(table.topology, table.lines, table.sources, table.moves, table.order)
    slow = followed(table)
    load = load_of(ways, FreeHops(table.first, table.last))
    assert (table.escape is None) == (len(ocs) < 15)
    for source, target in np.argwhere(table.first == ESCAPE).tolist():
        for move in table.moves:
            for link, _ in slow.routes[int(move[table.sources[source]]), int(move[target])]:
                slow.load[divmod(link, len(FACES))] -= 1
    assert (load == slow.load).all()


def test_a_table_of_one_cube_serves_all_only_where_all_cubes_miss_the_same() -> None:
    whole = slice_topology((4, 8, 8))
    alike, single = routing_table(without_ocs(whole, [7])), routing_table(without_links(whole, [(9, 4)]))
    assert len(alike.sources) == 64
    assert len(alike.moves) == 4
    assert sorted(alike.moves[:, alike.sources].ravel()) == list(range(256))
    assert len(single.sources) == 256
    assert len(single.moves) == 1


def test_a_link_may_be_named_from_either_end() -> None:
    whole = slice_topology((4, 4, 4))
    far = int(whole.neighbours[5, 2])
    one, other = (routing_table(without_links(whole, [link])) for link in ((5, 2), (far, 3)))
    assert (one.first == other.first).all()


@pytest.mark.parametrize("lost", [[0, 16, 32], list(range(15))])
def test_free_hops_come_first_or_last_on_channels_of_their_own(lost: list[int]) -> None:
    table = routing_table(without_ocs(slice_topology((4, 4, 4)), lost))
    ways = followed(table).routes
    last = table.last != DIRECT
    assert last.any()
    for (source, target), way in ways.items():
        first = int(table.first[source, target])
        if first == ESCAPE:
            continue
        inner = [channel for _, channel in way]
        if first != DIRECT:
            assert way[0] == (6 * source + first, 2)
            inner = inner[1:]
        if last[source, target]:
            link, channel = way[-1]
            assert (link % 6, channel) == (int(table.last[source, target]), 3)
            inner = inner[:-1]
        assert all(channel < 2 for channel in inner)


@pytest.mark.slow("routes for 512 chips")
@pytest.mark.parametrize("lost", [[0, 1, 2], list(range(32, 47))])
def test_only_ways_that_no_free_hops_can_save_escape_up_and_down_the_tree(lost: list[int]) -> None:
    """Every way of at most one free hop at each end is tried against the links that are left."""
    left = without_ocs(slice_topology((4, 4, 8)), lost)
    table = routing_table(left)
    whole = ~missing_on_the_way(left, table)
    neighbours = left.neighbours
    ways = followed(table).routes
    for row, source in enumerate(table.sources.tolist()):
        begins = [source, *(far for far in neighbours[source].tolist() if far >= 0)]
        for target in set(range(left.chips)) - {source}:
            stops = [target, *(far for far in neighbours[target].tolist() if far >= 0)]
            escapes = table.first[row, target] == ESCAPE
            assert bool(escapes) == (not whole[np.ix_(begins, stops)].any())
            if escapes:
                assert {channel for _, channel in ways[source, target]} == {2}


def missing_on_the_way(left: SliceTopology, table: RoutingTable) -> np.ndarray:
    """(N, N): whether the dimension-ordered way of a pair, walked hop by hop, meets a link that is gone."""
    chips = left.chips
    meets = np.zeros((chips, chips), dtype=bool)
    for source in range(chips):
        for target in range(chips):
            at, steps = source, table.lines.steps(np.array(source), np.array(target)).tolist()
            for dimension in table.order:
                for _ in range(abs(steps[dimension])):
                    way = 2 * dimension + (steps[dimension] < 0)
                    meets[source, target] |= bool(left.neighbours[at, way] < 0)
                    at = int(table.lines.healthy.neighbours[at, way])
    return meets


@pytest.mark.parametrize("lost", [[], [0, 1, 2, 3, 20], list(range(16))])
def test_escapes_are_the_shortest_ways_up_and_then_down(lost: list[int]) -> None:
    """ServiceInstance to shortest paths in the graph of (chip, has gone down), as networkx finds them."""
    left = without_ocs(slice_topology((4, 4, 4)), lost)
    tree = escape_tree(left, np.arange(left.chips))
    legal: nx.DiGraph[tuple[int, bool]] = nx.DiGraph()
    for chip, direction in np.argwhere(left.neighbours >= 0).tolist():
        far = int(left.neighbours[chip, direction])
        if tree.leads_up[chip, direction]:
            legal.add_edge((chip, False), (far, False))
        else:
            legal.add_edges_from([((chip, False), (far, True)), ((chip, True), (far, True))])
    for source in (0, 21, 63):
        lengths = nx.single_source_shortest_path_length(legal, (source, False))
        targets = np.arange(left.chips)
        hops = escape_hops(tree, left, np.full(left.chips, source), targets)
        for target in targets.tolist():
            links = [link for link in hops[:, target].tolist() if link >= 0]
            ups = [bool(tree.leads_up[divmod(link, 6)]) for link in links]
            assert ups == sorted(ups, reverse=True)
            wanted = min(lengths.get((target, down), 999) for down in (False, True))
            assert len(links) == wanted


def test_a_slice_that_fell_apart_names_chips_that_cannot_be_reached() -> None:
    left = without_ocs(slice_topology((4, 4, 8)), range(32, 48))
    with pytest.raises(InvalidInput) as caught:
        routing_table(left)
    assert str(caught.value) == (
        "shape 4x4x8: too many links are missing; chip (0, 0, 0) cannot reach "
        "(0, 0, 4), (0, 0, 5), (0, 0, 6), (0, 0, 7) and 60 more"
    )
    lonely = without_links(slice_topology((1, 1, 2)), [(0, 4)])
    with pytest.raises(InvalidInput, match=r"chip \(0, 0, 0\) cannot reach \(0, 0, 1\)$"):
        routing_table(lonely)


def test_a_slice_bigger_than_a_superpod_gets_no_table() -> None:
    with pytest.raises(InvalidInput, match="4608 chips are too many for a routing table"):
        routing_table(slice_topology((12, 16, 24), cubes_in_pod=144))


def test_a_single_chip_has_nothing_to_route() -> None:
    figures = routing_figures(slice_topology((1, 1, 1)))
    assert (figures.pairs, figures.virtual_channels, figures.max_load) == (0, 0, 0)
    assert figures.mean_hops == 0
    assert figures.mean_load is figures.all_to_all_throughput is figures.all_to_all_kept is None
