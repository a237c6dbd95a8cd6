"""Trunks split into matchings with few changed circuits: sums, ports, spread, and the circuits given up."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.rewiring.matchings import links_of, matched_circuits, north_to_south
from shared.models.dcn.rewiring.rewired_circuits import (
    circuits_made,
    fewest_circuits_made,
    rewired,
)
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import IntArray
from tests.support.dcn_plants import packed_links, plant

PLANTS = [
    plant(6, uplinks=(256,)),  # one port of each side on every OCS
    plant(7, uplinks=(512, 256)),
    plant(5, racks=4),  # 16 ports of each side
]


def check_circuits(found: NetworkLayout, links: IntArray, circuits: IntArray) -> None:
    assert (circuits >= 0).all()
    assert (links_of(circuits) == links).all()
    for side in (1, 2):
        assert (circuits.sum(axis=side) <= found.ports).all()


def check_alike(circuits: IntArray) -> None:
    """Links of a pair and direction, and of a block on either side, differ by one at most between OCSes, and
    between domains."""
    for part in (circuits, circuits.sum(axis=1), circuits.sum(axis=2)):
        for counts in (part, part.reshape(4, -1, *part.shape[1:]).sum(axis=1)):
            assert int((counts.max(axis=0) - counts.min(axis=0)).max()) <= 1


@settings(max_examples=60, deadline=None)
@given(found=st.sampled_from(PLANTS), seed=st.integers(0, 10**6), left=st.sampled_from((0.0, 0.3, 0.9, 1.0)))
def test_any_trunks_split_into_matchings_that_are_alike(found: NetworkLayout, seed: int, left: float) -> None:
    links = packed_links(found, seed, left)
    circuits = matched_circuits(found, links)
    check_circuits(found, links, circuits)
    check_alike(circuits)


@pytest.mark.parametrize("blocks", [2, 9, 16, 33, 64])
@pytest.mark.parametrize("uplinks", [(256,), (512, 256)])
def test_a_mesh_splits_into_matchings_that_are_alike(blocks: int, uplinks: tuple[int, ...]) -> None:
    found = plant(blocks, uplinks=uplinks)
    for links in (uniform_mesh(found), np.minimum(uniform_mesh(found), 2)):
        circuits = matched_circuits(found, links)
        check_circuits(found, links, circuits)
        check_alike(circuits)
        assert (matched_circuits(found, links) == circuits).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), blocks=st.integers(2, 9))
def test_directions_halve_every_pair_and_every_block(seed: int, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    links = np.triu(rng.integers(0, 6, (blocks, blocks)), 1)
    links = links + links.T
    directed = north_to_south(links)
    assert (directed + directed.T == links).all()
    assert (np.abs(directed - directed.T) <= 1).all()
    assert (np.abs(directed.sum(axis=1) - directed.sum(axis=0)) <= 1).all()


def test_a_rack_lost_costs_every_block_its_share() -> None:
    found = plant(8, uplinks=(256,))
    circuits = matched_circuits(found, packed_links(found, 3)).reshape(32, 4, 8, 8)
    for rack in range(32):
        lost = links_of(circuits[rack]).sum(axis=1)
        assert (lost <= found.uplinks // 32).all()


@settings(max_examples=60, deadline=None)
@given(
    found=st.sampled_from(PLANTS),
    seed=st.integers(0, 10**6),
    left=st.tuples(st.sampled_from((0.0, 0.3)), st.sampled_from((0.0, 0.3))),
)
def test_any_trunks_can_be_rewired_to_any_others(
    found: NetworkLayout, seed: int, left: tuple[float, float]
) -> None:
    links = packed_links(found, seed + 1, left[1])
    now = matched_circuits(found, packed_links(found, seed, left[0]))
    then = rewired(found, now, links)
    check_circuits(found, links, then)
    assert circuits_made(now, then) >= fewest_circuits_made(now, links)


@settings(max_examples=40, deadline=None)
@given(found=st.sampled_from(PLANTS), seed=st.integers(0, 10**6), chain_max=st.integers(0, 4))
def test_with_short_chains_only_used_circuits_differ_between_now_and_the_request(
    found: NetworkLayout, seed: int, chain_max: int
) -> None:
    before, links = packed_links(found, seed), packed_links(found, seed + 1)
    now = matched_circuits(found, before)
    then = rewired(found, now, links, chain_max)
    runs = links_of(then)
    check_circuits(found, runs, then)
    assert (np.minimum(before, links) <= runs).all()
    assert (runs <= np.maximum(before, links)).all()
    assert circuits_made(now, then) <= (chain_max + 1) * fewest_circuits_made(now, links)


@pytest.mark.parametrize("found", PLANTS)
def test_nothing_changes_where_nothing_is_requested(found: NetworkLayout) -> None:
    links = packed_links(found, 5)
    now = matched_circuits(found, links)
    assert (rewired(found, now, links) == now).all()


@pytest.mark.parametrize("found", PLANTS)
def test_links_only_given_up_make_no_circuit(found: NetworkLayout) -> None:
    now = matched_circuits(found, packed_links(found, 5))
    then = rewired(found, now, links_of(now) // 2)
    assert circuits_made(now, then) == 0


@pytest.mark.parametrize("found", PLANTS)
def test_with_free_ports_on_every_ocs_no_more_is_made_than_is_missing(found: NetworkLayout) -> None:
    """A third of the uplinks is free, so nothing needs to make room."""
    now = matched_circuits(found, packed_links(found, 8, left=0.4))
    links = links_of(now)
    links[0, 1] += 20
    links[1, 0] += 20
    assert circuits_made(now, rewired(found, now, links)) == fewest_circuits_made(now, links) == 20


@pytest.mark.parametrize("seed", range(5))
def test_a_few_links_exchanged_on_a_full_network_move_few_circuits(seed: int) -> None:
    """Two trunks lose ten links each to two others; a fresh split would change almost all circuits."""
    found = plant(8)
    links = packed_links(found, seed)
    now = matched_circuits(found, links)
    rng = np.random.default_rng(seed)
    while True:
        a, b, c, d = rng.choice(8, 4, replace=False)
        if links[a, b] >= 10 and links[c, d] >= 10:
            break
    for one, other, times in ((a, b, -10), (c, d, -10), (a, c, 10), (b, d, 10)):
        links[one, other] += times
        links[other, one] += times
    few, fresh = (
        circuits_made(now, rewired(found, now, links)),
        circuits_made(now, matched_circuits(found, links)),
    )
    assert 20 == fewest_circuits_made(now, links) <= few <= 60 < fresh


REFUSED = [
    ({(0, 1): 3}, "links ab-0, ab-1: 3 differs from the number in the other direction"),
    ({(0, 1): -1, (1, 0): -1}, "links ab-0, ab-1: -1 is negative"),
    (
        {(0, 0): 2},
        "links ab-0, ab-0: 2 is not allowed; must be 0 within a block and between blocks of two customers",
    ),
    ({(0, 1): 513, (1, 0): 513}, "block ab-0: 513 links are not allowed; must be at most its 512 uplinks"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED)
def test_links_that_cannot_be_name_block_or_pair(given: dict[tuple[int, int], int], sentence: str) -> None:
    links = np.zeros((3, 3), dtype=np.int64)
    for pair, value in given.items():
        links[pair] = value
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        matched_circuits(plant(3), links)


def test_links_between_customers_are_refused() -> None:
    apart = layout_of([Block("ab-0", 100, 512, customer="a"), Block("ab-1", 100, 512, customer="b")])
    with pytest.raises(InvalidInput, match="blocks of two customers"):
        matched_circuits(apart, np.array([[0, 2], [2, 0]]))
    with pytest.raises(InvalidInput, match="links: a matrix of 3×3 is not allowed; must be 2×2"):
        matched_circuits(apart, np.zeros((3, 3), dtype=np.int64))
