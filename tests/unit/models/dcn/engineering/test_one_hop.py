"""The one-hop optimum against an integer program, brute force and its own certificate."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import MBPS_PER_GBPS, DemandModel, demand_at
from shared.models.dcn.engineering.one_hop import OneHop, least_served, one_hop, proves
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import demands, plant, plants


def by_integer_program(found: NetworkLayout, demand: IntArray) -> float:
    """The same optimum by HiGHS: integer links of every pair and the share that they serve."""
    blocks = len(found.blocks)
    rows, columns = np.triu_indices(blocks, 1)
    wanted = np.maximum(demand, demand.T)[rows, columns] / (found.rates[rows, columns] * MBPS_PER_GBPS)
    pairs = len(rows)
    incident = np.zeros((blocks, pairs + 1))
    incident[rows, range(pairs)] = incident[columns, range(pairs)] = 1.0
    scale = float(wanted.max())  # the share is solved for in links of the largest pair
    serves = np.hstack([np.eye(pairs), -wanted[:, None] / scale])
    answer = milp(
        np.append(np.zeros(pairs), -1.0),
        constraints=[LinearConstraint(incident, ub=found.uplinks), LinearConstraint(serves, lb=0.0)],
        integrality=np.append(np.ones(pairs), 0),
        # A pair that is served has a link; without saying so a tiny demand is lost in HiGHS's tolerance.
        bounds=Bounds(np.append((wanted > 0).astype(np.float64), 0.0), np.inf),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.status == 0
    links = np.rint(answer.x[:-1])
    return float((links[wanted > 0] / wanted[wanted > 0]).min())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_it_is_the_optimum_of_an_integer_program(data: st.DataObject) -> None:
    found = data.draw(plants(5))
    demand = data.draw(demands(len(found.blocks)))
    assert float(one_hop(found, demand).served) == pytest.approx(by_integer_program(found, demand), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_integer_programs_optimum_of_a_drawn_demand(seed: int) -> None:
    found = plant(8, (100, 200, 400), (512, 256))
    demand = demand_at(found, DemandModel(seed=seed), 0)
    assert float(one_hop(found, demand).served) == pytest.approx(by_integer_program(found, demand), rel=1e-9)


def test_it_is_the_best_of_all_matrices_of_four_blocks() -> None:
    """Few uplinks, so that all 4⁶ matrices can be tried."""
    few = plant(4)
    uplinks = np.full(4, 6)
    small = replace(few, uplinks=uplinks)
    rng = np.random.default_rng(5)
    rows, columns = np.triu_indices(4, 1)
    for _ in range(5):
        demand = rng.integers(1, 10**6, (4, 4))
        demand[range(4), range(4)] = 0
        wanted = np.maximum(demand, demand.T)
        best = Fraction(0)
        for links in product(range(5), repeat=6):
            matrix = np.zeros((4, 4), dtype=np.int64)
            matrix[rows, columns] = links
            matrix += matrix.T
            if (matrix.sum(axis=1) <= 6).all():
                best = max(best, least_served(small, wanted, matrix))
        assert one_hop(small, demand).served == best


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_certificate_proves_it(data: st.DataObject) -> None:
    found = data.draw(plants(8))
    demand = data.draw(demands(len(found.blocks)))
    answer = one_hop(found, demand)
    assert proves(found, demand, answer)
    assert (answer.needed == answer.needed.T).all()


def test_a_wrong_optimum_is_not_proved() -> None:
    found = plant(5)
    demand = demand_at(found, DemandModel(), 0)
    right = one_hop(found, demand)
    assert not proves(found, demand, OneHop(right.served / 2, right.needed, right.full))
    assert not proves(found, demand, OneHop(right.served, right.needed // 2, right.full))


@settings(max_examples=40, deadline=None)
@given(demand=demands(5), more=st.integers(0, 4))
def test_more_capacity_never_serves_less(demand: IntArray, more: int) -> None:
    less, bigger = plant(5, uplinks=(256,)), plant(5, uplinks=tuple([512] * more + [256] * (5 - more)))
    assert one_hop(bigger, demand).served >= one_hop(less, demand).served


def test_nothing_demanded_is_refused() -> None:
    with pytest.raises(InvalidInput, match="all demands are 0"):
        one_hop(plant(3), np.zeros((3, 3), dtype=np.int64))
