"""Customers and grids stay apart in every plan; the checker finds violations that no plan makes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.network_hardware import GENERATIONS_GBPS, MODULES
from shared.basics.errors import InvalidInput, OperationFailed
from shared.models.dcn.demand.demand_model import DemandModel, demand_at, recorded_demand
from shared.models.dcn.failure import remaining_after, replan_after_failure, survivors
from shared.models.dcn.planning import plan
from shared.models.dcn.rewiring.isolation import check_isolation, crossings
from shared.models.dcn.rewiring.matchings import links_of
from shared.models.dcn.rewiring.stage_planning import Stage
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.optics.module_kinds import MODULE_KINDS

CUSTOMERS = (None, "one", "two")


def mixed(seed: int, blocks: int = 9) -> NetworkLayout:
    """Three customers, two grids, all generations, in some order: each customer has two blocks of a grid at
    least."""
    rng = np.random.default_rng(seed)
    kinds = [(customer, "cwdm4-bidi") for customer in CUSTOMERS] * 2 + [("one", "cwdm8-bidi")] * 2
    kinds += [kinds[int(rng.integers(len(kinds)))] for _ in range(blocks - len(kinds))]
    return layout_of(
        [
            Block(
                f"ab-{n}",
                int(rng.choice(MODULES[kinds[place][1]])),
                int(rng.choice((256, 512))),
                None,
                *kinds[place],
            )
            for n, place in enumerate(rng.permutation(blocks).tolist())
        ],
        racks=8,
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_plan_keeps_customers_and_grids_apart(seed: int) -> None:
    found = mixed(seed)
    first = plan(found, demand_at(found, DemandModel(seed=seed), 0), capacity_floor=0.5)
    second = plan(found, demand_at(found, DemandModel(seed=seed), 168), first.circuits, capacity_floor=0.5)
    assert check_isolation(found, first.circuits, second.stages, second.circuits, second.tables) > 0
    loss = remaining_after(found, ["rack-1", "ab-3"])
    demand = demand_at(found, DemandModel(seed=seed), 168)
    done = replan_after_failure(found, demand, second.circuits, loss, capacity_floor=0.0)
    assert check_isolation(found, survivors(second.circuits, loss), done.stages, done.circuits) > 0


def test_every_generation_of_a_customer_shares_one_ocs_at_the_lower_rate() -> None:
    blocks = [Block(f"ab-{n}", rate, 512) for n, rate in enumerate(GENERATIONS_GBPS)]
    found = layout_of(blocks)
    done = plan(found, demand_at(found, DemandModel(load=0.2), 0))
    joined = links_of(done.circuits[0])
    assert {blocks[a].generation for a, _ in np.argwhere(joined).tolist()} == set(GENERATIONS_GBPS)
    for a, b in np.argwhere(joined).tolist():
        assert found.rates[a, b] == min(blocks[a].generation, blocks[b].generation)


TWO = layout_of(
    [
        Block("ab-0", 100, 256, customer="one"),
        Block("ab-1", 100, 256, customer="one"),
        Block("ab-2", 100, 256, customer="two"),
        Block("ab-3", 100, 256, customer="two"),
    ],
    racks=8,
)


def circuits(*pairs: tuple[int, int]) -> Any:
    made = np.zeros((TWO.ocs_count, 4, 4), dtype=np.int64)
    for tail, head in pairs:
        made[0, tail, head] = 1
    return made


def stage(removed: list[tuple[int, int, int]], made: list[tuple[int, int, int]]) -> Stage:
    rows = [np.array(one, dtype=np.int64).reshape(-1, 3) for one in (removed, made)]
    return Stage(0, rows[0], rows[1], 1.0, 0.0)


def test_a_crossing_is_found_anywhere() -> None:
    good = circuits((0, 1), (2, 3))
    assert check_isolation(TWO, good, [], good) == 4
    for now, stages, then, when in (
        (circuits((0, 2)), [], good, "before the plan ab-0 and ab-2"),
        (good, [], circuits((3, 1)), "in the end ab-3 and ab-1"),
        (good, [stage([], [(0, 1, 2)]), stage([(0, 1, 2)], [])], good, "after stage 0 ab-1 and ab-2"),
    ):
        with pytest.raises(
            OperationFailed, match=f"isolation: {when} are joined, but must not be: they belong"
        ):
            check_isolation(TWO, now, stages, then)
    tables = np.zeros((4, 4, 4), dtype=np.int64)
    tables[0, 1, 2] = 1
    with pytest.raises(OperationFailed, match="in the tables ab-0 and ab-2"):
        check_isolation(TWO, good, [], good, tables)


def test_stages_with_another_result_are_found() -> None:
    good = circuits((0, 1), (2, 3))
    with pytest.raises(OperationFailed, match="the stages do not lead to the circuits"):
        check_isolation(TWO, good, [stage([(0, 0, 1)], [])], good)


def test_grids_are_kept_apart_like_customers() -> None:
    found = layout_of(
        [Block("ab-0", 100, 256), Block("ab-1", 800, 256), Block("ab-2", 800, 256, modules="cwdm8-bidi")],
        racks=8,
    )
    assert crossings(found, [(0, 1), (1, 2)]) == [(1, 2)]
    assert found.may_join.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    demand = np.zeros((3, 3), dtype=np.int64)
    demand[1, 2] = 5
    with pytest.raises(
        InvalidInput, match="ab-1 → ab-2: 5 Mb/s is not allowed: their modules use different wavelength grids"
    ):
        recorded_demand(found, demand)
    with pytest.raises(
        InvalidInput, match="block ab-0: modules cwdm9 is not allowed; must be cwdm4-bidi or cwdm8"
    ):
        layout_of([Block("ab-0", 100, 256, modules="cwdm9"), Block("ab-1", 100, 256)])


@pytest.mark.parametrize("kind", MODULES)
def test_modules_exist_in_the_generations_that_the_optics_know(kind: str) -> None:
    assert MODULES[kind] == MODULE_KINDS[kind].generations
    for generation in GENERATIONS_GBPS:
        blocks = [Block("ab-0", generation, 256, modules=kind), Block("ab-1", 800, 256)]
        if generation in MODULES[kind]:
            layout_of(blocks)
        else:
            sentence = f"block ab-0: modules {kind} do not exist at {generation} Gb/s; must be generation 800"
            with pytest.raises(InvalidInput, match=sentence):
                layout_of(blocks)
