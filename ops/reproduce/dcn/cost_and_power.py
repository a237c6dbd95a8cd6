"""Claims about the cost and power of networks: spine-free against Clos, and [LF] Table 1.

Unit prices are assumptions with a range (`shared.models.dcn.cost`). The median over draws of all prices is
compared with the paper's figure, and notes name the price on which each answer depends.
"""

from functools import lru_cache

from ops.reproduce.claim import (
    ON_MACHINES,
    Evidence,
    Measured,
    PaperClaim,
    Stated,
    calibrated,
    derived,
    predicted,
)
from shared.models.dcn.cost import (
    Prices,
    answers,
    drawn_prices,
    percentiles,
    pod_bills,
    sensitivities,
    standard_prices,
    watts_of,
)
from shared.models.network.blocks import Block, NetworkLayout, layout_of
from shared.models.superpod.wiring import OCS_COUNT

HALF_A_PERCENT = 0.5
POD_CHIPS, POD_MODULES = 4_096, 6_144
CHIP_POWER_W = 170
"""Mean in production, chip and memory only, in watts ([T4] Table 4)."""
OCS_POWER_W = 108
"""Maximum of a whole chassis, in watts ([LF] 4.1.1)."""
FABRIC_SHARE = 0.03
"""Share of the power of a pod ([T4] 2.10)."""
DRAWS, SEED = 400, 0
"""Draws of all prices at once, and their seed."""
ASSUMED = predicted(
    "nothing fitted; assumed: every price, with a range and a reason (docs/reference/dcn.md), chosen "
    "with knowledge of the paper's figure"
)
CHIP_COST = calibrated(
    "chip_system_cost was raised, with knowledge of the paper, to bring a pod's fabric near the stated "
    "share; all other prices are assumed"
)


@lru_cache(maxsize=1)
def plant() -> NetworkLayout:
    """The largest network: 64 blocks of 400 Gb/s with 512 uplinks on 128 OCSes."""
    return layout_of(Block(f"ab-{n}", 400, 512) for n in range(64))


@lru_cache(maxsize=1)
def _draws() -> list[dict[str, float]]:
    """Return draws of all prices from their ranges."""
    return drawn_prices(SEED, DRAWS)


@lru_cache(maxsize=1)
def _answers() -> tuple[dict[str, float], ...]:
    """Return the answers for every draw."""
    return tuple(answers(plant(), prices) for prices in _draws())


def _percent(answer: str, base: float = 0.0) -> Measured:
    """Return the median of an answer over all draws in percent, less `base`. The note names the price on
    which it depends most."""
    most = next(one for one in sensitivities(plant(), standard_prices()) if one.answer == answer)
    ends = sorted(100.0 * (value - base) for value in (most.low, most.high))
    fit = (
        f"; {most.price} of {most.fit:.3g} alone would give the paper's figure"
        if most.fit is not None
        else ""
    )
    return _over_draws(
        [100.0 * (row[answer] - base) for row in _answers()],
        100.0 * (answers(plant(), standard_prices())[answer] - base),
        f", which depends most on {most.price}, {ends[0]:.3g} to {ends[1]:.3g} over its range{fit}",
    )


def _over_draws(values: list[float], standing: float, hangs: str = "") -> Measured:
    """Return the median over draws instead of the result of the standard prices, because standard prices at
    the ends of their ranges give an extreme result."""
    low, middle, high = percentiles(values)
    return Measured(
        middle,
        note=f"median of {len(values)} draws of all prices from their ranges; 90 % of them give "
        f"{low:.3g} to {high:.3g}; the standard prices give {standing:.3g}{hangs}",
    )


def _fabric_power() -> Measured:
    """Return the fabric's share of a pod's power in percent: the median over all draws."""
    return _over_draws([_fabric_part(prices) for prices in _draws()], _fabric_part(standard_prices()))


