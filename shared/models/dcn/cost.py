"""Cost and power of a spine-free network against a Clos network, and of a superpod's fabric against a static
and a packet-switched one.

Bills count parts. Each part's price is an assumption with a range (PRICES). Every answer therefore comes with
three results: its change as one price moves over its range, its spread when all prices vary together, and the
value of a single price that would give the paper's figure. The last is a fit and labelled as one.

Clos: the same blocks. Every uplink has a module at the block and one at the spine, and two strands instead of
one, because its modules are not bidirectional. It also has patch-panel ports, and spine ports at its own
rate. Pods: [LF] Table 1 compares whole pods of 4,096 chips, so the complete chip systems count.

No price was solved for from a figure of a paper. But they were chosen with knowledge of those figures, and
`chip_system_cost` was raised because otherwise a pod's fabric would be far above the share that [LF] states.
Results that depend on it are therefore not predictions. Dollars are those of the early 2020s; only ratios are
reported. Prices that depend on the rate are per Gb/s of a port.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shared.basics.checks import check_count, check_not_negative, closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform_array
from shared.models.network.blocks import NetworkLayout
from shared.models.superpod.wiring import CHIPS_PER_CUBE, ENDS_PER_CUBE, OCS_COUNT, STRANDS

OCS_W = 108.0
"""A whole chassis, at most ([LF] 4.1.1)."""


@dataclass(frozen=True, slots=True)
class PartPrice:
    """An assumed value and the range of equally plausible ones."""

    value: float
    low: float
    high: float
    unit: str
    reason: str


PRICES: dict[str, PartPrice] = {
    "switch_cost_per_gbps": PartPrice(
        0.5, 0.25, 1.0, "$", "a port's share of a packet switch of 12.8 to 25.6 Tb/s, its board and chassis"
    ),
    "switch_w_per_gbps": PartPrice(
        0.025, 0.015, 0.04, "W", "10 W a port of 400 Gb/s, fans and conversion in it"
    ),
    "module_cost_per_gbps": PartPrice(
        1.0, 0.5, 1.5, "$", "a single-mode module of 400 Gb/s for a few hundred"
    ),
    "module_w_per_gbps": PartPrice(0.025, 0.018, 0.035, "W", "10 W of 400 Gb/s, as its form factors allow"),
    "short_module_cost_per_gbps": PartPrice(
        0.5, 0.25, 0.9, "$", "a module for some tens of metres, half of it"
    ),
    "short_module_w_per_gbps": PartPrice(0.018, 0.012, 0.025, "W", "no cooled lasers: 7 W of 400 Gb/s"),
    "circulator_cost": PartPrice(25.0, 10.0, 60.0, "$", "one integrated circulator, for one strand"),
    "ocs_cost": PartPrice(
        30_000.0, 15_000.0, 80_000.0, "$", "of 136 × 136 ports, some hundred dollars a port"
    ),
    "strand_cost": PartPrice(20.0, 8.0, 50.0, "$", "a run of fibre in a trunk cable, with both connectors"),
    "panel_port_cost": PartPrice(8.0, 3.0, 20.0, "$", "a strand's place at a patch panel, with its jumper"),
    "block_ports_per_uplink": PartPrice(4.0, 3.0, 6.0, "ports", "two stages, each with ports up and down"),
    "spine_ports_per_uplink": PartPrice(
        3.0, 1.0, 3.0, "ports", "two stages of a spine block; of one it is 1"
    ),
    "tor_modules_per_uplink": PartPrice(
        0.0, 0.0, 2.0, "modules", "short ones between block and machines' racks: the same in all, so left out"
    ),
    "chip_system_cost": PartPrice(
        10_000.0, 6_000.0, 20_000.0, "$", "a chip's share of all but optical links"
    ),
    "chip_system_w": PartPrice(300.0, 200.0, 400.0, "W", "170 W of the chip, and its share of host and fans"),
    "packet_ports_per_end": PartPrice(3.0, 2.0, 5.0, "ports", "two stages that never block"),
    "packet_modules_per_end": PartPrice(
        4.0, 2.0, 4.0, "modules", "the end's, its switch's, and two between stages"
    ),
}
"""By name: first the part, with cost or w in it for dollars or watts."""


def standard_prices() -> dict[str, float]:
    return {name: price.value for name, price in PRICES.items()}


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
"""Answer → (value in a paper, source). Savings are shares of the Clos network's value. The pod's figures are
relative to a pod with a static fabric."""
DRAWS_MAX = 100_000
FIT_FACTOR = 100.0
"""A fitted price is searched between a hundredth and a hundred times its value."""
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class BillItem:
    """A number of one part, with the cost and power of all of them."""

    part: str
    number: float
    cost: float
    watts: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """An answer with one price at either end of its range.

    `fit` is the value of that price which alone would give the paper's figure, None if there is none.
    """

    price: str
    answer: str
    low: float
    high: float
    fit: float | None


def prices_of(changed: Mapping[str, float]) -> dict[str, float]:
    """The standard prices with some changed; InvalidInput names an unknown price or a wrong value."""
    for name, value in changed.items():
        if name not in PRICES:
            raise InvalidInput(f"price: {name} does not exist{closest_match_hint(name, PRICES)}")
        check_not_negative(f"price {name}", value)
    return standard_prices() | dict(changed)


def dcn_bills(plant: NetworkLayout, prices: Prices) -> dict[str, list[BillItem]]:
    """The bills of a network: `spine-free` on its installed OCSes, and `clos` with the same blocks."""
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
            BillItem("circulators", uplinks, prices["circulator_cost"], 0.0),
            BillItem("strands", uplinks, prices["strand_cost"], 0.0),
            BillItem("OCSes", plant.ocs_count, prices["ocs_cost"], OCS_W),
        ],
        "clos": [
            *blocks,
            _modules("modules of blocks and spine, Gb/s", 2.0 * gbps, prices),
            BillItem("strands", 2 * uplinks, prices["strand_cost"], 0.0),
            BillItem("places at panels", 2 * uplinks, prices["panel_port_cost"], 0.0),
            _switching("switch ports of the spine, Gb/s", prices["spine_ports_per_uplink"] * gbps, prices),
        ],
    }


def pod_bills(prices: Prices) -> dict[str, list[BillItem]]:
    """The bills of a pod of 4,096 chips by its fabric: `lightwave`, `static`, `packets`."""
    ends = POD_CUBES * ENDS_PER_CUBE
    gbps = float(ends * POD_END_GBPS)
    chips = BillItem(
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
            BillItem("circulators", STRANDS * ends, prices["circulator_cost"], 0.0),
            BillItem("strands", STRANDS * ends, strands, 0.0),
            BillItem("OCSes", OCS_COUNT, prices["ocs_cost"], OCS_W),
        ],
        "static": [
            chips,
            _short("short modules, Gb/s", gbps, prices),
            # Not bidirectional: one strand each way for each of the two links of a module, end to end.
            BillItem("strands", STRANDS * ends, strands, 0.0),
        ],
        "packets": [
            chips,
            _modules("modules, Gb/s", prices["packet_modules_per_end"] * gbps, prices),
            BillItem("strands", STRANDS * ends * prices["packet_modules_per_end"], strands, 0.0),
            _switching("switch ports, Gb/s", prices["packet_ports_per_end"] * gbps, prices),
        ],
    }


def _switching(part: str, gbps: float, prices: Prices) -> BillItem:
    return BillItem(part, gbps, prices["switch_cost_per_gbps"], prices["switch_w_per_gbps"])


def _modules(part: str, gbps: float, prices: Prices) -> BillItem:
    return BillItem(part, gbps, prices["module_cost_per_gbps"], prices["module_w_per_gbps"])


def _short(part: str, gbps: float, prices: Prices) -> BillItem:
    return BillItem(part, gbps, prices["short_module_cost_per_gbps"], prices["short_module_w_per_gbps"])


def cost_of(bill: list[BillItem]) -> float:
    """Total cost in $."""
    return sum(item.number * item.cost for item in bill)


def watts_of(bill: list[BillItem]) -> float:
    """Total power in W."""
    return sum(item.number * item.watts for item in bill)


def answers(plant: NetworkLayout, prices: Prices) -> dict[str, float]:
    """The answers of PAPER under these prices."""
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


def sensitivities(plant: NetworkLayout, prices: Prices) -> list[Sensitivity]:
    """How every answer moves with every price that it depends on, the largest change first."""
    found = []
    for name, price in PRICES.items():
        low, high = (answers(plant, {**prices, name: value}) for value in (price.low, price.high))
        found += [
            Sensitivity(name, answer, low[answer], high[answer], fitted(plant, prices, name, answer))
            for answer in PAPER
            if low[answer] != high[answer]
        ]
    return sorted(found, key=lambda one: (list(PAPER).index(one.answer), -abs(one.high - one.low)))


def fitted(plant: NetworkLayout, prices: Prices, name: str, answer: str) -> float | None:
    """The value of one price that alone gives the paper's figure for an answer, by bisection.

    None if no value between a hundredth and a hundred times the price does. Answers are monotonic in each
    price.
    """
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
    """Sets of all prices, each price drawn independently from its range: log-uniformly, or uniformly if it
    may be 0."""
    check_count("draws", draws, 1, DRAWS_MAX)
    places = np.arange(draws, dtype=np.uint64)
    drawn = {}
    for name, price in PRICES.items():
        part = draw_uniform_array(seed, name, "dcn-price", places)
        if price.low > 0.0:
            drawn[name] = price.low * np.exp(part * math.log(price.high / price.low))
        else:
            drawn[name] = price.low + part * (price.high - price.low)
    return [{name: float(values[n]) for name, values in drawn.items()} for n in range(draws)]


def spread(plant: NetworkLayout, seed: int, draws: int) -> dict[str, tuple[float, float, float]]:
    """Answer → its percentiles (`percentiles`) over the given number of draws of all prices."""
    rows = [answers(plant, prices) for prices in drawn_prices(seed, draws)]
    return {answer: percentiles([row[answer] for row in rows]) for answer in PAPER}


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """(5th, 50th, 95th), each one of the values."""
    found = sorted(values)
    low, middle, high = (found[int(part * (len(found) - 1))] for part in (0.05, 0.5, 0.95))
    return low, middle, high
