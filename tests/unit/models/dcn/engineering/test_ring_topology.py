"""Rings over pods: rates against an independent linear program and by hand, and the gain of choosing a
topology."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from shared.basics.errors import InvalidInput
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.engineering.ring_topology import (
    HALVINGS,
    links_for_rings,
    ring_rate,
    room_of,
    roomiest,
)
from shared.models.dcn.routing.path_loads import trunk_capacity
from shared.models.dcn.routing.weights import GAP
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray

BLOCKS = 4
PODS = ("pod-0", "pod-1", "pod-2")
UPLINK_MBPS = 400_000


def plant(blocks: int = BLOCKS, generation: int = 400) -> NetworkLayout:
    return layout_of(
        Block(f"ab-{n}", generation, 512, pod=f"pod-{n}" if n < len(PODS) else None) for n in range(blocks)
    )


def rate_by_program(found: NetworkLayout, links: IntArray, background: IntArray, ring: list[int]) -> float:
    """The maximum that each pod of a ring can send, in uplinks of its block. The variables of the program are
    the traffic of each pair over each path, and the rate."""
    blocks = len(found.blocks)
    carries = trunk_capacity(found, links) / UPLINK_MBPS
    part = np.zeros((blocks, blocks))
    for place, block in enumerate(ring):
        part[block, ring[(place + 1) % len(ring)]] += 0.5
        part[block, ring[place - 1]] += 0.5
    width = blocks**3 + 1
    equal, right = np.zeros((blocks**2, width)), np.zeros(blocks**2)
    most = np.zeros((blocks**2, width))
    for i in range(blocks):
        for j in range(blocks):
            right[i * blocks + j] = background[i, j] / UPLINK_MBPS
            equal[i * blocks + j, -1] = -part[i, j]
            for k in range(blocks):
                if i == j or k == i:
                    continue
                column = (i * blocks + j) * blocks + k
                equal[i * blocks + j, column] = 1.0
                most[i * blocks + k, column] += 1.0
                if k != j:
                    most[k * blocks + j, column] += 1.0
    answer = linprog(
        np.append(np.zeros(width - 1), -1.0),
        A_ub=most,
        b_ub=carries.reshape(-1),
        A_eq=equal,
        b_eq=right,
        method="highs",
    )
    return 0.0 if answer.x is None else float(answer.x[-1]) * UPLINK_MBPS


def background_of(values: list[int]) -> IntArray:
    demand = np.array(values, dtype=np.int64).reshape(BLOCKS, BLOCKS) * UPLINK_MBPS
    demand[range(BLOCKS), range(BLOCKS)] = 0
    return demand


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.integers(0, 130), min_size=BLOCKS**2, max_size=BLOCKS**2),
    ring=st.sampled_from(([0, 1], [0, 2], [0, 1, 2])),
)
def test_the_rate_is_that_of_the_program_but_for_the_gap_of_the_weights(
    values: list[int], ring: list[int]
) -> None:
    found = plant()
    links, background = uniform_mesh(found), background_of(values)
    exact = rate_by_program(found, links, background, ring)
    rate = ring_rate(found, links, background, [f"pod-{n}" for n in ring])
    assert rate <= exact * (1.0 + 1e-6) + 2.0  # demands are whole Mb/s
    # Where all is scaled by 1 − GAP it fits, so that much less, of the ring and of the background, is found.
    less = rate_by_program(found, links, np.rint(background * (1.0 + 1.5 * GAP)).astype(np.int64), ring)
    step = 512 * UPLINK_MBPS / 2**HALVINGS
    assert rate >= less * (1.0 - 1.5 * GAP) - step - 2.0


def test_two_blocks_by_hand() -> None:
    """The remaining capacity of their single trunk, in the direction with less."""
    found = plant(2)
    background = np.array([[0, 112], [12, 0]]) * UPLINK_MBPS
    rate = ring_rate(found, uniform_mesh(found), background, ("pod-0", "pod-1"))
    assert rate == pytest.approx(400 * UPLINK_MBPS, rel=2e-3)


def test_links_made_for_a_ring_carry_more_than_a_mesh_that_others_fill() -> None:
    """ab-2 and ab-3 need 300 links to each other, and a mesh has 170. The rest passes the blocks of the ring,
    and the ring's traffic passes theirs. Dedicated links for either carry all 512."""
    found = plant()
    background = np.zeros((BLOCKS, BLOCKS), dtype=np.int64)
    background[2, 3] = background[3, 2] = 300 * UPLINK_MBPS
    pair = ("pod-0", "pod-1")
    mesh = ring_rate(found, uniform_mesh(found), background, pair)
    assert mesh == pytest.approx(rate_by_program(found, uniform_mesh(found), background, [0, 1]), rel=0.02)
    made = ring_rate(found, links_for_rings(found, background, pair), background, pair)
    assert made == pytest.approx(512 * UPLINK_MBPS, rel=0.03)
    assert made > 1.25 * mesh


def test_a_background_that_fills_the_network_leaves_no_ring() -> None:
    found = plant()
    background = np.where(np.eye(BLOCKS, dtype=bool), 0, 600 * UPLINK_MBPS).astype(np.int64)
    assert ring_rate(found, uniform_mesh(found), background, PODS) == 0.0


def test_the_roomiest_pods_are_those_whose_blocks_have_most_left_in_their_fuller_direction() -> None:
    found = plant()
    background = np.zeros((BLOCKS, BLOCKS), dtype=np.int64)
    background[0, 3], background[3, 1], background[2, 0] = (n * UPLINK_MBPS for n in (200, 50, 100))
    assert (room_of(found, background) / UPLINK_MBPS).tolist() == [312, 462, 412, 312]
    assert roomiest(found, background, PODS, 2) == ["pod-1", "pod-2"]
    assert roomiest(found, background, PODS[::-1], 3) == list(PODS[::-1])


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        (("pod-0",), "pods: pod-0 cannot form a ring; must be at least two"),
        ((), "pods: none cannot form a ring; must be at least two"),
        (("pod-0", "pod-9"), "pod pod-9 is attached to no block; must be one of pod-0, pod-1, pod-2"),
        (("pod-0", "pod-0"), "pods: pod-0, pod-0 is not allowed; must be one or more, each once"),
    ],
)
def test_an_invalid_ring_is_an_error_in_one_sentence(pods: tuple[str, ...], sentence: str) -> None:
    found = plant()
    nothing = np.zeros((BLOCKS, BLOCKS), dtype=np.int64)
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        ring_rate(found, uniform_mesh(found), nothing, pods)


def test_too_many_pods_are_an_error_in_one_sentence() -> None:
    found = plant()
    nothing = np.zeros((BLOCKS, BLOCKS), dtype=np.int64)
    with pytest.raises(InvalidInput, match="pods: 4 is not allowed; must be between 1 and 3"):
        roomiest(found, nothing, PODS, 4)
    with pytest.raises(InvalidInput, match="pod pod-9 is attached to no block"):
        roomiest(found, nothing, ("pod-9",), 1)