def _fabric_part(prices: Prices) -> float:
    bill = pod_bills(prices)["lightwave"]
    return 100.0 * watts_of(bill[1:]) / watts_of(bill)


def _study(percent: float) -> Stated:
    """Return a figure of another study, with a tolerance of a tenth, or half of the last printed digit."""
    return Stated(percent, "%", max(ON_MACHINES * percent, HALF_A_PERCENT))


def _bill(
    name: str, claim: str, source: str, percent: float, evidence: Evidence, answer: str, base: float
) -> PaperClaim:
    return PaperClaim(
        name, claim, source, _study(percent), evidence, "closed form", lambda: _percent(answer, base)
    )


TABLE = "[LF] 4.2, Table 1"


def _added_power() -> Measured:
    """Return the percentage that the OCSes at their maximum add to the chips alone at their mean: an upper
    bound of what they add to a pod. The note states what [T4] 2.10 then leaves for each module."""
    switches_w, chips_w = OCS_COUNT * OCS_POWER_W, POD_CHIPS * CHIP_POWER_W
    module_w = (chips_w * FABRIC_SHARE / (1.0 - FABRIC_SHARE) - switches_w) / POD_MODULES
    return Measured(
        100.0 * switches_w / chips_w,
        note="an upper bound: 48 OCSes at their maximum, 108 W, and 4,096 chips alone at a mean of 170 W. "
        "Hosts, whose power neither paper states, lower it, and the static fabric has modules as well. "
        f"Of the 3 % that [T4] 2.10 allows with modules and fibre, {module_w:.1f} W are left for each of "
        "6,144 modules, more with the hosts",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    _bill(
        "cost/spine-free",
        "A network without a spine saves 30 % of the capital cost of a Clos network",
        "[LF] 2.1, 4.2",
        30,
        ASSUMED,
        "dcn_cost_saving",
        0.0,
    ),
    _bill(
        "power/spine-free",
        "A network without a spine saves 41 % of the power of a Clos network",
        "[LF] 2.1",
        41,
        ASSUMED,
        "dcn_power_saving",
        0.0,
    ),
    _bill(
        "cost/lightwave",
        "A pod with OCSes costs 6 % more than one with static links",
        TABLE,
        6,
        CHIP_COST,
        "pod_cost_lightwave",
        1.0,
    ),
    _bill(
        "power/lightwave",
        "A pod with OCSes draws 1 % more than one with static links",
        TABLE,
        1,
        ASSUMED,
        "pod_power_lightwave",
        1.0,
    ),
    _bill(
        "cost/packets",
        "A pod behind packet switches costs 24 % more than one with static links",
        TABLE,
        24,
        CHIP_COST,
        "pod_cost_packets",
        1.0,
    ),
    _bill(
        "power/packets",
        "A pod behind packet switches draws 10 % more than one with static links",
        TABLE,
        10,
        ASSUMED,
        "pod_power_packets",
        1.0,
    ),
    PaperClaim(
        "cost/fabric-share",
        "The lightwave fabric is less than 6 % of a pod's cost",
        "[LF] abstract",
        Stated(6, "%", "below"),
        CHIP_COST,
        "closed form",
        lambda: _percent("pod_fabric_cost_share"),
        "[T4] abstract has less than 5 %",
    ),
    PaperClaim(
        "power/fabric-share",
        "OCSes and optical components are less than 3 % of a pod's power",
        "[T4] abstract, 2.10",
        Stated(3, "%", "below"),
        ASSUMED,
        "closed form",
        _fabric_power,
        "modules of all link ends count; no paper states their power",
    ),
)
POD_POWER_CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "power/added",
        "The OCSes alone add no more than the 1 % by which a lightwave fabric exceeds a static optical one",
        "[LF] Table 1, 4.1.1; [T4] Table 4 (derived)",
        Stated(1.5, "%", "below"),
        derived("it is our conclusion that the OCSes stay below the whole difference, 1 % rounded"),
        "closed form",
        _added_power,
    ),
)
