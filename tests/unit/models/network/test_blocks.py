"""The plant of a datacenter network: striping, rates, and the refusals of impossible networks."""

import re

import numpy as np
import pytest

from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from shared.basics.errors import InvalidInput
from shared.models.network.blocks import CONTROL_DOMAINS, Block, layout_of, network_of
from tests.support.dcn_plants import plant


def test_two_blocks_run_at_the_lower_rate() -> None:
    rates = plant(3, (40, 400, 800)).rates
    assert rates.tolist() == [[0, 40, 40], [40, 0, 400], [40, 400, 0]]


def test_every_block_is_striped_evenly_over_both_sides_of_every_ocs() -> None:
    found = plant(64, uplinks=(512, 256))
    assert (found.ports * 2 * found.ocs_count == found.uplinks).all()
    assert int(found.ports.sum()) == 32 * 2 + 32 * 1


def test_a_domain_is_a_quarter_of_the_switches_and_contains_whole_racks() -> None:
    found = plant(4)
    assert np.bincount(found.domains).tolist() == [32] * CONTROL_DOMAINS
    by_rack = found.domains.reshape(found.racks, found.switches)
    assert (by_rack == by_rack[:, :1]).all()


def test_blocks_of_two_customers_may_not_join() -> None:
    found = layout_of([Block("ab-0", 100, 512, customer="a"), Block("ab-1", 100, 512, customer="b")])
    assert not found.may_join.any()


BLOCKS = [Block("ab-0", 100, 512), Block("ab-1", 100, 512)]
REFUSED = [
    (
        [*BLOCKS, Block("ab-2", 300, 512)],
        {},
        "block ab-2: generation 300 is not allowed; must be",
    ),
    (
        [*BLOCKS, Block("ab-2", 100, 511)],
        {},
        "block ab-2: uplinks 511 is not allowed; must be 256",
    ),
    ([*BLOCKS, BLOCKS[0]], {}, "block ab-0: given 2 times; names must be unique"),
    (
        [Block("ab-0", 100, 512, pod="pod-0"), Block("ab-1", 100, 512, pod="pod-0")],
        {},
        "pod pod-0: attached 2 times, to ab-0, ab-1; must be attached to one block",
    ),
    (BLOCKS[:1], {}, "blocks 1: must be between 2"),
    (BLOCKS, {"racks": 7}, "racks: 7 of 32 is not allowed; must be 4, 8, 16, 32"),
    (BLOCKS, {"switches": 3}, "block ab-0: 512 uplinks over 96 OCSes give no even number of ports"),
    (
        BLOCKS,
        {"racks": 1, "racks_full": 8, "switches": 1},
        "racks: 1 is not allowed; 1 OCSes do not make 4 control domains",
    ),
    ([Block(f"ab-{n}", 100, 512) for n in range(65)], {}, "blocks: 65 take 130 ports of each side of an OCS"),
    (BLOCKS, {"technology": "mirrors"}, "technology: 'mirrors' is not a known OCS"),
]


@pytest.mark.parametrize(("blocks", "others", "sentence"), REFUSED, ids=lambda value: str(value)[:40])
def test_an_impossible_network_is_an_error_in_one_sentence(
    blocks: list[Block], others: dict[str, int], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)) as refused:
        layout_of(blocks, **others)  # type: ignore[arg-type]  # one of them is a word
    assert "\n" not in str(refused.value)


def test_an_unknown_block_names_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="block: ab-00 does not exist; the nearest is ab-0"):
        plant(2).number("ab-00")


def test_too_many_blocks_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    # a TypeError for every attempt to make one
    monkeypatch.setattr("shared.models.network.blocks.Block", None)
    rows = tuple([BlockGroupConfig(count=1_024)] * 1_024)
    with pytest.raises(InvalidInput, match="blocks 1048576: must be between 2 and 1,024"):
        network_of(NetworkConfig(blocks=rows))
