"""How weights carry a demand, against the shares of every path one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.dcn import DemandConfig
from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from shared.models.dcn.demand.demand_model import DEMAND_MAX_MBPS
from shared.models.dcn.failure import demand_left
from shared.models.dcn.routing.carried_traffic import (
    NetworkDemand,
    block_bound,
    carry_demand,
    demand_of,
    weights_for,
)
from shared.models.dcn.routing.path_loads import (
    capacity_shares,
    largest_use,
    mean_path,
    trunk_capacity,
    trunk_loads,
)
from shared.models.dcn.routing.weights import Split
from shared.models.network.blocks import FloatArray, NetworkLayout
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import demands, packed_links, plants


def one_by_one(split: Split, carries: FloatArray) -> FloatArray:
    """(B, B, B) shares by definition: each path by its weight, none over a missing trunk."""
    blocks = len(carries)
    weight = [
        [float(np.exp(-split.prices[i, j])) if carries[i, j] > 0.0 else 0.0 for j in range(blocks)]
        for i in range(blocks)
    ]
    share = np.zeros((blocks, blocks, blocks))
    for i in range(blocks):
        for j in range(blocks):
            if i == j:
                continue
            for k in range(blocks):
                share[i, j, k] = weight[i][j] if k == j else split.prior * weight[i][k] * weight[k][j]
            total = share[i, j].sum()
            share[i, j] = share[i, j] / total if total > 0.0 else capacity_shares(carries)[i, j]
    return (1.0 - split.hedge) * share + split.hedge * capacity_shares(carries)


def served_one_by_one(share: FloatArray, carries: FloatArray, demand: IntArray) -> float:
    """Of every path the part that its fullest trunk lets through."""
    load = trunk_loads(share, demand)

    def passed(i: int, j: int) -> float:
        return min(1.0, float(carries[i, j] / load[i, j])) if load[i, j] > 0.0 else 1.0

    found = 0.0
    for i, j, k in np.argwhere(share > 0.0).tolist():
        part = passed(i, j) if k == j else min(passed(i, k), passed(k, j))
        found += float(share[i, j, k]) * int(demand[i, j]) * part
    return found


@st.composite
def networks(draw: st.DrawFn) -> tuple[NetworkLayout, IntArray, IntArray, float]:
    """(plant, links, demand of those that have a path, hedge)."""
    plant = draw(plants(5))
    links = packed_links(plant, draw(st.integers(0, 10**6)), draw(st.sampled_from((0.0, 0.7))))
    demand = demand_left(plant, links, draw(demands(len(plant.blocks))))
    return plant, links, demand, draw(st.sampled_from((0.0, 0.4, 1.0)))


@given(networks(), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_carried_traffic_is_the_sum_over_all_paths(
    network: tuple[NetworkLayout, IntArray, IntArray, float], seed: int
) -> None:
    """On the trunks that the weights were solved for, on the remaining ones, and on additional ones, where
    some pairs have no weights."""
    plant, links, demand, hedge = network
    rng = np.random.default_rng(seed)
    upper = np.triu(np.where(rng.random(links.shape) < 0.3, links // 7, links), 1)
    fewer = upper + upper.T
    for solved, now in ((links, links), (links, fewer), (fewer, links)):
        left = demand_left(plant, now, demand)
        if not left.any():
            continue
        split = weights_for(trunk_capacity(plant, solved), demand_left(plant, solved, demand), hedge)
        carries = trunk_capacity(plant, now)
        share = one_by_one(split, carries)
        load = trunk_loads(share, left)
        found = carry_demand(split, carries, left)
        assert found.load == pytest.approx(load, rel=1e-6, abs=1e-3)
        assert found.use == pytest.approx(largest_use(load, carries), rel=1e-6)
        assert found.path == pytest.approx(mean_path(load, left), rel=1e-6)
        heads = np.arange(len(left))
        direct = (share[heads[:, None], heads, heads] * left).sum() / left.sum()
        assert found.direct == pytest.approx(direct, rel=1e-6, abs=1e-9)
        served = served_one_by_one(share, carries, left) / left.sum()
        assert found.served == pytest.approx(served, rel=1e-6)
        assert found.served <= 1.0 + 1e-12
        assert found.use > 1.0 or found.served == 1.0
        assert found.use >= block_bound(carries, left) * (1.0 - 1e-9)


def test_no_demand_is_served_in_full() -> None:
    nothing = np.zeros((3, 3), dtype=np.int64)
    split = Split(np.full((3, 3), np.inf), 0.0, 0.0, 0.0, 0.0, 0)
    found = carry_demand(split, np.zeros((3, 3)), nothing)
    assert (found.use, found.served, found.direct, found.path) == (0.0, 1.0, 1.0, 1.0)


def test_jobs_add_to_the_drawn_demand_within_the_largest_reportable_value() -> None:
    row = BlockGroupConfig(count=3, generation=800)
    network = NetworkConfig(blocks=(row,))
    model = NetworkDemand(1, network, DemandConfig())
    plain, more = (
        demand_of(model, 5, ()),
        demand_of(model, 5, ((0, 2, 7), (0, 2, 4), (1, 0, DEMAND_MAX_MBPS))),
    )
    assert more[0, 2] == plain[0, 2] + 11
    assert more[1, 0] == DEMAND_MAX_MBPS
    assert (more != plain).sum() == 2
    high = demand_of(NetworkDemand(1, network, DemandConfig(hot_pairs=50, hot_share=10.0)), 5, ())
    assert high.max() == DEMAND_MAX_MBPS
