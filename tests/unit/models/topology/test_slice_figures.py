"""The figures of a slice against closed forms, linear programs, brute force over cuts, and the papers."""

import re
import sys
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron

from schemas.names import Shape
from shared.models.superpod.shapes import MESHES, is_mesh, is_twistable, legal_shapes
from shared.models.superpod.wiring import OCS_COUNT
from shared.models.topology import (
    SliceTopology,
    all_to_all_bounds,
    slice_figures,
    slice_topology,
    without_links,
)
from shared.models.topology.concurrent_flow import GAP_MAX, concurrent_flow
from shared.models.topology.cuts import best_plane_cut, links_between, plane_families
from shared.models.topology.flow_program import FlowProgram
from shared.models.topology.slice_figures import SliceFigures, healthy_throughput
from shared.models.topology.spanning_trees import TreePacking, tree_packing
from shared.models.topology.spread_flow import Descent, SpreadFlow
from shared.models.topology.symmetry import symmetry_of
from tests.support.topology_slices import degraded, directed_links, in_networkx, slices

TWISTABLE = [shape for shape in legal_shapes(64) if is_twistable(shape)]


def flow_by_linear_program(topology: SliceTopology, sources: dict[int, int] | None = None) -> float:
    """The full multicommodity flow: one commodity per source, conserved at every chip; no link carries more
    than its capacity.

    With `sources` (chip → number of chips it represents), links are shared by kind instead.
    """
    links = np.array(directed_links(topology))
    chips, count = topology.chips, len(links)
    wanted = sources or dict.fromkeys(range(chips), 1)
    leaving = csr_array((np.ones(count), (links[:, 0], np.arange(count))), shape=(chips, count))
    arriving = csr_array((np.ones(count), (links[:, 1], np.arange(count))), shape=(chips, count))
    conserved = kron(eye_array(len(wanted)), arriving - leaving)
    demand = np.ones((len(wanted), chips))
    demand[range(len(wanted)), list(wanted)] = 1 - chips
    if sources is None:
        full, room = kron(np.ones((1, chips)), eye_array(count)), np.ones(count)
    else:
        tails, ways = np.nonzero(topology.neighbours >= 0)
        kinds = symmetry_of(topology).links[tails, ways]
        shared = csr_array((np.ones(count), (kinds, np.arange(count))))
        full = kron(np.array([list(sources.values())], dtype=float), shared)
        room = np.bincount(kinds).astype(float)
    # scipy's stubs do not know that `linprog` takes sparse constraints.
    used: Any = hstack([full, csr_array((len(room), 1))])
    kept: Any = hstack([conserved, csr_array(-demand.reshape(-1, 1))])
    answer = linprog(
        np.append(np.zeros(count * len(wanted)), -1.0),
        A_ub=used,
        b_ub=room,
        A_eq=kept,
        b_eq=np.zeros(chips * len(wanted)),
        method="highs",
    )
    assert answer.status == 0
    assert answer.fun is not None
    return float(-answer.fun)


@pytest.mark.parametrize("shape", [shape for shape in MESHES if shape != (1, 1, 1)])
def test_a_meshs_throughput_is_that_of_the_full_linear_program(shape: Shape) -> None:
    topology = slice_topology(shape)
    rate = flow_by_linear_program(topology)
    assert healthy_throughput(shape, False) == pytest.approx(rate * topology.chips, rel=1e-6)
    bounds = concurrent_flow(topology)
    assert bounds.lower == pytest.approx(rate, rel=1e-5)
    assert bounds.upper == pytest.approx(rate, rel=1e-5)


def test_a_mesh_with_failed_links_has_the_throughput_of_the_full_linear_program() -> None:
    topology = without_links(slice_topology((2, 2, 4)), [(0, 4), (9, 2)])
    rate = flow_by_linear_program(topology)
    bounds = concurrent_flow(topology)
    assert bounds.lower <= rate * (1 + 1e-7)
    assert bounds.upper >= rate * (1 - 1e-7)
    assert bounds.upper == pytest.approx(bounds.lower, rel=1e-5)


@pytest.mark.parametrize(
    ("shape", "twisted", "lost"),
    [((4, 4, 4), False, ()), ((4, 4, 4), False, (0,)), ((4, 4, 8), True, ()), ((4, 4, 8), True, (0,))],
)
def test_a_torus_has_the_throughput_of_the_linear_program(
    shape: Shape, twisted: bool, lost: tuple[int, ...]
) -> None:
    """One commodity for each kind of chip, links shared by kind. This is exact, because averaging any flow
    over the symmetries has this form. The link loads test that the kinds are right."""
    topology = degraded(shape, twisted, lost)
    symmetry = symmetry_of(topology)
    sources = dict(zip(symmetry.sources.tolist(), symmetry.weights.tolist(), strict=True))
    rate = flow_by_linear_program(topology, sources)
    bounds = all_to_all_bounds(topology)
    assert bounds is not None
    assert bounds[0] == pytest.approx(rate * topology.chips, rel=1e-5)
    assert bounds[1] == pytest.approx(rate * topology.chips, rel=1e-5)


