"""Ports, circuits and links of any network: counts, positions and names are consistent."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.network_hardware import GENERATIONS_GBPS, BlockGroupConfig, NetworkConfig
from shared.basics.errors import InvalidInput
from shared.models.network.blocks import CONTROL_DOMAINS, NetworkLayout, network_of
from shared.models.network.network_plant import network_plant, ocses_of
from shared.models.network.wiring import NO_PORT, assign_ports, circuit_counts, links_between, wiring_of
from shared.models.superpod.superpod_plant import port_number
from shared.models.superpod.wiring import SPARE_PORTS, IntArray

LAYOUTS = ((8, 1), (4, 2), (8, 2))
"""(racks, OCSes of a rack)."""


@st.composite
def hardware(draw: st.DrawFn) -> NetworkConfig:
    """Blocks of both sizes and any generations, as many as the OCSes have ports for."""
    racks, switches = draw(st.sampled_from(LAYOUTS))
    most = 120 * 2 * racks * switches // 512
    rows = st.builds(
        BlockGroupConfig, generation=st.sampled_from(GENERATIONS_GBPS), uplinks=st.sampled_from((256, 512))
    )
    blocks = draw(st.lists(rows, min_size=2, max_size=min(most, 8)))
    return NetworkConfig(blocks=tuple(blocks), racks=racks, racks_full=racks, switches=switches)


def some_circuits(plant: NetworkLayout, seed: int, share: float) -> IntArray:
    """(K, radix) circuits at random between free ports that fibres enter, never within one block."""
    rng = np.random.default_rng(seed)
    wiring = wiring_of(plant)
    south_of = np.full((plant.ocs_count, wiring.radix), NO_PORT)
    for row in south_of:
        souths = rng.permutation(wiring.ports_wired)
        for north, south in enumerate(souths.tolist()):
            if rng.random() < share and wiring.block_at[north] != wiring.block_at[south]:
                row[north] = south
    return south_of


def by_hand(plant: NetworkLayout, south_of: IntArray) -> IntArray:
    """(K, B, B) the same circuits one by one; the ports of a block follow from its uplinks alone."""
    blocks = len(plant.blocks)
    at = [b for b, block in enumerate(plant.blocks) for _ in range(block.uplinks // (2 * plant.ocs_count))]
    found = np.zeros((plant.ocs_count, blocks, blocks), dtype=np.int64)
    for ocs, north in np.argwhere(south_of != NO_PORT).tolist():
        found[ocs, at[north], at[south_of[ocs, north]]] += 1
    return found


@given(hardware(), st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_circuits_are_counted_one_by_one_and_make_a_link_each(
    config: NetworkConfig, seed: int, share: float
) -> None:
    plant = network_of(config)
    south_of = some_circuits(plant, seed, share)
    circuits = circuit_counts(plant, south_of)
    assert (circuits == by_hand(plant, south_of)).all()
    links = links_between(plant, south_of)
    assert (links == circuits.sum(axis=0) + circuits.sum(axis=0).T).all()
    some = np.random.default_rng(seed).random(south_of.shape) < 0.5
    kept = np.where(some, south_of, NO_PORT)
    assert (circuit_counts(plant, south_of, some) == circuit_counts(plant, kept)).all()
    assert (links_between(plant, south_of, some) == links_between(plant, kept)).all()


@given(hardware(), st.integers(0, 2**32 - 1), st.floats(0.1, 1.0))
@settings(max_examples=40, deadline=None)
def test_circuits_by_blocks_use_free_ports_and_convert_back(
    config: NetworkConfig, seed: int, share: float
) -> None:
    """All existing circuits are removed and another set is made; nothing else remains."""
    plant = network_of(config)
    now, then = some_circuits(plant, seed, share), some_circuits(plant, seed + 1, share)

    def rows(south_of: IntArray) -> list[tuple[int, int, int]]:
        circuits = circuit_counts(plant, south_of)
        found = np.argwhere(circuits).tolist()
        return [(ocs, one, other) for ocs, one, other in found for _ in range(circuits[ocs, one, other])]

    before = now.copy()
    removed, made = assign_ports(plant, now, rows(now), rows(then))
    assert (now == before).all(), "what there is is left as it is"
    assert {(ocs, north) for ocs, north, _ in removed} == {tuple(end) for end in np.argwhere(now != NO_PORT)}
    after = np.full_like(now, NO_PORT)
    for ocs, north, south in made:
        assert after[ocs, north] == NO_PORT
        assert south not in after[ocs]
        after[ocs, north] = south
    assert (circuit_counts(plant, after) == circuit_counts(plant, then)).all()


def test_a_missing_circuit_cannot_be_removed_and_one_without_a_port_cannot_be_made() -> None:
    plant = network_of(
        NetworkConfig(blocks=(BlockGroupConfig(count=2, uplinks=256),), racks=8, racks_full=8, switches=2)
    )
    empty = np.full((16, wiring_of(plant).radix), NO_PORT)
    with pytest.raises(InvalidInput, match="OCS 3: no circuit from block 0 to block 1 to remove"):
        assign_ports(plant, empty, [(3, 0, 1)], [])
    each = int(plant.ports[0])
    with pytest.raises(InvalidInput, match="OCS 3: block 0 has no free North port"):
        assign_ports(plant, empty, [], [(3, 0, 1)] * (each + 1))
    full = empty.copy()
    full[3, each : 2 * each] = np.arange(each, 2 * each)
    with pytest.raises(InvalidInput, match="OCS 3: block 1 has no free South port"):
        assign_ports(plant, full, [], [(3, 0, 1)])
    (gone,), (come,) = assign_ports(plant, full, [(3, 1, 1)], [(3, 0, 1)])
    assert gone == (3, each, each), "the lowest North port goes"
    assert come == (3, 0, each), "and its South port is free again at once"


def test_a_circuit_that_is_unfit_is_made_only_where_there_is_no_other() -> None:
    plant = network_of(
        NetworkConfig(blocks=(BlockGroupConfig(count=2, uplinks=256),), racks=8, racks_full=8, switches=2)
    )
    empty, each = np.full((16, wiring_of(plant).radix), NO_PORT), int(plant.ports[0])
    souths = range(each, 2 * each)
    unfit = {(3, 0, south) for south in souths}
    _, (come,) = assign_ports(plant, empty, [], [(3, 0, 1)], unfit)
    assert come == (3, 1, each)
    _, (come,) = assign_ports(plant, empty, [], [(3, 0, 1)], unfit | {(3, 1, each)})
    assert come == (3, 1, each + 1)
    every = {(3, north, south) for north in range(each) for south in souths}
    _, (come,) = assign_ports(plant, empty, [], [(3, 0, 1)], every)
    assert come == (3, 0, each)


@given(hardware())
@settings(max_examples=25, deadline=None)
def test_every_fibre_is_in_one_bundle_and_every_wired_port_has_one(config: NetworkConfig) -> None:
    plant, parts = network_of(config), network_plant(config)
    fibres = parts.ends.fibres
    assert fibres.shape[0] == len(plant.blocks) * plant.racks
    wiring = wiring_of(plant)
    wired = {
        int(port_number(np.array(ocs), side, np.array(port), wiring.radix))
        for ocs in range(plant.ocs_count)
        for side in (0, 1)
        for port in range(wiring.ports_wired)
    }
    entered = fibres[fibres >= 0].tolist()
    assert len(entered) == len(set(entered)) == len(wired)
    assert set(entered) == wired
    assert wiring.radix - wiring.ports_wired >= SPARE_PORTS


@given(hardware(), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_every_part_is_found_again_by_its_name(config: NetworkConfig, draw: Random) -> None:
    parts = network_plant(config)
    for kind in ("control", "power", "rack", "ocs", "port", "block", "bundle"):
        count = parts.population(kind)
        for index in {0, count - 1, draw.randrange(count)}:
            part = parts.part(kind, index, "dcn-0")
            assert parts.parse(part.name) == part


def test_racks_and_domains_hold_every_ocs_once() -> None:
    plant = network_of(NetworkConfig())
    for kind, count in (("rack", plant.racks), ("control", CONTROL_DOMAINS), ("power", CONTROL_DOMAINS)):
        held = [ocs for number in range(count) for ocs in ocses_of(plant, kind, number)]
        assert held == list(range(plant.ocs_count))
    for domain in range(CONTROL_DOMAINS):
        assert {int(plant.domains[ocs]) for ocs in ocses_of(plant, "control", domain)} == {domain}
    assert list(ocses_of(plant, "ocs", 7)) == [7]
