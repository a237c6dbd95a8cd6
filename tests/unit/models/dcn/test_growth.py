"""Growth: every step is a valid network, keeps its capacity floor, and disturbs only the stated links; errors
are sentences."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.dcn.dcn_assumptions import ASSUMPTIONS, assumed
from shared.models.dcn.demand.demand_model import DemandModel, demand_at
from shared.models.dcn.growth import GrowthStep, growth_steps
from shared.models.dcn.planning import plan
from shared.models.dcn.rewiring.matchings import halved, links_of, matched_circuits
from shared.models.dcn.rewiring.rewired_circuits import circuits_made
from shared.models.dcn.rewiring.stage_planning import block_capacity
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import packed_links, plant

SMALL = [Block(f"ab-{n}", 100, 256) for n in range(6)]
LARGE = [Block("ab-0", 400, 512), *SMALL[1:], Block("ab-6", 400, 512), Block("ab-7", 100, 256)]


def demand(found: NetworkLayout) -> IntArray:
    return demand_at(found, DemandModel(seed=3), 0)


def steps_of(now: NetworkLayout, later: NetworkLayout) -> tuple[IntArray, list[GrowthStep]]:
    circuits = plan(now, demand(now)).circuits
    return circuits, list(growth_steps(now, later, circuits, demand, capacity_floor=0.7))


def test_racks_newer_blocks_and_more_of_them_come_one_at_a_time() -> None:
    now, later = layout_of(SMALL, racks=4), layout_of(LARGE, racks=16)
    circuits, steps = steps_of(now, later)
    racks = [f"rack-{2 * n + 1}" for n in range(4)] + [f"rack-{2 * n + 1}" for n in range(8)]
    assert [step.what for step in steps] == [*racks, "ab-0", "ab-6", "ab-7"]
    assert [step.change for step in steps] == [*["new rack"] * 12, "newer block", "new block", "new block"]
    assert steps[-1].plant.blocks == later.blocks
    assert steps[-1].plant.racks == 16
    # No rack changes a trunk. At the end of a doubling, every OCS has the circuits that its ports allow.
    for step in steps[:12]:
        assert (links_of(step.circuits) == links_of(circuits)).all()
        assert step.use is None
    for step in (steps[3], *steps[11:]):
        for axis in (1, 2):
            assert (step.circuits.sum(axis=axis) <= step.plant.ports).all()


def test_a_block_that_only_gets_more_uplinks_is_larger_and_not_newer() -> None:
    (step,) = steps_of(layout_of(SMALL, racks=8), layout_of([Block("ab-0", 100, 512), *SMALL[1:]], racks=8))[
        1
    ]
    assert (step.what, step.change, step.laid, step.by_hand) == ("ab-0", "larger block", 256, 0)


def test_a_step_reports_the_changes_that_it_makes() -> None:
    now, later = layout_of(SMALL, racks=8), layout_of(LARGE, racks=8)
    circuits, steps = steps_of(now, later)
    for step in steps:
        blocks = len(step.plant.blocks)
        walked = np.pad(circuits, ((0, 0), (0, blocks - circuits.shape[1]), (0, blocks - circuits.shape[1])))
        own = walked.copy()
        for stage in step.stages:
            assert stage.kept >= 0.7
            np.subtract.at(walked, tuple(stage.removed.T), 1)
            assert (walked >= 0).all()
            np.add.at(walked, tuple(stage.made.T), 1)
        assert (walked == step.circuits).all()
        removed = circuits_made(step.circuits, own)
        hands = int(own[:, 0].sum() + own[:, :, 0].sum()) if step.what == "ab-0" else 0
        assert step.disturbed == removed + hands
        circuits = step.circuits
    newer, first, _ = steps
    assert (newer.laid, newer.by_hand) == (256, 128)
    assert newer.kept == pytest.approx(0.75, abs=0.01)
    assert (first.laid, first.by_hand) == (512, 0)
    assert first.spine_prebuilt is not None
    assert first.spine_grown is not None
    assert (first.spine_prebuilt.strands, first.spine_grown.strands) == (0, round(1792 * 512 / 2304))
    assert first.panel.seconds > first.seconds


def test_a_new_rack_takes_half_of_another_from_every_block() -> None:
    now, later = plant(8, racks=8), plant(8, racks=16)
    circuits = matched_circuits(now, packed_links(now, 4))
    steps = list(growth_steps(now, later, circuits, demand))
    assert len(steps) == 8
    strands = 4 * 8 * 8  # switches × blocks × half of the 16 ports of each
    for n, step in enumerate(steps):
        before = circuits if n == 0 else steps[n - 1].circuits
        assert (step.by_hand, step.laid, step.stages) == (strands, 0, [])
        assert step.kept == pytest.approx(15 / 16, abs=0.003)
        hands = strands * assumed("strand_by_hand_s") / assumed("technicians")
        assert step.seconds == pytest.approx(hands + 50.0)
        if n:
            assert step.disturbed == circuits_made(before, step.circuits)


def test_the_domains_of_circuits_that_stay_are_the_same() -> None:
    now, later = plant(4, racks=8), plant(4, racks=16)
    circuits = matched_circuits(now, packed_links(now, 4))
    last = list(growth_steps(now, later, circuits, demand))[-1].circuits
    for domain in range(4):
        before = links_of(circuits[now.domains == domain])
        assert (links_of(last[later.domains == domain]) == before).all()


def test_halves_are_halves_of_each_port_and_pair() -> None:
    found = plant(6, (100,), (512, 256), racks=8)
    circuits = matched_circuits(found, packed_links(found, 7, 0.1))
    stay, move = halved(circuits)
    assert (stay + move == circuits).all()
    for part in (stay, move):
        assert (part.sum(axis=1) <= -(-circuits.sum(axis=1) // 2)).all()
        assert (part.sum(axis=2) <= -(-circuits.sum(axis=2) // 2)).all()
        assert (part <= -(-circuits // 2)).all()


def test_a_newer_block_carries_more_and_nothing_else_changed_hands() -> None:
    now = layout_of(SMALL, racks=8)
    later = layout_of(
        [replace(SMALL[0], generation=200), *[replace(one, generation=200) for one in SMALL[1:]]], racks=8
    )
    circuits, steps = steps_of(now, later)
    assert [step.what for step in steps] == [block.name for block in SMALL]
    before = block_capacity(now, circuits).sum()
    assert block_capacity(later, steps[-1].circuits).sum() == pytest.approx(2 * before, rel=0.01)
    assert all(step.laid == 0 and step.by_hand == 128 for step in steps)


def test_the_same_network_takes_no_step() -> None:
    now = layout_of(SMALL, racks=8)
    assert steps_of(now, now)[1] == []


@pytest.mark.parametrize(
    ("later", "sentence"),
    [
        (
            layout_of(SMALL, racks=4),
            "racks: 4 of 32 is not allowed after 8 of 32; must be at least 8 of 32",
        ),
        (layout_of(SMALL, racks=16, racks_full=16), "racks: 16 of 16 is not allowed after 8 of 32"),
        (layout_of(SMALL[1:], racks=8), "block ab-0: missing in the later network; must be kept"),
        (
            layout_of([replace(SMALL[0], generation=40), *SMALL[1:]], racks=8),
            "block ab-0: generation 40 is not allowed after 100; must not be less",
        ),
        (
            layout_of([replace(SMALL[0], customer="one"), *SMALL[1:]], racks=8),
            "block ab-0: customer one is not allowed after None; must not change",
        ),
        (
            layout_of([replace(SMALL[0], generation=800, modules="cwdm8-bidi"), *SMALL[1:]], racks=8),
            "block ab-0: modules cwdm8-bidi is not allowed after cwdm4-bidi; must not change",
        ),
        (layout_of(SMALL, racks=8, switches=8), "switches, technology: cannot change"),
    ],
)
def test_impossible_growth_is_an_error_in_one_sentence(later: NetworkLayout, sentence: str) -> None:
    now = layout_of(SMALL, racks=8)
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        next(growth_steps(now, later, matched_circuits(now, packed_links(now, 1)), demand))


def test_every_assumption_has_a_reason_and_is_in_the_documentation() -> None:
    text = Path("docs/reference/dcn.md").read_text(encoding="utf-8")
    for name, assumption in ASSUMPTIONS.items():
        assert len(assumption.reason.split()) >= 4, name
        unit = f" {assumption.unit}" if assumption.unit else ""
        assert f"| {name} | {assumption.value:,g}{unit} | {assumption.reason} |" in text, name
