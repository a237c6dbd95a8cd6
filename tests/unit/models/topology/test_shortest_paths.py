"""Hops and loads against networkx and igraph on small slices, and against closed forms on large ones."""

from math import prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import is_mesh
from shared.models.topology import hops, link_load, slice_topology, without_links
from shared.models.topology.lattice import dimension_order_load, torus_hops
from shared.models.topology.symmetry import symmetry_of
from tests.support.topology_slices import DEGRADED, WHOLE, degraded, in_igraph, in_networkx, slices

LOADED = [*((shape, twisted, ()) for shape, twisted in WHOLE), *DEGRADED]


@pytest.mark.parametrize(("shape", "twisted", "lost"), LOADED)
def test_hops_are_those_of_networkx(shape: Shape, twisted: bool, lost: tuple[int, ...]) -> None:
    topology = degraded(shape, twisted, lost)
    lengths = dict(nx.all_pairs_shortest_path_length(in_networkx(topology)))
    every = [away for row in lengths.values() for away in row.values()]
    found = hops(topology)
    assert found.diameter == max(every)
    assert found.mean == pytest.approx(np.mean(every), rel=1e-12)
    assert found.unreachable_pairs == 0


@pytest.mark.parametrize(("shape", "twisted", "lost"), LOADED)
def test_link_load_is_igraphs_edge_betweenness(shape: Shape, twisted: bool, lost: tuple[int, ...]) -> None:
    topology = degraded(shape, twisted, lost)
    found = link_load(topology)
    wanted = in_igraph(topology).edge_betweenness(directed=True)
    assert found[topology.neighbours >= 0] == pytest.approx(np.array(wanted), rel=1e-9)
    assert not found[topology.neighbours < 0].any()


def test_link_load_is_networkxs_edge_betweenness() -> None:
    topology = slice_topology((4, 4, 8), True)
    graph = in_networkx(topology).to_directed()
    wanted = nx.edge_betweenness_centrality(graph, normalized=False)
    found = link_load(topology)
    for (tail, head), load in wanted.items():
        (way,) = np.flatnonzero(topology.neighbours[tail] == head)
        assert found[tail, way] == pytest.approx(load, rel=1e-9)


def test_the_full_pod_in_closed_form() -> None:
    topology = slice_topology((16, 16, 16))
    found = hops(topology)
    assert (found.diameter, found.mean) == (24, 12.0)
    assert (link_load(topology) == 2 * 4096).all()
    assert (dimension_order_load((16, 16, 16), False) == 2 * 4096).all()


@given(slices(cubes_max=64))
@settings(max_examples=60, deadline=None)
def test_an_untwisted_torus_follows_the_textbook(slice_: tuple[Shape, bool]) -> None:
    """Even rings of k: diameter Σ k/2, mean Σ k/4, and N·k/8 pairs a link."""
    shape, _ = slice_
    if is_mesh(shape):
        return
    found = hops(slice_topology(shape))
    assert found.diameter == sum(shape) // 2
    assert found.mean == sum(shape) / 4
    assert dimension_order_load(shape, False).tolist() == [prod(shape) * side / 8 for side in shape]


@given(slices(cubes_max=16))
@settings(max_examples=30, deadline=None)
def test_loads_add_up_to_the_hops_of_all_pairs(slice_: tuple[Shape, bool]) -> None:
    topology = slice_topology(*slice_)
    mean = hops(topology).mean
    assert mean is not None
    total = mean * topology.chips**2
    assert link_load(topology).sum() == pytest.approx(total, rel=1e-9)
    if not is_mesh(slice_[0]):
        assert 2 * topology.chips * dimension_order_load(*slice_).sum() == pytest.approx(total, rel=1e-9)


def walked_load(shape: Shape) -> np.ndarray:
    """Dimension-order load of a twisted torus by walking: the shortest ways over Z³, one by one."""
    topology = slice_topology(shape, True)
    away = torus_hops(shape, True).ravel()
    ways: dict[int, list[tuple[int, int, int]]] = {}
    most = range(-shape[2], shape[2] + 1)
    for x in most:
        for y in most:
            for z in most:
                if abs(x) + abs(y) + abs(z) <= away.max():
                    chip = 0
                    for dimension, steps in enumerate((x, y, z)):
                        for _ in range(abs(steps)):
                            chip = int(topology.neighbours[chip, 2 * dimension + (steps < 0)])
                    if abs(x) + abs(y) + abs(z) == away[chip]:
                        ways.setdefault(chip, []).append((x, y, z))
    load = np.zeros(6)
    for found in ways.values():
        for way in found:
            for dimension, steps in enumerate(way):
                load[2 * dimension + (steps < 0)] += abs(steps) / len(found)
    assert len(ways) == topology.chips
    return load


@pytest.mark.parametrize("shape", [(4, 4, 8), (4, 8, 8)])
def test_dimension_order_on_a_twisted_torus_by_walking(shape: Shape) -> None:
    assert walked_load(shape) == pytest.approx(np.repeat(dimension_order_load(shape, True), 2), rel=1e-9)


def test_a_slice_that_has_fallen_apart_has_no_hops() -> None:
    topology = degraded((4, 4, 8), False, range(32, 48))
    found = hops(topology)
    assert (found.diameter, found.mean, found.unreachable_pairs) == (None, None, 2 * 64 * 64)
    with pytest.raises(InvalidInput, match="64 of its chips cannot be reached from chip 0"):
        link_load(topology)


def test_single_links_that_fail_are_seen_from_every_chip() -> None:
    topology = without_links(slice_topology((4, 4, 8), True), [(3, 0), (40, 5), (77, 2)])
    lengths = dict(nx.all_pairs_shortest_path_length(in_networkx(topology)))
    assert hops(topology).mean == pytest.approx(
        np.mean([a for row in lengths.values() for a in row.values()])
    )
    wanted = in_igraph(topology).edge_betweenness(directed=True)
    assert link_load(topology)[topology.neighbours >= 0] == pytest.approx(np.array(wanted), rel=1e-9)


@pytest.mark.parametrize(("shape", "twisted", "lost"), DEGRADED)
def test_links_of_one_kind_carry_the_same_load(shape: Shape, twisted: bool, lost: tuple[int, ...]) -> None:
    topology = degraded(shape, twisted, lost)
    symmetry = symmetry_of(topology)
    loads = link_load(topology)
    for kind in range(symmetry.links.max() + 1):
        alike = loads[symmetry.links == kind]
        assert alike == pytest.approx(alike[0], rel=1e-9)
    assert symmetry.weights.sum() == topology.chips


def test_a_whole_torus_has_one_kind_of_chip_and_a_twisted_one_one_kind_of_link() -> None:
    assert len(symmetry_of(slice_topology((4, 4, 8))).sources) == 1
    for shape in ((4, 4, 8), (4, 8, 8)):
        assert symmetry_of(slice_topology(shape, True)).links.max() == 0
