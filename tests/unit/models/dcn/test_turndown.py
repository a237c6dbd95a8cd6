"""Turning down a block: none of its links remains, the others keep the promised capacity, and stages connect
the two topologies."""

import re

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.engineering.topology_engineering import engineer
from shared.models.dcn.growth import turn_down
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.rewiring.stage_planning import block_capacity
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import plant


def running(found: NetworkLayout, gone: int) -> tuple[IntArray, IntArray]:
    """(circuits for a demand, that demand without a block's)."""
    demand = demand_at(found, DemandModel(seed=4), 0)
    circuits = matched_circuits(found, engineer(found, demand).links)
    demand[gone] = demand[:, gone] = 0
    return circuits, demand


@pytest.mark.parametrize("gone", [0, 3, 5])
@pytest.mark.parametrize("generations", [(100,), (100, 400)])
def test_its_circuits_go_to_the_others_in_stages_that_keep_the_capacity_floor(
    gone: int, generations: tuple[int, ...]
) -> None:
    found = plant(6, generations)
    circuits, demand = running(found, gone)
    done = turn_down(found, circuits, f"ab-{gone}", demand)
    walked = circuits.copy()
    others = np.arange(6) != gone
    lesser = np.minimum(block_capacity(found, circuits), block_capacity(found, done.circuits))[others]
    for stage in done.stages:
        np.subtract.at(walked, tuple(stage.removed.T), 1)
        assert (walked >= 0).all()
        assert (block_capacity(found, walked)[others] >= 0.75 * lesser - 1e-6).all()
        assert not (stage.made[:, 1:] == gone).any()
        np.add.at(walked, tuple(stage.made.T), 1)
        for axis in (1, 2):
            assert (walked.sum(axis=axis) <= found.ports).all()
    assert (walked == done.circuits).all()
    assert not links_of(walked)[gone].any()
    # Its capacity goes to the links engineered for the others, except for the part that short chains cannot
    # use.
    left = plant(5, [block.generation for n, block in enumerate(found.blocks) if n != gone])
    best = engineer(left, demand[np.ix_(others, others)]).links
    assert (links_of(walked)[others].sum(axis=1) >= 0.95 * best.sum(axis=1)).all()
    all_of_them = turn_down(found, circuits, f"ab-{gone}", demand, chain_max=None)
    assert (links_of(all_of_them.circuits)[np.ix_(others, others)] == best).all()


@pytest.mark.parametrize(
    ("block", "sentence"),
    [("ab-9", "block: ab-9 does not exist"), ("ab-1", "block ab-1: still has demand")],
)
def test_a_block_that_is_not_there_or_not_idle_is_named(block: str, sentence: str) -> None:
    found = plant(6)
    circuits, demand = running(found, 0)
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        turn_down(found, circuits, block, demand)