def flow_by_prices(topology: SliceTopology) -> SpreadFlow:
    """The bounds that random paths with prices give, without linear programs."""
    program = FlowProgram(topology)
    lengths = min((np.ones(program.kinds), *program.planes), key=program.upper_bound)
    flow = SpreadFlow(program, lengths, 0.0, program.upper_bound(lengths))
    flow.close(GAP_MAX)
    return flow


@pytest.mark.parametrize(
    ("shape", "twisted", "lost"),
    [
        ((4, 4, 4), False, (0,)),
        ((4, 4, 8), True, (0,)),
        ((4, 4, 8), True, (3, 20)),
        ((4, 4, 4), False, (3, 20)),
    ],
)
def test_prices_bound_the_flow_of_the_linear_program(
    shape: Shape, twisted: bool, lost: tuple[int, ...]
) -> None:
    topology = degraded(shape, twisted, lost)
    symmetry = symmetry_of(topology)
    sources = dict(zip(symmetry.sources.tolist(), symmetry.weights.tolist(), strict=True))
    if len(sources) < 32:
        rate = flow_by_linear_program(topology, sources)
    else:
        bounds = concurrent_flow(topology)
        rate = (bounds.lower + bounds.upper) / 2
    flow = flow_by_prices(topology)
    assert flow.lower <= rate * (1 + 2e-6)
    assert flow.upper >= rate * (1 - 2e-6)
    assert flow.gap() < 0.005


def test_prices_send_every_pair_its_unit_and_value_follows_load() -> None:
    """Links carry as many hops as the paths have, and the gradient of D is the load."""
    program = FlowProgram(degraded((4, 4, 8), True, (3, 20)))
    descent = Descent(program, np.ones(program.kinds))
    even = np.zeros(program.kinds)
    hops_of_all = 1.0 / program.upper_bound(np.ones(program.kinds)) * program.counts.sum()
    assert descent.spread(even)[1].sum() == pytest.approx(hops_of_all, rel=1e-12)
    rng = np.random.default_rng(3)
    prices, step = rng.random(program.kinds), 1e-5 * rng.standard_normal(program.kinds)
    rise = descent.spread(prices + step)[0] - descent.spread(prices - step)[0]
    assert rise == pytest.approx(2 * descent.spread(prices)[1] @ step, rel=1e-5)


@pytest.mark.slow("bounds the flow of a large slice")
def test_several_ocses_out_of_a_large_slice_are_bounded_closely() -> None:
    """Linear programs alone are 0.5 % apart after ten times as long."""
    bounds = all_to_all_bounds(degraded((8, 16, 16), True, (3, 20)))
    assert bounds is not None
    assert 0.675 < bounds[0] <= bounds[1] < 0.6809
    assert bounds[1] - bounds[0] < 0.01 * bounds[1]


def test_bounds_that_do_not_meet_are_printed_as_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = all_to_all_bounds(degraded((8, 8, 16), True, (3, 20)))
    # They take some seconds. The name `slice_figures` of the package is the function, so: by path.
    module = sys.modules["shared.models.topology.slice_figures"]
    monkeypatch.setattr(module, "all_to_all_bounds", lambda _topology: bounds)
    found = slice_figures((8, 8, 16), True, (3, 20))
    said = [note for note in found.notes if note.startswith("all_to_all_throughput: at least")]
    least, most = map(float, re.findall(r"at least ([0-9.]+), at most ([0-9.]+)", said[0])[0])
    assert bounds is not None
    assert bounds[0] * (1 - 1e-5) < least <= bounds[0] < bounds[1] <= most < bounds[1] * (1 + 1e-5)
    assert found.all_to_all_throughput == least


@given(slices(cubes_max=4), st.sets(st.integers(0, OCS_COUNT - 1), min_size=1, max_size=2))
@example(((4, 4, 12), False), {0, 21})
@settings(max_examples=8, deadline=None)
def test_failures_never_help_and_bounds_are_in_order(slice_: tuple[Shape, bool], lost: set[int]) -> None:
    bounds = all_to_all_bounds(degraded(*slice_, sorted(lost)))
    if bounds is not None:
        assert 0 < bounds[0] <= bounds[1] <= healthy_throughput(*slice_)


