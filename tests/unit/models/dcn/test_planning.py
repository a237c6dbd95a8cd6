"""The whole plan: its parts fit together, and the same input gives the same plan."""

import numpy as np
import pytest

from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.planning import plan
from shared.models.dcn.rewiring.matchings import links_of
from shared.models.dcn.routing.path_loads import largest_use, trunk_capacity, trunk_loads
from shared.models.dcn.routing.wcmp_tables import shares_of
from shared.models.dcn.routing.weights import split_demand
from shared.models.network.blocks import NetworkLayout
from tests.support.dcn_plants import plant

WEEK_H = 168
CAMPUS = plant(16, (100, 200, 400), (256, 512), racks=16)


@pytest.mark.parametrize("found", [plant(6), CAMPUS], ids=["alike", "mixed"])
def test_a_plan_connects_the_topologies_of_consecutive_weeks(found: NetworkLayout) -> None:
    first = plan(found, demand_at(found, DemandModel(), 0))
    demand = demand_at(found, DemandModel(), WEEK_H)
    second = plan(found, demand, first.circuits)
    assert first.stages == []
    assert (links_of(second.circuits) == second.topology.links).all()
    circuits = first.circuits.copy()
    for stage in second.stages:
        assert stage.kept >= 0.75
        np.subtract.at(circuits, tuple(stage.removed.T), 1)
        np.add.at(circuits, tuple(stage.made.T), 1)
    assert (circuits == second.circuits).all()
    carries = trunk_capacity(found, second.topology.links)
    assert (
        largest_use(trunk_loads(shares_of(second.tables), demand), carries)
        <= 1.02 * second.topology.split.use
    )


def test_the_same_input_gives_the_same_plan() -> None:
    demand = demand_at(CAMPUS, DemandModel(seed=2), 5)
    one, other = plan(CAMPUS, demand), plan(CAMPUS, demand)
    assert (one.circuits == other.circuits).all()
    assert (one.tables == other.tables).all()


def test_a_plan_for_a_week_serves_all_of_it_and_has_weights_for_the_last() -> None:
    week = [demand_at(CAMPUS, DemandModel(), hour) for hour in range(0, 168, 24)]
    *history, last = week
    found, alone = plan(CAMPUS, last, history=history), plan(CAMPUS, last)
    carries = trunk_capacity(CAMPUS, found.topology.links)
    assert found.worst_history_use == max(split_demand(carries, one).use for one in week)
    assert found.topology.split.use == split_demand(carries, last).use
    others = trunk_capacity(CAMPUS, alone.topology.links)
    assert found.worst_history_use < max(split_demand(others, one).use for one in week)
    assert alone.worst_history_use == alone.topology.split.use
