"""The remains of a network after a failure, counted circuit by circuit; no plan uses lost ports."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.failure import (
    FAILURE_KINDS,
    capacity_left,
    demand_left,
    failure_impact,
    names_of,
    remaining_after,
    replan_after_failure,
    shares_left,
    survivors,
)
from shared.models.dcn.planning import plan
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.rewiring.stage_planning import block_capacity
from shared.models.dcn.routing.path_loads import largest_use, trunk_capacity, trunk_loads
from shared.models.dcn.routing.path_program import exact_split
from shared.models.dcn.routing.weights import split_demand
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import direct_shares, packed_links, plant

ALIKE = plant(8)
MIXED = plant(7, (100, 400), (512, 256), racks=8)


def mesh_circuits(found: NetworkLayout) -> IntArray:
    return matched_circuits(found, uniform_mesh(found))


@pytest.mark.parametrize(
    ("kind", "share"), [("rack", 1 / 32), ("ocs", 1 / 128), ("power", 1 / 4), ("control", 0.0)]
)
def test_a_failure_costs_every_block_its_share_and_no_more(kind: str, share: float) -> None:
    circuits = matched_circuits(ALIKE, packed_links(ALIKE, 3))
    used = links_of(circuits).sum(axis=1) == ALIKE.uplinks
    assert used.sum() >= 7  # all ports taken, but for one block's that no other has room for
    for name in names_of(ALIKE, kind):
        left = capacity_left(ALIKE, circuits, remaining_after(ALIKE, [name]))
        assert left[used] == pytest.approx(1.0 - share, abs=1e-12)


def test_several_racks_add_up_and_nothing_is_lost_twice() -> None:
    circuits = mesh_circuits(ALIKE)
    parts = ["rack-0", "rack-1", "ocs-0", "power-1"]
    left = capacity_left(ALIKE, circuits, remaining_after(ALIKE, parts))
    assert left == pytest.approx(1.0 - 2 / 32 - 1 / 4, abs=0.005)


def test_a_block_takes_its_own_trunks_with_it() -> None:
    circuits = mesh_circuits(ALIKE)
    left = survivors(circuits, remaining_after(ALIKE, ["ab-2"]))
    links, before = links_of(left), links_of(circuits)
    assert not links[2].any()
    others = [n for n in range(8) if n != 2]
    assert (links[np.ix_(others, others)] == before[np.ix_(others, others)]).all()


@settings(max_examples=60, deadline=None)
@given(
    found=st.sampled_from([ALIKE, MIXED]),
    seed=st.integers(0, 10**6),
    data=st.data(),
)
def test_survivors_are_the_circuits_with_working_ends_and_ocs(
    found: NetworkLayout, seed: int, data: st.DataObject
) -> None:
    circuits = matched_circuits(found, packed_links(found, seed, 0.2))
    every = [name for kind in FAILURE_KINDS for name in names_of(found, kind)]
    parts = data.draw(st.lists(st.sampled_from(every), max_size=4))
    left = survivors(circuits, remaining_after(found, parts))
    for switch, tail, head in np.argwhere(circuits).tolist():
        rack = switch // found.switches
        domain = switch * 4 // found.ocs_count
        fatal = {f"ocs-{switch}", f"rack-{rack}", f"power-{domain}"}
        for block in (f"ab-{tail}", f"ab-{head}"):
            fatal |= {block, f"{block}/bundle-{rack}"}
        assert left[switch, tail, head] == (0 if fatal & set(parts) else circuits[switch, tail, head])


def test_an_ocs_that_latches_keeps_its_light_without_power() -> None:
    latching = layout_of([Block(f"ab-{n}", 100, 512) for n in range(4)], technology="robotic")
    circuits = mesh_circuits(latching)
    dark, held = remaining_after(plant(4), ["power-0"]), remaining_after(latching, ["power-0"])
    assert not survivors(mesh_circuits(plant(4)), dark)[:32].any()
    assert (survivors(circuits, held) == circuits).all()
    assert held.held.tolist() == [n < 32 for n in range(128)]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "ocs-128",
            "ocs-128: no part that can fail has this name; must be ocs-0 to ocs-127, rack-0 to rack-31",
        ),
        ("rack-32", "rack-0 to rack-31"),
        ("power-4", "power-0 to power-3"),
        ("ab-8", "blocks, and a block's fibres to a rack, like block-5/bundle-3; the nearest is ab-"),
        ("ab-1/ocs-3", "ocs-3: no part that can fail has this name; must be bundle-0 to bundle-31"),
        ("", "no part that can fail has this name"),
        ("rack-03", "rack-03: no part that can fail has this name"),
    ],
)
def test_a_missing_part_cannot_fail(name: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        remaining_after(ALIKE, [name])


def test_a_kind_that_there_is_not_is_named() -> None:
    with pytest.raises(InvalidInput, match="kind: fan is not a known kind; must be one of ocs, rack"):
        names_of(ALIKE, "fan")


def test_shares_continue_over_the_remaining_parts() -> None:
    carries = np.array([[0.0, 10.0, 10.0], [10.0, 0.0, 10.0], [10.0, 10.0, 0.0]])
    demand = np.array([[0, 4, 0], [0, 0, 0], [0, 0, 0]])
    direct = direct_shares(3)
    half = direct.copy()
    half[0, 1] = [0.0, 0.5, 0.5]
    without = carries.copy()
    without[0, 1] = 0.0
    for share in (direct, half):
        load = trunk_loads(shares_left(share, without), demand)
        assert (load[0, 2], load[2, 1], load[0, 1]) == (4.0, 4.0, 0.0)
    assert (shares_left(half, carries)[0, 1] == half[0, 1]).all()


def test_demand_without_a_path_is_cut_off() -> None:
    links = np.zeros((8, 8), dtype=np.int64)
    links[0, 1] = links[1, 0] = links[1, 2] = links[2, 1] = links[2, 3] = links[3, 2] = 8
    demand = np.ones((8, 8), dtype=np.int64) - np.eye(8, dtype=np.int64)
    left = demand_left(ALIKE, links, demand)
    assert {(0, 1), (0, 2), (1, 3)} <= {(a, b) for a, b in np.argwhere(left).tolist()}
    assert (left[0, 3], left[0, 4], left.sum()) == (0, 0, 10)


@settings(max_examples=40, deadline=None)
@given(found=st.sampled_from([ALIKE, MIXED]), hour=st.integers(0, 500), data=st.data())
def test_no_plan_uses_lost_ports_or_touches_frozen_circuits(
    found: NetworkLayout, hour: int, data: st.DataObject
) -> None:
    every = [name for kind in FAILURE_KINDS for name in names_of(found, kind)]
    parts = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=3))
    demand = demand_at(found, DemandModel(seed=5), hour)
    circuits = mesh_circuits(found)
    loss = remaining_after(found, parts)
    if not survivors(circuits, loss).any():
        return
    done = replan_after_failure(found, demand, circuits, loss, capacity_floor=0.0)
    assert (done.circuits.sum(axis=2) <= loss.ports).all()
    assert (done.circuits.sum(axis=1) <= loss.ports).all()
    left = survivors(circuits, loss)
    assert (done.circuits[loss.held] == left[loss.held]).all()
    walked = left.copy()
    for stage in done.stages:
        np.subtract.at(walked, tuple(stage.removed.T), 1)
        assert (walked >= 0).all()
        np.add.at(walked, tuple(stage.made.T), 1)
        assert not loss.held[stage.switches].any()
    assert (walked == done.circuits).all()
    carries = trunk_capacity(found, links_of(done.circuits))
    share = done.topology.split.shares(carries)
    assert largest_use(trunk_loads(share, done.demand), carries) == pytest.approx(
        done.topology.split.use, rel=1e-9
    )
    assert done.topology.bound <= done.topology.split.use <= done.rerouted.use


def test_weights_solved_again_are_near_the_optimum_and_better_than_at_once() -> None:
    demand = demand_at(MIXED, DemandModel(seed=1), 9)
    first = plan(MIXED, demand)
    share = first.topology.split.shares(trunk_capacity(MIXED, first.topology.links))
    for name in ("rack-3", "power-0", "ab-1/bundle-2", "ab-5"):
        impact = failure_impact(MIXED, demand, first.circuits, share, remaining_after(MIXED, [name]))
        carries = trunk_capacity(MIXED, impact.links)
        rerouted = split_demand(carries, impact.demand)
        assert exact_split(carries, impact.demand).use <= rerouted.use * (1.0 + 1e-6)
        assert rerouted.use <= 1.02 * exact_split(carries, impact.demand).use
        assert rerouted.use <= impact.use * (1.0 + 1e-9)


def test_a_block_that_is_gone_leaves_its_uplinks_to_the_others() -> None:
    found = plant(6, (400,), racks=8)
    demand = demand_at(found, DemandModel(load=0.7), 0)
    first = plan(found, demand)
    done = replan_after_failure(found, demand, first.circuits, remaining_after(found, ["ab-0"]))
    assert done.topology.split.use < done.rerouted.use
    assert not links_of(done.circuits)[0].any()
    before = block_capacity(found, survivors(first.circuits, remaining_after(found, ["ab-0"])))
    after = block_capacity(found, done.circuits)
    assert after.sum() > 1.1 * before.sum()
    assert all(stage.kept >= 0.75 for stage in done.stages)


def test_a_change_that_hardly_helps_is_not_made() -> None:
    demand = demand_at(ALIKE, DemandModel(), 0)
    first = plan(ALIKE, demand)
    done = replan_after_failure(ALIKE, demand, first.circuits, remaining_after(ALIKE, ["control-2"]))
    assert done.stages == []
    assert (done.circuits == first.circuits).all()
