"""Topologies over direct and one-transit paths against linear programs, all small topologies, and a mesh."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS, DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh, whole_links
from shared.models.dcn.engineering.topology_engineering import (
    _Search,
    engineer,
    engineer_for_all,
    peak_of,
)
from shared.models.dcn.routing.path_loads import trunk_capacity, unreachable_pairs
from shared.models.dcn.routing.path_program import exact_split
from shared.models.dcn.routing.weights import split_demand, use_of
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import demands, plant, plants

MIXED = plant(12, (100, 200, 400), (256, 512))


def least_use_in_fractions(found: NetworkLayout, *demands: IntArray) -> float:
    """The least largest use of any topology in fractions of links, by one linear program; of several demands
    each goes its own ways."""
    blocks, scale = len(found.blocks), float(max(demand.max() for demand in demands))
    trunks = {pair: n for n, pair in enumerate(zip(*np.nonzero(np.triu(found.may_join)), strict=True))}
    paths = [
        (m, i, j, k)
        for m, demand in enumerate(demands)
        for i, j in np.argwhere(demand > 0).tolist()
        for k in range(blocks)
        if found.may_join[i, k] and (k == j or found.may_join[k, j])
    ]
    entries: list[tuple[int, int, float]] = []
    full: dict[tuple[int, int, int], int] = {}
    for column, (m, i, j, k) in enumerate(paths):
        for hop in [(i, j)] if k == j else [(i, k), (k, j)]:
            row = full.setdefault((m, *hop), len(full))
            entries.append((row, column, scale / (found.rates[hop] * MBPS_PER_GBPS)))
    for (_, a, b), row in full.items():
        entries.append((row, len(paths) + trunks[min(a, b), max(a, b)], -1.0))
    width = len(paths) + len(trunks) + 1
    for pair, n in trunks.items():
        entries += [(len(full) + block, len(paths) + n, 1.0) for block in pair]
    entries += [(len(full) + block, width - 1, -float(found.uplinks[block])) for block in range(blocks)]
    rows, columns, values = zip(*entries, strict=True)
    at_most: Any = coo_array((values, (rows, columns)), shape=(len(full) + blocks, width)).tocsr()
    pairs = {pair: n for n, pair in enumerate(dict.fromkeys((m, i, j) for m, i, j, _ in paths))}
    of_pair = [pairs[m, i, j] for m, i, j, _ in paths]
    all_of: Any = coo_array(
        (np.ones(len(paths)), (of_pair, range(len(paths)))), shape=(len(pairs), width)
    ).tocsr()
    cost = np.zeros(width)
    cost[-1] = 1.0
    answer = linprog(
        cost,
        A_ub=at_most,
        b_ub=np.zeros(len(full) + blocks),
        A_eq=all_of,
        b_eq=np.array([demands[m][i, j] / scale for m, i, j in pairs]),
        method="highs",
    )
    assert answer.status == 0
    assert answer.fun is not None
    return float(answer.fun)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_bound_is_below_the_linear_program_and_whole_links_above(data: st.DataObject) -> None:
    found = data.draw(plants(5))
    demand = data.draw(demands(len(found.blocks)))
    answer, least = engineer(found, demand), least_use_in_fractions(found, demand)
    assert answer.bound <= least * (1 + 1e-6)
    assert answer.split.use >= least * (1 - 1e-6)
    assert (answer.links == answer.links.T).all()
    assert (answer.links.sum(axis=1) <= found.uplinks).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("found", [plant(12), MIXED], ids=["alike", "mixed"])
def test_whole_links_come_near_the_linear_program(found: NetworkLayout, seed: int) -> None:
    demand = demand_at(found, DemandModel(seed=seed), seed)
    answer = engineer(found, demand)
    assert answer.split.use <= 1.05 * least_use_in_fractions(found, demand)


@pytest.mark.parametrize("seed", range(4))
def test_it_beats_a_mesh_where_generations_mix_and_more_goes_directly(seed: int) -> None:
    """At the largest use that the engineered links have: a mesh would not even come down to it."""
    demand = demand_at(MIXED, DemandModel(seed=seed), seed)
    answer = engineer(MIXED, demand)
    mesh = trunk_capacity(MIXED, uniform_mesh(MIXED))
    use = answer.split.use
    assert use <= 0.97 * split_demand(mesh, demand).use
    over = [
        np.maximum(demand - use * carries, 0.0).sum()
        for carries in (trunk_capacity(MIXED, answer.links), mesh)
    ]
    assert over[0] < over[1]


def test_no_small_topology_is_better_than_the_bound() -> None:
    """Three uplinks each, so that every topology of four blocks can be tried."""
    four = plant(4, (100, 400))
    small = replace(four, uplinks=np.full(4, 3))
    rows, columns = np.triu_indices(4, 1)
    for seed in range(3):
        demand = demand_at(small, DemandModel(seed=seed, hot_pairs=2), 0)
        best = np.inf
        for counts in product(range(4), repeat=6):
            links = np.zeros((4, 4), dtype=np.int64)
            links[rows, columns] = counts
            links += links.T
            joined = links > 0
            reached = joined | (joined.astype(int) @ joined > 0)
            if (links.sum(axis=1) == 3).all() and reached[demand > 0].all():
                best = min(best, exact_split(trunk_capacity(small, links), demand).use)
        answer = engineer(small, demand)
        assert answer.bound <= best
        assert answer.split.use >= best * (1 - 1e-6)


@settings(max_examples=40, deadline=None)
@given(found=plants(7))
def test_a_mesh_uses_the_uplinks_that_it_can(found: NetworkLayout) -> None:
    links = uniform_mesh(found)
    assert (links == links.T).all()
    assert (np.diag(links) == 0).all()
    left = found.uplinks - links.sum(axis=1)
    assert (left >= 0).all()
    assert np.count_nonzero(left) <= 1  # two blocks with uplinks left could have one more link


def test_a_mesh_of_equal_blocks_is_equal() -> None:
    links = uniform_mesh(plant(9))
    assert set(links[~np.eye(9, dtype=bool)].tolist()) == {64}


def test_a_fractional_fit_also_fits_in_whole_links() -> None:
    found = plant(5)
    wanted = np.full((5, 5), 100.25)
    np.fill_diagonal(wanted, 0.0)
    links = whole_links(found, wanted)
    assert (links >= np.floor(wanted)).all()
    assert (links.sum(axis=1) == found.uplinks).all()


def test_customers_stay_apart() -> None:
    apart = layout_of([Block(f"ab-{n}", 100, 512, customer="ab"[n % 2]) for n in range(6)])
    demand = np.where(apart.may_join, 10**6, 0)
    for links in (engineer(apart, demand).links, uniform_mesh(apart)):
        assert (links[~apart.may_join] == 0).all()
        assert (links.sum(axis=1) == apart.uplinks).all()


def test_a_peak_is_the_most_of_every_pair() -> None:
    found = plant(4)
    week = [demand_at(found, DemandModel(), hour) for hour in range(3)]
    assert (peak_of(week) >= np.stack(week)).all()
    assert (peak_of(week) == np.maximum(np.maximum(week[0], week[1]), week[2])).all()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_bound_for_several_is_below_the_linear_program_for_all(data: st.DataObject) -> None:
    found = data.draw(plants(4))
    several = data.draw(st.lists(demands(len(found.blocks)), min_size=2, max_size=3))
    answer, least = engineer_for_all(found, several), least_use_in_fractions(found, *several)
    assert answer.bound <= least * (1 + 1e-6)
    assert answer.use >= least * (1 - 1e-6)
    assert answer.use == max(split_demand(trunk_capacity(found, answer.links), one).use for one in several)
    assert (answer.links == answer.links.T).all()
    assert (answer.links.sum(axis=1) <= found.uplinks).all()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_least_demand_has_a_path_next_to_the_largest(data: st.DataObject) -> None:
    """However much larger another block is, whose pair would take all uplinks."""
    found = data.draw(plants(5))
    blocks = len(found.blocks)
    pairs = st.tuples(st.integers(0, blocks - 1), st.integers(0, blocks - 1)).filter(
        lambda one: one[0] != one[1]
    )
    demand = np.zeros((blocks, blocks), dtype=np.int64)
    for pair in data.draw(st.lists(pairs, min_size=2, max_size=6, unique=True)):
        demand[pair] = data.draw(st.sampled_from((1, 10**4, 10**8)))
    answer = engineer(found, demand)
    assert not unreachable_pairs(trunk_capacity(found, answer.links), demand).any()
    assert (answer.links == answer.links.T).all()
    assert (answer.links >= 0).all()
    assert (answer.links.sum(axis=1) <= found.uplinks).all()


def test_a_demand_that_the_others_links_leave_without_a_path_counts() -> None:
    """All uplinks go to the one pair that wants something, until the other does."""
    found = plant(3)
    first, second = np.zeros((2, 3, 3), dtype=np.int64)
    first[2, 1] = second[2, 0] = 1
    answer = engineer_for_all(found, [first, second])
    assert not unreachable_pairs(trunk_capacity(found, answer.links), first + second).any()
    assert answer.use >= least_use_in_fractions(found, first, second) * (1 - 1e-6)
    assert use_of(np.zeros((2, 2)), np.array([[0, 1], [0, 0]])) == np.inf


@pytest.mark.parametrize("found", [plant(8), plant(8, (100, 400), (256, 512))], ids=["alike", "mixed"])
def test_links_for_a_week_are_near_the_best_and_better_than_for_its_peak(found: NetworkLayout) -> None:
    week = [demand_at(found, DemandModel(seed=2, hot_pairs=4), hour) for hour in range(0, 168, 24)]
    answer = engineer_for_all(found, week)
    assert answer.use <= 1.10 * least_use_in_fractions(found, *(week[n] for n in answer.counted))
    peak = trunk_capacity(found, engineer(found, peak_of(week)).links)
    assert answer.use <= 1.01 * max(split_demand(peak, one).use for one in week)
    assert answer.bound >= max(engineer(found, one).bound for one in week) * 0.97


def test_one_demand_for_all_is_that_demand() -> None:
    demand = demand_at(MIXED, DemandModel(seed=1), 0)
    one, several = engineer(MIXED, demand), engineer_for_all(MIXED, [demand, demand])
    assert (one.links == several.links).all()
    assert several.counted == (0,)


def test_the_gradient_is_that_of_the_function() -> None:
    """The basis of the search: differences of the dual function, at a point inside its bounds."""
    several = [demand_at(MIXED, DemandModel(seed=seed), 0) for seed in range(2)]
    search = _Search(MIXED, several)
    rng = np.random.default_rng(1)
    point = np.concatenate([rng.uniform(0.5, 2.0, 12), rng.normal(0.0, 0.5, 2 * 12 * 12)])
    _, gradient = search._falling(point)
    for place in rng.choice(len(point), 40, replace=False).tolist():
        step = np.zeros(len(point))
        step[place] = 1e-5
        difference = (search._falling(point + step)[0] - search._falling(point - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(difference, rel=1e-4, abs=1e-9)


def test_no_demand_at_all_is_refused() -> None:
    with pytest.raises(InvalidInput, match="demands: none"):
        engineer_for_all(plant(3), [])


def test_nothing_demanded_is_refused() -> None:
    with pytest.raises(InvalidInput, match="all demands are 0"):
        engineer(plant(3), np.zeros((3, 3), dtype=np.int64))
