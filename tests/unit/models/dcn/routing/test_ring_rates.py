"""The burst rate of a multislice job, against sums by hand and the other traffic on the trunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.demand.job_traffic import ring_flow
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.ring_topology import ring_rate
from shared.models.dcn.routing.carried_traffic import loads_of, weights_for
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.ring_rates import (
    max_min_part,
    mean_mbps,
    narrowest_trunk,
    ring_gbps,
    with_rings,
)
from shared.models.dcn.routing.weights import TRANSIT_PRIOR, Split
from shared.models.network.blocks import network_of
from shared.models.superpod.wiring import IntArray

PLANT = network_of(NetworkConfig(blocks=(BlockGroupConfig(count=6, generation=100),), racks=4, racks_full=4))
CARRIES = trunk_capacity(PLANT, uniform_mesh(PLANT))


def demand(*flows: tuple[int, int, int]) -> IntArray:
    found = np.zeros(CARRIES.shape, dtype=np.int64)
    for tail, head, mbps in flows:
        found[tail, head] = mbps
    return found


def test_each_pod_sends_twice_its_gradients_but_for_its_own_part() -> None:
    # Two pods: each sends all gradients once, half either way; 1 GB in 2 s is 4 Gb/s.
    assert mean_mbps(2, 10**9, 2_000_000) == 4_000
    # Four pods: 2 × 3/4.
    assert mean_mbps(4, 10**9, 2_000_000) == 6_000


def test_the_mean_of_a_ring_is_a_demand_like_any_other() -> None:
    assert with_rings(PLANT, [(0, 1, 5)], [("pod-0/slice-1", (0, 1), 100)]) == ((0, 1, 105), (1, 0, 100))
    assert with_rings(PLANT, [], [("pod-0/slice-1", (2, 3, 4), 100)]) == (
        *((2, 3, 50), (2, 4, 50), (3, 2, 50), (3, 4, 50), (4, 2, 50), (4, 3, 50)),
    )


def test_an_empty_network_gives_a_ring_the_rate_of_its_fullest_trunk() -> None:
    alone = demand((0, 1, 1_000), (1, 0, 1_000))
    split = weights_for(CARRIES, alone, 0.0)
    gbps = ring_gbps(split, CARRIES, alone, ("pod-0/slice-1", (0, 1), 1_000))
    load, _ = loads_of(split, CARRIES, demand((0, 1, 1_000_000), (1, 0, 1_000_000)))
    use = float((load / np.where(CARRIES > 0, CARRIES, np.inf)).max())
    assert gbps == pytest.approx(1_000 / use, rel=1e-9)


def test_other_traffic_is_subtracted_and_a_full_trunk_is_shared() -> None:
    ring = ("pod-0/slice-1", (0, 1), 1_000)
    own = ((0, 1, 1_000), (1, 0, 1_000))
    split = weights_for(CARRIES, demand(*own), 0.0)
    trunk = int(CARRIES[0, 1])
    gave = [
        ring_gbps(split, CARRIES, demand((0, 1, 1_000 + others), (1, 0, 1_000)), ring)
        for others in (0, trunk // 4, trunk // 2, 4 * trunk, 40 * trunk)
    ]
    assert gave == sorted(gave, reverse=True)
    # One pair is all that it shares the trunk with, and so leaves it half at least.
    assert gave[0] > gave[1] > gave[2] > gave[3] == gave[4] == pytest.approx(0.5 * gave[0], rel=0.01)


def test_a_negligible_share_on_a_full_trunk_does_not_slow_a_ring() -> None:
    """Weights are never 0: by prices alone, a ten-millionth of the ring uses the full trunk from block 0 to
    block 2."""
    prices = np.where(CARRIES > 0.0, 0.0, np.inf)
    prices[:, 2] += 28.0
    prices[0, 2] = 14.0
    split = Split(prices, TRANSIT_PRIOR / 4, 0.0, 0.0, 0.0, 0)
    ring = ("pod-0/slice-1", (0, 1), 1_000)
    own = ((0, 1, 1_000), (1, 0, 1_000))
    free = ring_gbps(split, CARRIES, demand(*own), ring)
    assert 1e-9 < split.shares(CARRIES)[0, 1, 2] < 1e-7
    full = demand(*own, (0, 2, 20 * int(CARRIES[0, 2])))
    assert ring_gbps(split, CARRIES, full, ring) == pytest.approx(free, rel=1e-3)


@given(st.floats(0.0, 1e3), st.lists(st.floats(0.0, 1e3), max_size=40))
def test_a_max_min_share_is_the_rest_or_equals_the_largest_other_share(
    room: float, wanted: list[float]
) -> None:
    part = max_min_part(room, np.array(wanted))
    assert part + sum(min(one, part) for one in wanted) == pytest.approx(room, rel=1e-9, abs=1e-9)


def test_with_weights_solved_for_the_burst_a_ring_gets_the_rate_of_free_path_choice() -> None:
    """`ring_rate` makes weights for the ring at its full rate; those in use are made for its mean. That is
    all by which the two differ, but for the gap of either's weights."""
    blocks = (
        *(BlockGroupConfig(generation=400, pod=f"pod-{n}") for n in range(4)),
        BlockGroupConfig(count=12),
    )
    plant = network_of(NetworkConfig(blocks=blocks, racks=16, racks_full=16))
    links = uniform_mesh(plant)
    carries = trunk_capacity(plant, links)
    background = demand_at(plant, DemandModel(seed=7, load=0.25), 26)
    best = ring_rate(plant, links, background, [f"pod-{n}" for n in range(4)])
    flow = ring_flow(len(carries), range(4), 1.0)

    def given_by(weights_made_for: float) -> float:
        made_for = background + np.rint(weights_made_for * flow).astype(np.int64)
        mean = background + np.rint(400_000 * flow).astype(np.int64)
        split = weights_for(carries, made_for, 0.0)
        return 1_000.0 * ring_gbps(split, carries, mean, ("pod-0/slice-1", (0, 1, 2, 3), 400_000))

    assert given_by(best) == pytest.approx(best, rel=0.05)
    assert given_by(400_000) < 0.5 * best


def test_a_ring_that_is_cut_off_gets_nothing() -> None:
    carries = CARRIES.copy()
    carries[0, :] = carries[:, 0] = 0.0
    wanted = demand((1, 2, 1_000))
    assert (
        ring_gbps(weights_for(carries, wanted, 0.0), carries, wanted, ("pod-0/slice-1", (0, 1), 1_000)) == 0.0
    )


def test_the_reported_trunk_is_the_one_that_limits_the_ring() -> None:
    """More links on that trunk, and on no other, speed up the ring; without a path there is no such trunk."""
    ring = ("pod-0/slice-1", (0, 1), 1_000)
    wanted = demand((0, 1, 3_000_000), (1, 0, 1_000), (2, 3, 500_000))
    split = weights_for(CARRIES, wanted, 0.0)
    found = narrowest_trunk(split, CARRIES, wanted, ring)
    assert found is not None
    gave = ring_gbps(split, CARRIES, wanted, ring)
    fewer = CARRIES.copy()
    fewer[found] *= 0.9
    assert ring_gbps(split, fewer, wanted, ring) < gave
    alone = np.zeros_like(CARRIES)
    alone[2, 3] = alone[3, 2] = 100.0
    assert narrowest_trunk(split, alone, wanted, ring) is None
    assert ring_gbps(split, alone, wanted, ring) == 0.0