@pytest.mark.parametrize("shape", TWISTABLE)
def test_twisting_gains_by_the_mean_hops(shape: Shape) -> None:
    """All links fill evenly, at 6 ÷ mean hops: nothing is better than all links full on shortest paths."""
    figures = slice_figures(shape, True)
    assert figures.mean_hops is not None
    assert figures.all_to_all_throughput == pytest.approx(6 / figures.mean_hops, rel=1e-12)
    assert figures.dimension_order_throughput == figures.all_to_all_throughput
    assert figures.all_to_all_gain == pytest.approx(shape[2] / 8 * 6 / figures.mean_hops, rel=1e-12)


def test_ideal_gains_bound_the_measurements_of_the_paper() -> None:
    """[T4] Fig. 6: 1.63 on 4×4×8 and 1.31 on 4×8×8, measured."""
    for shape, measured in (((4, 4, 8), 1.63), ((4, 8, 8), 1.31)):
        gain = slice_figures(shape, True).all_to_all_gain
        assert gain is not None
        assert measured < gain < 1.1 * measured


def test_the_full_pod() -> None:
    found = slice_figures((16, 16, 16))
    assert (found.chips, found.hosts, found.cubes, found.links) == (4096, 1024, 64, 12288)
    assert (found.optical_links, found.cross_connects, found.ocs_used) == (3072, 6144, 48)
    assert (found.diameter, found.mean_hops, found.bisection_links) == (24, 12.0, 512)
    assert (found.all_to_all_throughput, found.dimension_order_throughput) == (0.5, 0.5)
    assert found.all_reduce_bandwidth == 12288 / 4095
    assert found.notes == ("bisection_links: exact",)


@given(slices(cubes_max=64))
@settings(max_examples=40, deadline=None)
def test_wrap_around_doubles_the_throughput_of_an_open_slice(slice_: tuple[Shape, bool]) -> None:
    """[T4] 2.6; open, a slice has N ÷ longest side links across and 4 ÷ longest side throughput."""
    shape, _ = slice_
    figures = slice_figures(shape)
    if is_mesh(shape) or figures.all_to_all_throughput is None:
        return
    assert figures.bisection_links == 2 * figures.chips // shape[2]
    assert figures.all_to_all_throughput == 2 * 4 / shape[2]
    assert "bisection_links: exact" in figures.notes


