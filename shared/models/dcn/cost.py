"""What a network without a spine costs and draws beside a Clos network, and a superpod's fabric beside a
static one and one of packet switches; and what each answer hangs on.

Bills count parts; each part's price is an assumption (`shared.models.dcn.prices`). An answer therefore comes
with three things: how it moves as one price goes over its range, how it spreads when all do at a time, and
which single price would have to be what to give the figure of the paper. The last is a fit and called so.

Clos: the same blocks; every uplink has a module at the block and one at the spine, two strands in place of
one, for its modules are not bidirectional, places at patch panels, and its ports in the spine at its own
rate. Pods: [LF] Table 1 compares whole ones of 4,096 chips, so chips with all that is theirs count.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shared.basics.checks import count, nearest_word, not_negative
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform_array
from shared.models.dcn.prices import OCS_W, PRICES, standard
from shared.models.network.blocks import Plant
from shared.models.superpod.wiring import CHIPS_PER_CUBE, ENDS_PER_CUBE, OCS_COUNT, STRANDS

Prices = Mapping[str, float]
POD_CUBES = 64
POD_END_GBPS = 400
"""A link end of a pod: 50 GB/s one way ([T4] Table 4)."""
PAPER = {
    "dcn_cost_saving": (0.30, "[LF] 2.1, 4.2"),
    "dcn_power_saving": (0.41, "[LF] 2.1"),
    "pod_cost_lightwave": (1.06, "[LF] Table 1"),
    "pod_power_lightwave": (1.01, "[LF] Table 1"),
    "pod_cost_packets": (1.24, "[LF] Table 1"),
    "pod_power_packets": (1.10, "[LF] Table 1"),
    "pod_fabric_cost_share": (0.06, "[LF] abstract: less than this"),
}
"""Answer → (what a paper states, where). Savings are shares of the Clos network's, the pod's figures are over
those of a pod with a static fabric."""
DRAWS_MAX = 100_000
FIT_FACTOR = 100.0
"""A price is looked for between its value's hundredth and hundredfold."""
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Item:
    """So many of a part, what each costs and draws."""

    part: str
    number: float
    cost: float
    watts: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """An answer with one price at the ends of its range; `fit` is the value of that price which alone would
    give the paper's figure, None where none does."""

    price: str
    answer: str
    low: float
    high: float
    fit: float | None


def prices_of(changed: Mapping[str, float]) -> dict[str, float]:
    """The standard prices with some changed; InvalidInput names one that there is not, or the value."""
    for name, value in changed.items():
        if name not in PRICES:
            raise InvalidInput(f"price {name}: no such price{nearest_word(name, PRICES)}")
        not_negative(f"price {name}", value)
    return standard() | dict(changed)


def dcn_bills(plant: Plant, prices: Prices) -> dict[str, list[Item]]:
    """The bills of a network: `spine-free` on the OCSes that stand, and `clos` with the same blocks."""
    uplinks = int(plant.uplinks.sum())
    gbps = float(sum(block.gbps for block in plant.blocks))
    blocks = [
        _switching("switch ports of blocks, Gb/s", prices["block_ports_per_uplink"] * gbps, prices),
        _short("modules to racks of machines, Gb/s", prices["tor_modules_per_uplink"] * gbps, prices),
    ]
    return {
        "spine-free": [
            *blocks,
            _modules("modules of blocks, Gb/s", gbps, prices),
            Item("circulators", uplinks, prices["circulator_cost"], 0.0),
            Item("strands", uplinks, prices["strand_cost"], 0.0),
            Item("OCSes", plant.ocs_count, prices["ocs_cost"], OCS_W),
        ],
        "clos": [
            *blocks,
            _modules("modules of blocks and spine, Gb/s", 2.0 * gbps, prices),
            Item("strands", 2 * uplinks, prices["strand_cost"], 0.0),
            Item("places at panels", 2 * uplinks, prices["panel_port_cost"], 0.0),
            _switching("switch ports of the spine, Gb/s", prices["spine_ports_per_uplink"] * gbps, prices),
        ],
    }


def pod_bills(prices: Prices) -> dict[str, list[Item]]:
    """The bills of a pod of 4,096 chips by its fabric: `lightwave`, `static`, `packets`."""
    ends = POD_CUBES * ENDS_PER_CUBE
    gbps = float(ends * POD_END_GBPS)
    chips = Item(
        "chips with all that is theirs",
        POD_CUBES * CHIPS_PER_CUBE,
        prices["chip_system_cost"],
        prices["chip_system_w"],
    )
    strands = prices["strand_cost"]
    return {
        "lightwave": [
            chips,
            _modules("modules, Gb/s", gbps, prices),
            Item("circulators", STRANDS * ends, prices["circulator_cost"], 0.0),
            Item("strands", STRANDS * ends, strands, 0.0),
            Item("OCSes", OCS_COUNT, prices["ocs_cost"], OCS_W),
        ],
        "static": [
            chips,
            _short("short modules, Gb/s", gbps, prices),
            # Not bidirectional: a strand each way for each of the two links of a module, end to end.
            Item("strands", STRANDS * ends, strands, 0.0),
        ],
        "packets": [
            chips,
            _modules("modules, Gb/s", prices["packet_modules_per_end"] * gbps, prices),
            Item("strands", STRANDS * ends * prices["packet_modules_per_end"], strands, 0.0),
            _switching("switch ports, Gb/s", prices["packet_ports_per_end"] * gbps, prices),
        ],
    }


