"""What parts of networks cost and draw: no paper gives it, so each is a named assumption with a range.

No value was solved for from a figure of a paper. But whoever chose them knew those figures, with rough sums
on the way, and `chip_system_cost` was taken higher than at first, for else a pod's fabric would be far above
the share that [LF] states: so what hangs on it is no prediction. Dollars are those of the early 2020s; only
ratios are told. What differs by rate is per Gb/s of a port.
"""

from dataclasses import dataclass

OCS_W = 108.0
"""A whole chassis at most ([LF] 4.1.1)."""


@dataclass(frozen=True, slots=True)
class Price:
    """An assumed number, and between what others could put it with as good reasons."""

    value: float
    low: float
    high: float
    unit: str
    reason: str


PRICES: dict[str, Price] = {
    "switch_cost_per_gbps": Price(
        0.5, 0.25, 1.0, "$", "a port's share of a packet switch of 12.8 to 25.6 Tb/s, its board and chassis"
    ),
    "switch_w_per_gbps": Price(0.025, 0.015, 0.04, "W", "10 W a port of 400 Gb/s, fans and conversion in it"),
    "module_cost_per_gbps": Price(1.0, 0.5, 1.5, "$", "a single-mode module of 400 Gb/s for a few hundred"),
    "module_w_per_gbps": Price(0.025, 0.018, 0.035, "W", "10 W of 400 Gb/s, as its form factors allow"),
    "short_module_cost_per_gbps": Price(0.5, 0.25, 0.9, "$", "a module for some tens of metres, half of it"),
    "short_module_w_per_gbps": Price(0.018, 0.012, 0.025, "W", "no cooled lasers: 7 W of 400 Gb/s"),
    "circulator_cost": Price(25.0, 10.0, 60.0, "$", "one integrated circulator, for one strand"),
    "ocs_cost": Price(30_000.0, 15_000.0, 80_000.0, "$", "of 136 × 136 ports, some hundred dollars a port"),
    "strand_cost": Price(20.0, 8.0, 50.0, "$", "a run of fibre in a trunk cable, with both connectors"),
    "panel_port_cost": Price(8.0, 3.0, 20.0, "$", "a strand's place at a patch panel, with its jumper"),
    "block_ports_per_uplink": Price(4.0, 3.0, 6.0, "ports", "two stages, each with ports up and down"),
    "spine_ports_per_uplink": Price(3.0, 1.0, 3.0, "ports", "two stages of a spine block; of one it is 1"),
    "tor_modules_per_uplink": Price(
        0.0, 0.0, 2.0, "modules", "short ones between block and machines' racks: the same in all, so left out"
    ),
    "chip_system_cost": Price(10_000.0, 6_000.0, 20_000.0, "$", "a chip's share of all but optical links"),
    "chip_system_w": Price(300.0, 200.0, 400.0, "W", "170 W of the chip, and its share of host and fans"),
    "packet_ports_per_end": Price(3.0, 2.0, 5.0, "ports", "two stages that never block"),
    "packet_modules_per_end": Price(
        4.0, 2.0, 4.0, "modules", "the end's, its switch's, and two between stages"
    ),
}
"""By name: what it is of first, dollars or watts in it."""


def standard() -> dict[str, float]:
    """Every price at its value."""
    return {name: price.value for name, price in PRICES.items()}