def brute_bisection(topology: SliceTopology) -> int:
    chips = topology.chips
    best = chips * 6
    for chosen in combinations(range(1, chips), chips // 2 - 1):
        half = np.zeros(chips, dtype=bool)
        half[[0, *chosen]] = True
        best = min(best, links_between(topology, half))
    return best


@pytest.mark.parametrize("shape", [(1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4)])
def test_a_meshs_bisection_by_brute_force(shape: Shape) -> None:
    assert best_plane_cut(slice_topology(shape)) == brute_bisection(slice_topology(shape))


@given(slices(cubes_max=16), st.sets(st.integers(0, OCS_COUNT - 1), max_size=3))
@settings(max_examples=30, deadline=None)
def test_planes_halve_a_slice_and_stay_planes_around_it(slice_: tuple[Shape, bool], lost: set[int]) -> None:
    topology = degraded(*slice_, sorted(lost))
    if is_mesh(slice_[0]):
        return
    for normal, period in plane_families(*slice_):
        level = topology.coordinates @ np.array(normal) % period
        assert (np.bincount(level // (period // 2)) == topology.chips // 2).all()
        for way in range(6):
            moved = level[topology.neighbours[:, way]] - level
            there = topology.neighbours[:, way] >= 0
            step = (1 - 2 * (way % 2)) * normal[way // 2]
            assert ((moved - step)[there] % period == 0).all()


def test_no_search_finds_a_smaller_bisection_than_the_exact_one() -> None:
    topology = slice_topology((4, 4, 4))
    graph = in_networkx(topology)
    exact = best_plane_cut(topology)
    for seed in range(10):
        halves = nx.algorithms.community.kernighan_lin_bisection(graph, seed=seed)
        assert nx.cut_size(graph, *halves) >= exact == 32


def packing_by_linear_program(topology: SliceTopology) -> float:
    """The largest z such that z spanning trees, in fractions, use no link more than whole.

    Martin's form of the spanning trees: the shares x of the links sum to z·(chips − 1), and for every root
    they can be oriented such that no chip but the root has more than z leading out of it.
    """
    graph = in_networkx(topology)
    edges = list(graph.edges)
    nodes = list(graph)
    count, chips = len(edges), len(nodes)
    index = {edge: n for n, edge in enumerate(edges)}
    rows, bounds = [], []
    equal = []
    width = count + 2 * count * chips + 1
    for root in nodes:
        for n in index.values():
            row = np.zeros(width)
            row[n] = 1
            row[count + 2 * (root * count + n)] = row[count + 2 * (root * count + n) + 1] = -1
            equal.append((row, 0.0))
        for node in nodes:
            row = np.zeros(width)
            for (a, b), n in index.items():
                if a == node:
                    row[count + 2 * (root * count + n)] = 1
                if b == node:
                    row[count + 2 * (root * count + n) + 1] = 1
            row[-1] = 0.0 if node == root else -1.0
            rows.append(row)
            bounds.append(0.0)
    total = np.zeros(width)
    total[:count] = 1
    total[-1] = -(chips - 1)
    equal.append((total, 0.0))
    answer = linprog(
        np.append(np.zeros(width - 1), -1.0),
        A_ub=np.array(rows),
        b_ub=bounds,
        A_eq=np.array([row for row, _ in equal]),
        b_eq=[right for _, right in equal],
        bounds=[(0, 1)] * count + [(0, None)] * (width - count),
        method="highs",
    )
    assert answer.status == 0
    assert answer.fun is not None
    return float(-answer.fun)


PACKED = [
    *(slice_topology(shape) for shape in ((1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4))),
    without_links(slice_topology((2, 2, 4)), [(1, 4)]),
    without_links(slice_topology((2, 2, 4)), [(0, 4), (9, 2), (9, 1)]),
    without_links(slice_topology((2, 2, 2)), [(0, 4), (2, 4), (4, 4)]),
]


@pytest.mark.parametrize("topology", PACKED, ids=lambda one: f"{one.shape} {(one.neighbours >= 0).sum()}")
def test_all_reduce_is_the_packing_of_spanning_trees(topology: SliceTopology) -> None:
    """The last two have parts that are denser than the whole, so that only a bound is given."""
    packing = tree_packing(topology)
    assert packing is not None
    wanted = packing_by_linear_program(topology)
    if packing.is_exact:
        assert packing.trees == pytest.approx(wanted, rel=1e-7)
    else:
        assert packing.trees >= wanted * (1 - 1e-9)
    assert packing.is_exact == (topology not in PACKED[-2:])


@pytest.mark.parametrize("lost", [(0,), (0, 17, 40)])
def test_a_torus_without_a_few_ocses_still_packs_trees_into_all_its_links(lost: tuple[int, ...]) -> None:
    topology = degraded((4, 4, 8), True, lost)
    links = int((topology.neighbours >= 0).sum()) // 2
    assert tree_packing(topology) == TreePacking(links / 127, True)


def test_a_whole_torus_packs_as_many_trees_as_it_has_links_for() -> None:
    for shape, twisted in (((4, 4, 4), False), ((4, 4, 8), True)):
        topology = slice_topology(shape, twisted)
        assert tree_packing(topology) == TreePacking(3 * topology.chips / (topology.chips - 1), True)
        # The reason: no set of chips has fewer than six links leading out.
        assert nx.edge_connectivity(in_networkx(topology)) == 6


def test_remaining_throughput_without_an_ocs() -> None:
    left = slice_figures((8, 8, 8), False, (0, 0))
    assert left.without_ocs == (0,)
    assert (left.links, left.optical_links, left.cross_connects, left.ocs_used) == (1528, 376, 752, 47)
    assert left.bisection_links == 120
    assert left.all_to_all_throughput == pytest.approx(15 / 16)
    assert left.all_to_all_gain == pytest.approx(15 / 16)
    assert left.dimension_order_throughput == 0.0
    assert any(note.startswith("dimension_order_throughput 0") for note in left.notes)


def test_a_slice_that_has_fallen_apart_carries_nothing_and_reports_it() -> None:
    left = slice_figures((4, 4, 8), False, range(32, 48))
    assert (left.diameter, left.mean_hops) == (None, None)
    assert (left.all_to_all_throughput, left.all_reduce_bandwidth, left.bisection_links) == (0.0, 0.0, 0)
    assert any("fallen apart: 8,192 ordered pairs" in note for note in left.notes)


def test_the_last_ocs_of_a_dimension_is_the_bottleneck_of_everything() -> None:
    left = slice_figures((4, 4, 8), False, range(33, 48))
    assert left.bisection_links == 2
    assert left.all_to_all_throughput == pytest.approx(128 * 2 / 64**2, rel=1e-5)
    assert left.all_reduce_bandwidth == 2.0


def test_one_chip_and_a_mesh_have_no_ocs_to_lose() -> None:
    alone: SliceFigures = slice_figures((1, 1, 1))
    assert (alone.chips, alone.hosts, alone.cubes, alone.links, alone.diameter) == (1, 1, 1, 0, 0)
    assert (alone.mean_hops, alone.all_to_all_throughput, alone.all_reduce_bandwidth) == (0.0, None, None)
    mesh = slice_figures((2, 4, 4), False, (7,))
    assert "OCS 7: not used by this slice" in mesh.notes
    assert mesh.links == 64
