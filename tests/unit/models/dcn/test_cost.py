"""Bills are computed by hand, results follow prices monotonically, and a fit reproduces its data."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from shared.basics.errors import InvalidInput
from shared.models.dcn.cost import (
    PAPER,
    PRICES,
    answers,
    cost_of,
    dcn_bills,
    fitted,
    pod_bills,
    prices_of,
    sensitivities,
    spread,
    standard_prices,
    watts_of,
)
from shared.models.network.blocks import Block, layout_of
from tests.support.dcn_plants import plant

FULL = plant(64, (400,), (512,))
SMALL = layout_of([Block("ab-0", 100, 256), Block("ab-1", 400, 512)], racks=4)


def test_a_small_network_by_hand() -> None:
    prices = dict.fromkeys(PRICES, 1.0)
    gbps = 256 * 100 + 512 * 400
    free, clos = (dcn_bills(SMALL, prices)[name] for name in ("spine-free", "clos"))
    # Block ports and modules to racks, one module; circulators and strands; 16 OCSes.
    assert cost_of(free) == 3 * gbps + 2 * 768 + 16
    assert watts_of(free) == 3 * gbps + 16 * 108
    # The same of blocks, two modules, one spine port; two strands with their places each.
    assert cost_of(clos) == 5 * gbps + 4 * 768
    assert watts_of(clos) == 5 * gbps


def test_a_pod_by_hand() -> None:
    prices = dict.fromkeys(PRICES, 1.0)
    bills = pod_bills(prices)
    gbps = 6_144 * 400
    assert cost_of(bills["lightwave"]) == 4_096 + gbps + 2 * 12_288 + 48
    assert cost_of(bills["static"]) == 4_096 + gbps + 12_288
    assert cost_of(bills["packets"]) == 4_096 + 2 * gbps + 12_288
    assert watts_of(bills["lightwave"]) == 4_096 + gbps + 48 * 108


def test_prices_that_are_the_same_for_both_make_no_saving_of_their_own() -> None:
    """Nothing but a spine's ports, its modules and panels, against circulators and OCSes, is saved."""
    prices = dict.fromkeys(PRICES, 0.0) | {"block_ports_per_uplink": 4.0, "switch_cost_per_gbps": 1.0}
    assert answers(FULL, prices | {"switch_w_per_gbps": 1.0, "chip_system_cost": 1.0, "chip_system_w": 1.0})[
        "dcn_cost_saving"
    ] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", list(PRICES))
def test_every_answer_moves_one_way_with_every_price(name: str) -> None:
    """The assumption behind bisection, and behind taking the ends of a range as its extremes."""
    price = PRICES[name]
    steps = [price.low + n * (price.high - price.low) / 8 for n in range(9)]
    rows = [answers(FULL, standard_prices() | {name: value}) for value in steps]
    for answer in PAPER:
        differences = [b[answer] - a[answer] for a, b in pairwise(rows)]
        assert min(differences) >= -1e-12 or max(differences) <= 1e-12


def test_a_fit_gives_the_papers_figure() -> None:
    found = sensitivities(FULL, standard_prices())
    fits = [one for one in found if one.fit is not None]
    assert len(fits) > 10
    for one in fits:
        assert one.fit is not None
        made = answers(FULL, standard_prices() | {one.price: one.fit})[one.answer]
        assert made == pytest.approx(PAPER[one.answer][0], abs=1e-9)
    assert {one.answer for one in found} == set(PAPER)
    # A price that an answer does not depend on is not among them.
    assert not any(one.price == "chip_system_cost" and one.answer.startswith("dcn") for one in found)


def test_without_a_fit_there_is_no_number() -> None:
    assert fitted(FULL, standard_prices(), "strand_cost", "dcn_cost_saving") is None


def test_draws_stay_in_the_ranges_and_repeat_themselves() -> None:
    found = spread(FULL, 1, 200)
    assert found == spread(FULL, 1, 200) != spread(FULL, 2, 200)
    for answer, (low, middle, high) in found.items():
        assert low <= middle <= high, answer
    # With one draw all three are that draw.
    assert all(low == middle == high for low, middle, high in spread(FULL, 1, 1).values())


def test_ranges_hold_the_values_and_papers_are_named() -> None:
    for name, price in PRICES.items():
        assert 0.0 <= price.low <= price.value <= price.high, name
        assert len(price.reason.split()) >= 4, name
    assert all(source.startswith("[LF]") for _, source in PAPER.values())


def test_a_price_that_there_is_not_is_named() -> None:
    with pytest.raises(InvalidInput, match="price: ocs_cots does not exist; the nearest is ocs_cost"):
        prices_of({"ocs_cots": 1.0})
    with pytest.raises(
        InvalidInput, match=re.escape("price ocs_cost -1: must be a finite number of at least 0")
    ):
        prices_of({"ocs_cost": -1})
    assert prices_of({"ocs_cost": 5.0})["ocs_cost"] == 5.0


def test_every_price_is_in_the_documentation() -> None:
    text = Path("docs/reference/dcn.md").read_text(encoding="utf-8")
    for name, price in PRICES.items():
        span = f"{price.low:,g} … {price.high:,g}"
        assert f"| {name} | {price.value:,g} | {span} | {price.unit} | {price.reason} |" in text, name
