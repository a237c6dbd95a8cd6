"""Staged rewiring: never below the capacity floor, never two circuits on a port, all of it done, in the time
it takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits
from shared.models.dcn.rewiring.rewired_circuits import circuits_made, rewired
from shared.models.dcn.rewiring.stage_planning import (
    Stage,
    Timing,
    block_capacity,
    plan_stages,
)
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import packed_links, plant

PLANTS = [plant(6, (100, 400), (256,)), plant(7, uplinks=(512, 256)), plant(5, racks=4)]


def walk(
    found: NetworkLayout, now: IntArray, stages: list[Stage], capacity_floor: float, least: IntArray
) -> IntArray:
    """The circuits after all stages, each of them checked on the way."""
    circuits = now.copy()
    for stage in stages:
        for switch, tail, head in stage.removed.tolist():
            circuits[switch, tail, head] -= 1
        assert (circuits >= 0).all()
        drained = block_capacity(found, circuits)
        assert (drained >= capacity_floor * least - 1e-6).all()
        assert stage.kept == pytest.approx(float((drained / np.where(least > 0, least, 1))[least > 0].min()))
        for switch, tail, head in stage.made.tolist():
            circuits[switch, tail, head] += 1
        for side in (1, 2):
            assert (circuits.sum(axis=side) <= found.ports).all()
        assert {int(found.domains[switch]) for switch in stage.switches} == {stage.domain}
    return circuits


@settings(max_examples=60, deadline=None)
@given(
    found=st.sampled_from(PLANTS),
    seed=st.integers(0, 10**6),
    capacity_floor=st.sampled_from((0.0, 0.5, 0.75, 0.9)),
    left=st.sampled_from((0.0, 0.3)),
)
def test_no_stage_breaks_the_promise_and_all_is_done(
    found: NetworkLayout, seed: int, capacity_floor: float, left: float
) -> None:
    now = matched_circuits(found, packed_links(found, seed, left))
    then = rewired(found, now, packed_links(found, seed + 1, left))
    refusal, stages = "", []
    try:
        stages = plan_stages(found, now, then, capacity_floor)
    except InvalidInput as error:
        refusal = str(error)
    if refusal:  # many ports on few OCSes: one stage may change too much
        assert capacity_floor >= 0.75
        assert "that can only change together" in refusal
        return
    least = np.minimum(block_capacity(found, now), block_capacity(found, then))
    assert (walk(found, now, stages, capacity_floor, least) == then).all()


def test_a_higher_promise_takes_more_stages() -> None:
    found = plant(8)
    now = matched_circuits(found, packed_links(found, 1))
    then = rewired(found, now, packed_links(found, 2))
    numbers = [len(plan_stages(found, now, then, capacity_floor)) for capacity_floor in (0.0, 0.75, 0.95)]
    assert numbers[0] == 4  # a domain at a time
    assert numbers[0] <= numbers[1] < numbers[2]


def test_nothing_to_change_takes_no_stage() -> None:
    found = plant(4)
    now = matched_circuits(found, packed_links(found, 1))
    assert plan_stages(found, now, now, 1.0) == []


def test_a_promise_of_everything_names_the_block_that_must_lose_something() -> None:
    found = plant(4)
    now = matched_circuits(found, packed_links(found, 1))
    then = rewired(found, now, packed_links(found, 2))
    with pytest.raises(
        InvalidInput, match=r"capacity_floor: 1\.0 is not allowed; block ab-\d has \d+ circuits on OCS"
    ):
        plan_stages(found, now, then, 1.0)
    with pytest.raises(InvalidInput, match=r"capacity_floor: 1\.5 is not allowed"):
        plan_stages(found, now, then, 1.5)


def test_links_added_to_free_ports_drain_nothing() -> None:
    found = plant(4)
    now = matched_circuits(found, packed_links(found, 1, left=0.5))
    links = links_of(now)
    links[0, 1] += 8
    links[1, 0] += 8
    stages = plan_stages(found, now, rewired(found, now, links), 1.0, Timing(10.0, 30.0, 10.0))
    assert sum(len(stage.made) for stage in stages) == 8
    assert all(stage.kept >= 1.0 and stage.seconds == pytest.approx(40.01, abs=0.01) for stage in stages)


@pytest.mark.parametrize(("technology", "seconds"), [("palomar", 0.012), ("robotic", 60.0), ("piezo", 0.01)])
def test_a_stage_takes_as_long_as_its_slowest_ocs(technology: str, seconds: float) -> None:
    found = layout_of([Block(f"ab-{n}", 100, 512) for n in range(6)], technology=technology)
    now = matched_circuits(found, packed_links(found, 1))
    then = rewired(found, now, packed_links(found, 2))
    stages = plan_stages(found, now, then, 0.0, Timing(1.0, 2.0, 3.0))
    for stage in stages:
        most = int(np.bincount(stage.made[:, 0]).max()) if technology == "robotic" else 1
        assert stage.seconds == pytest.approx(6.0 + most * seconds, abs=0.005)
    assert sum(len(stage.made) for stage in stages) == circuits_made(now, then)


def test_a_negative_time_names_its_field() -> None:
    with pytest.raises(InvalidInput, match="qualify_s"):
        Timing(qualify_s=-1.0)