def _switching(part: str, gbps: float, prices: Prices) -> Item:
    return Item(part, gbps, prices["switch_cost_per_gbps"], prices["switch_w_per_gbps"])


def _modules(part: str, gbps: float, prices: Prices) -> Item:
    return Item(part, gbps, prices["module_cost_per_gbps"], prices["module_w_per_gbps"])


def _short(part: str, gbps: float, prices: Prices) -> Item:
    return Item(part, gbps, prices["short_module_cost_per_gbps"], prices["short_module_w_per_gbps"])


def cost_of(bill: list[Item]) -> float:
    """Of all parts, $."""
    return sum(item.number * item.cost for item in bill)


def watts_of(bill: list[Item]) -> float:
    """Of all parts, W."""
    return sum(item.number * item.watts for item in bill)


def answers(plant: Plant, prices: Prices) -> dict[str, float]:
    """What PAPER has, by these prices."""
    dcn, pod = dcn_bills(plant, prices), pod_bills(prices)
    static_cost, static_w = cost_of(pod["static"]), watts_of(pod["static"])
    lightwave = cost_of(pod["lightwave"])
    return {
        "dcn_cost_saving": 1.0 - cost_of(dcn["spine-free"]) / cost_of(dcn["clos"]),
        "dcn_power_saving": 1.0 - watts_of(dcn["spine-free"]) / watts_of(dcn["clos"]),
        "pod_cost_lightwave": lightwave / static_cost,
        "pod_power_lightwave": watts_of(pod["lightwave"]) / static_w,
        "pod_cost_packets": cost_of(pod["packets"]) / static_cost,
        "pod_power_packets": watts_of(pod["packets"]) / static_w,
        "pod_fabric_cost_share": cost_of(pod["lightwave"][1:]) / lightwave,
    }


def sensitivities(plant: Plant, prices: Prices) -> list[Sensitivity]:
    """How every answer moves with every price that it depends on, the most moving first."""
    found = []
    for name, price in PRICES.items():
        low, high = (answers(plant, {**prices, name: value}) for value in (price.low, price.high))
        found += [
            Sensitivity(name, answer, low[answer], high[answer], fitted(plant, prices, name, answer))
            for answer in PAPER
            if low[answer] != high[answer]
        ]
    return sorted(found, key=lambda one: (list(PAPER).index(one.answer), -abs(one.high - one.low)))


def fitted(plant: Plant, prices: Prices, name: str, answer: str) -> float | None:
    """The value of one price that alone gives an answer the paper's figure; None where none between its
    hundredth and hundredfold does. Answers rise or fall with a price all the way, so halving finds it."""
    start = prices[name] or PRICES[name].high
    low, high = start / FIT_FACTOR, start * FIT_FACTOR
    wanted = PAPER[answer][0]

    def above(value: float) -> float:
        return answers(plant, {**prices, name: value})[answer] - wanted

    if above(low) * above(high) > 0.0:
        return None
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if above(low) * above(middle) > 0.0 else (low, middle)
    return high


def drawn_prices(seed: int, draws: int) -> list[dict[str, float]]:
    """So many sets of all prices, each price drawn from its range by itself: evenly in its logarithm, or
    evenly where it may be nothing."""
    count("draws", draws, 1, DRAWS_MAX)
    places = np.arange(draws, dtype=np.uint64)
    drawn = {}
    for name, price in PRICES.items():
        part = draw_uniform_array(seed, name, "dcn-price", places)
        if price.low > 0.0:
            drawn[name] = price.low * np.exp(part * math.log(price.high / price.low))
        else:
            drawn[name] = price.low + part * (price.high - price.low)
    return [{name: float(values[n]) for name, values in drawn.items()} for n in range(draws)]


def spread(plant: Plant, seed: int, draws: int) -> dict[str, tuple[float, float, float]]:
    """Answer → its percentiles (`percentiles`) over so many draws of all prices."""
    rows = [answers(plant, prices) for prices in drawn_prices(seed, draws)]
    return {answer: percentiles([row[answer] for row in rows]) for answer in PAPER}


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """(5th, 50th, 95th), each one of the values."""
    found = sorted(values)
    low, middle, high = (found[int(part * (len(found) - 1))] for part in (0.05, 0.5, 0.95))
    return low, middle, high
