"""Loads, splits and fair shares against linear programs, brute force and laws of conservation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from shared.basics.errors import InvalidInput, OperationFailed
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.routing.fair_share import fair_share, slowdown
from shared.models.dcn.routing.path_loads import (
    capacity_shares,
    check_paths,
    largest_use,
    mean_path,
    trunk_capacity,
    trunk_loads,
    worst_use,
)
from shared.models.dcn.routing.path_program import USE_COUNTS, capped_split, exact_split, least_transit
from shared.models.dcn.routing.wcmp_tables import fitted_entries, shares_of, table_entries
from shared.models.dcn.routing.weights import TRANSIT_PRIOR, split_demand
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import demands, direct_shares, plant

BLOCKS = 5


def trunks(blocks: int = BLOCKS) -> st.SearchStrategy[FloatArray]:
    """Symmetric capacities of a few links, some of them zero, with a path between any two blocks."""
    pairs = blocks * (blocks - 1) // 2
    lists = st.lists(st.sampled_from((0, 1, 2, 8, 64)), min_size=pairs, max_size=pairs)
    return lists.map(lambda links: _symmetric(links, blocks)).filter(_joins)


def _symmetric(links: list[int], blocks: int) -> FloatArray:
    matrix = np.zeros((blocks, blocks))
    matrix[np.triu_indices(blocks, 1)] = links
    return (matrix + matrix.T) * 1e5


def _joins(carries: FloatArray) -> bool:
    joined = carries > 0
    return bool((joined | (joined.astype(int) @ joined > 0)).all())


def mesh(found: NetworkLayout) -> FloatArray:
    blocks = len(found.blocks)
    links = (
        np.minimum(found.uplinks[:, None], found.uplinks) // (blocks - 1) * (1 - np.eye(blocks, dtype=int))
    )
    return trunk_capacity(found, links)


def least_use_by_edges(carries: FloatArray, demand: IntArray) -> float:
    """The minimum of the maximum use, by another formulation: over two layers of trunks, the first and second
    hop."""
    blocks = len(carries)
    hop = blocks * blocks
    pairs = [(i, j) for i in range(blocks) for j in range(blocks) if demand[i, j]]
    width = len(pairs) * 2 * hop + 1
    cost = np.zeros(width)
    cost[-1] = 1.0
    equal, right, most = [], [], np.zeros((hop, width))
    for n, (i, j) in enumerate(pairs):
        first, second = 2 * n * hop, (2 * n + 1) * hop
        for k in range(blocks):
            row = np.zeros(width)  # traffic that reaches k first continues from there
            if k != j:
                row[first + i * blocks + k] = 1.0
                row[second + k * blocks + j] = -1.0
            equal.append(row)
            right.append(0.0)
        arrives = np.zeros(width)
        arrives[first + i * blocks + j] = 1.0
        for k in range(blocks):
            if k not in (i, j):
                arrives[second + k * blocks + j] = 1.0
        equal.append(arrives)
        right.append(float(demand[i, j]))
        most[:, first : first + hop] += np.eye(hop)
        most[:, second : second + hop] += np.eye(hop)
    scale = float(demand.max())
    most[:, -1] = -carries.reshape(-1) / scale
    answer = linprog(
        cost,
        A_ub=most,
        b_ub=np.zeros(hop),
        A_eq=np.array(equal),
        b_eq=np.array(right) / scale,
        method="highs",
    )
    assert answer.status == 0
    assert answer.x is not None
    return float(answer.x[-1])


@settings(max_examples=25, deadline=None)
@given(carries=trunks(4), demand=demands(4))
def test_the_exact_split_is_the_optimum_of_another_program(carries: FloatArray, demand: IntArray) -> None:
    exact = exact_split(carries, demand)
    assert exact.use == pytest.approx(least_use_by_edges(carries, demand), rel=1e-6)
    assert largest_use(trunk_loads(exact.share, demand), carries) == pytest.approx(exact.use, rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS))
def test_the_fast_split_is_near_the_optimum_and_its_bound_below(
    carries: FloatArray, demand: IntArray
) -> None:
    fast, exact = split_demand(carries, demand), exact_split(carries, demand)
    assert fast.bound <= exact.use * (1 + 1e-6)
    assert exact.use * (1 - 1e-6) <= fast.use <= exact.use * 1.02
    share = fast.shares(carries)
    assert largest_use(trunk_loads(share, demand), carries) == pytest.approx(fast.use, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS), spread=st.sampled_from((0.05, 0.4, 1.0)))
def test_a_capped_split_is_the_least_use_within_its_caps(
    carries: FloatArray, demand: IntArray, spread: float
) -> None:
    found = capped_split(carries, demand, spread)
    there = demand > 1e-3 * demand.max()  # of less the solver knows little
    assert found.share.sum(axis=2)[there] == pytest.approx(1.0, abs=1e-3)
    even = capacity_shares(carries)
    assert (found.share <= even / spread + 1e-3)[there].all()
    assert largest_use(trunk_loads(found.share, demand), carries) <= found.use * (1 + 1e-5) + 1e-9
    least = exact_split(carries, demand).use
    by_capacity = largest_use(trunk_loads(even, demand), carries)
    assert least * (1 - 1e-6) <= found.use <= by_capacity * (1 + 1e-6) + 1.0 / USE_COUNTS
    if spread == 1.0:
        assert found.use == pytest.approx(by_capacity, rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS))
def test_no_split_of_the_same_use_takes_less_transit(carries: FloatArray, demand: IntArray) -> None:
    exact, fast = exact_split(carries, demand), split_demand(carries, demand)
    most = max(fast.use, exact.use * (1 + 1e-6))
    share = least_transit(carries, demand, most)
    assert largest_use(trunk_loads(share, demand), carries) <= most * (1 + 1e-6)
    paths = [
        mean_path(trunk_loads(one, demand), demand) for one in (share, exact.share, fast.shares(carries))
    ]
    assert paths[0] <= min(paths[1:]) + 1e-6


def test_an_impossible_split_is_refused() -> None:
    carries, demand = np.array([[0.0, 2e5], [2e5, 0.0]]), np.array([[0, 100_000], [0, 0]])
    with pytest.raises(OperationFailed, match="linear program of the demand"):
        least_transit(carries, demand, 0.4)
    for spread in (0.0, 1.5, float("nan")):
        with pytest.raises(InvalidInput, match="must be above 0 and at most 1"):
            capped_split(carries, demand, spread)


def test_weights_keep_some_transit_however_idle_the_network() -> None:
    """The aim is the minimum of the maximum use, whatever its value. If trunks have no price, transit follows
    its prior, as the docs state."""
    found = plant(16, (400,), (512,))
    demand, carries = demand_at(found, DemandModel(seed=3), 0), mesh(found)
    busy, idle = split_demand(carries, demand), split_demand(carries, demand // 100)
    assert idle.use == pytest.approx(busy.use / 100, rel=1e-3)
    paths = [mean_path(trunk_loads(one.shares(carries), demand), demand) for one in (busy, idle)]
    assert paths[1] == pytest.approx(paths[0], abs=1e-3)
    one_hot = (1 - np.eye(16, dtype=np.int64)) * 1_000
    one_hot[0, 1] = 50_000
    apart = split_demand(carries, one_hot)
    assert (apart.prices[2:, 2:] == 0.0)[~np.eye(14, dtype=bool)].all()
    assert apart.shares(carries)[2, 3, 3] == pytest.approx(1.0 / (1.0 + TRANSIT_PRIOR), abs=0.005)


@settings(max_examples=30, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS), hedge=st.sampled_from((0.0, 0.2, 1.0)))
def test_all_of_every_demand_takes_some_path(carries: FloatArray, demand: IntArray, hedge: float) -> None:
    split = split_demand(carries, demand, hedge)
    share = split.shares(carries)
    assert share.sum(axis=2) == pytest.approx(1.0 - np.eye(BLOCKS))
    assert (share >= 0).all()
    load = trunk_loads(share, demand)
    # A block passes on as much as it gets to pass on.
    passed_on = load.sum(axis=1) - demand.sum(axis=1)
    assert passed_on == pytest.approx(load.sum(axis=0) - demand.sum(axis=0), abs=1e-9 * demand.sum())
    assert load[carries == 0].sum() == 0.0
    assert largest_use(load, carries) == pytest.approx(split.use, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS), more=st.integers(0, 9))
def test_more_capacity_never_makes_the_least_use_larger(
    carries: FloatArray, demand: IntArray, more: int
) -> None:
    rows, columns = np.triu_indices(BLOCKS, 1)
    bigger = carries.copy()
    bigger[rows[more], columns[more]] += 3e5
    bigger[columns[more], rows[more]] += 3e5
    assert exact_split(bigger, demand).use <= exact_split(carries, demand).use * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_mesh_of_sixteen_is_split_within_one_percent_of_the_bound_with_little_transit(seed: int) -> None:
    found = plant(16, (100, 200, 400) if seed % 2 else (100,), (512, 256))
    demand, carries = demand_at(found, DemandModel(seed=seed), seed), mesh(found)
    fast, exact = split_demand(carries, demand), exact_split(carries, demand)
    assert fast.use <= exact.use * 1.0101
    assert fast.use <= fast.bound * 1.0151
    paths = [mean_path(trunk_loads(share, demand), demand) for share in (fast.shares(carries), exact.share)]
    assert paths[0] <= paths[1] + 0.06


def test_a_smaller_gap_is_reached_with_more_steps() -> None:
    found = plant(16, (100, 200, 400))
    demand, carries = demand_at(found, DemandModel(seed=1), 0), mesh(found)
    rough, fine = split_demand(carries, demand), split_demand(carries, demand, gap=5e-4, steps_max=4_000)
    assert fine.use <= fine.bound * 1.0006
    assert rough.steps < fine.steps
    with pytest.raises(InvalidInput, match=r"hedge: 1\.5"):
        split_demand(carries, demand, 1.5)


def test_a_hedge_costs_when_the_demand_is_as_thought_and_gains_when_it_is_not() -> None:
    found = plant(12)
    demand, carries = demand_at(found, DemandModel(hot_pairs=12, hot_share=0.2), 3), mesh(found)
    plain, hedged = (split_demand(carries, demand, hedge) for hedge in (0.0, 0.5))
    assert plain.use < hedged.use
    worst = [worst_use(split.shares(carries), demand, carries, 4.0, 1) for split in (plain, hedged)]
    assert worst[1] < worst[0]


@settings(max_examples=15, deadline=None)
@given(carries=trunks(4), demand=demands(4), factor=st.sampled_from((1.0, 1.5, 3.0)), pairs=st.integers(0, 2))
def test_the_worst_use_is_that_of_all_choices_of_pairs(
    carries: FloatArray, demand: IntArray, factor: float, pairs: int
) -> None:
    share = capacity_shares(carries)
    worst = 0.0
    for chosen in combinations(range(16), pairs):
        grown = demand.reshape(-1).astype(np.float64)
        grown[list(chosen)] *= factor
        worst = max(worst, largest_use(trunk_loads(share, grown.reshape(4, 4)), carries))
    assert worst_use(share, demand, carries, factor, pairs) == pytest.approx(worst, rel=1e-9)


def test_direct_and_spread_shares_are_as_named() -> None:
    carries = mesh(plant(4))
    demand = demand_at(plant(4), DemandModel(), 0)
    assert trunk_loads(direct_shares(4), demand) == pytest.approx(demand.astype(float))
    assert mean_path(trunk_loads(capacity_shares(carries), demand), demand) == pytest.approx(1 + 2 / 3)


def test_a_demand_without_a_path_names_the_blocks() -> None:
    found = plant(3)
    carries = trunk_capacity(found, np.zeros((3, 3), dtype=np.int64))
    demand = np.zeros((3, 3), dtype=np.int64)
    demand[0, 2] = 5
    with pytest.raises(InvalidInput, match="demand ab-0 → ab-2: 5 Mb/s has no path"):
        check_paths(found, carries, demand)
    with pytest.raises(InvalidInput, match=r"factor: 0\.5"):
        worst_use(direct_shares(3), demand, carries, 0.5, 1)


@settings(max_examples=40, deadline=None)
@given(carries=trunks(), entries=st.integers(1, 300))
def test_tables_round_each_share_by_less_than_an_entry(carries: FloatArray, entries: int) -> None:
    share = capacity_shares(carries)
    table = table_entries(share, entries)
    assert (table.sum(axis=2) == entries * (1 - np.eye(BLOCKS, dtype=int))).all()
    assert (np.abs(table - share * entries) < 1.0 + 1e-6).all()
    assert (table[share == 0.0] == 0).all()
    assert shares_of(table).sum(axis=2) == pytest.approx(1.0 - np.eye(BLOCKS))


@settings(max_examples=40, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS), entries=st.integers(1, 300))
def test_fitted_tables_are_tables(carries: FloatArray, demand: IntArray, entries: int) -> None:
    share = split_demand(carries, demand).shares(carries)
    fitted, plain = fitted_entries(share, entries, demand, carries), table_entries(share, entries)
    assert (fitted.sum(axis=2) == entries * (1 - np.eye(BLOCKS, dtype=int))).all()
    assert (np.abs(fitted - share * entries) <= 1.0 + 1e-6).all()
    assert (fitted[demand == 0] == plain[demand == 0]).all()


@pytest.mark.parametrize("entries", [64, 128])
def test_fitted_tables_lose_little_where_plain_ones_fill_small_trunks(entries: int) -> None:
    found = plant(24, (100, 200, 400), (256, 512))
    demand = demand_at(found, DemandModel(), 0)
    planned = engineer(found, demand)
    carries = trunk_capacity(found, planned.links)
    share = planned.split.shares(carries)
    uses = [
        largest_use(trunk_loads(shares_of(table), demand), carries)
        for table in (table_entries(share, entries), fitted_entries(share, entries, demand, carries))
    ]
    assert uses[1] <= 1.02 * planned.split.use < uses[0]


@settings(max_examples=50, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS))
def test_fair_shares_fit_and_none_can_grow_without_shrinking_a_smaller_one(
    carries: FloatArray, demand: IntArray
) -> None:
    share = capacity_shares(carries)
    found = fair_share(share, demand, carries)
    assert (found.load <= carries * (1 + 1e-6) + 1e-6).all()
    flow = share * demand[:, :, None]
    for tail, head, over in np.argwhere(flow > 0).tolist():
        served = found.served[tail, head, over]
        if served >= 1.0:
            continue
        hops = [(tail, head)] if over == head else [(tail, over), (over, head)]
        assert any(
            found.load[hop] >= carries[hop] * (1 - 1e-6)
            and served >= _most_served(found.served, flow, hop) * (1 - 1e-6)
            for hop in hops
        )


@settings(max_examples=50, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS, 10**5))
def test_unlimited_flows_grow_until_each_meets_a_full_trunk_where_none_gets_more(
    carries: FloatArray, demand: IntArray
) -> None:
    share = capacity_shares(carries)
    found = fair_share(share, demand, carries, np.inf)
    assert (found.load <= carries * (1 + 1e-6) + 1e-6).all()
    flow = share * demand[:, :, None]
    for tail, head, over in np.argwhere(flow > 1e-6 * flow.max()).tolist():
        served = found.served[tail, head, over]
        hops = [(tail, head)] if over == head else [(tail, over), (over, head)]
        assert any(
            found.load[hop] >= carries[hop] * (1 - 1e-6)
            and served >= _most_served(found.served, flow, hop) * (1 - 1e-6)
            for hop in hops
        )


@settings(max_examples=30, deadline=None)
@given(carries=trunks(), demand=demands(BLOCKS, 10**5), times=st.sampled_from((2, 10)))
def test_unlimited_flows_depend_only_on_the_proportions_of_their_demand(
    carries: FloatArray, demand: IntArray, times: int
) -> None:
    share = capacity_shares(carries)
    plain, more = (fair_share(share, n * demand, carries, np.inf) for n in (1, times))
    assert more.load.sum() == pytest.approx(plain.load.sum(), rel=1e-6)
    assert times * more.throughput == pytest.approx(plain.throughput, rel=1e-6)
    # Without an end flows get as much as those that end, or more of it where these have all that they want.
    assert plain.throughput >= fair_share(share, demand, carries).throughput * (1 - 1e-9)


def test_endless_flows_by_hand() -> None:
    """0 → 1 over both trunks shares the first with 0 → 2: of 90 the one that wants twice as much gets 60."""
    carries = np.array([[0.0, 0.0, 90.0], [0.0, 0.0, 0.0], [0.0, 200.0, 0.0]])
    demand = np.array([[0, 2, 1], [0, 0, 0], [0, 4, 0]])
    share = np.zeros((3, 3, 3))
    share[0, 1, 2] = share[0, 2, 2] = share[2, 1, 1] = 1.0
    found = fair_share(share, demand, carries, np.inf)
    assert found.served[0, 1, 2] == found.served[0, 2, 2] == pytest.approx(30.0)
    assert found.served[2, 1, 1] == pytest.approx(35.0)
    assert found.throughput == pytest.approx((60 + 30 + 140) / 7)
    assert fair_share(share, demand, carries, 2.0).throughput == pytest.approx(2.0)


def _most_served(served: FloatArray, flow: FloatArray, hop: tuple[int, int]) -> float:
    """The largest share that any flow over a trunk gets."""
    here = np.zeros(served.shape, dtype=bool)
    tail, head = hop
    here[tail, :, head] = True
    here[:, head, tail] = True
    here[tail, head, tail] = here[head, head, tail] = False
    return float(served[here & (flow > 0)].max())


def test_all_is_served_when_nothing_is_full_and_flows_slow_down_as_trunks_fill() -> None:
    carries, demand = np.full((2, 2), 100.0), np.array([[0, 50], [0, 0]])
    np.fill_diagonal(carries, 0.0)
    assert fair_share(direct_shares(2), demand, carries).throughput == 1.0
    assert slowdown(direct_shares(2), demand, carries) == pytest.approx(2.0)
    assert slowdown(direct_shares(2), 2 * demand, carries) == float("inf")
    assert fair_share(direct_shares(2), 4 * demand, carries).throughput == pytest.approx(0.5)


def test_nothing_demanded_uses_nothing() -> None:
    found = plant(4)
    carries = trunk_capacity(found, uniform_mesh(found))
    split = split_demand(carries, np.zeros((4, 4), dtype=np.int64))
    assert (split.use, split.bound, split.steps) == (0.0, 0.0, 0)
    assert split.shares(carries).sum() == pytest.approx(12.0)
