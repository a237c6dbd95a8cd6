"""Outages that hit several cubes at once: of a power domain or a cooling loop.

The cubes of a domain have consecutive numbers. The building's staff restores the domain, so the faults of its
cubes end by themselves, and the pod's technicians cannot speed this up.
"""

from dataclasses import dataclass
from typing import Literal

from schemas.config.failures import FailureRates, FailuresConfig
from schemas.names import FaultKind
from services.failures.hazards import Hazard
from shared.basics.interarrival import reschedule_at_rate
from shared.basics.keyed_random import draw_exponential, draw_index, draw_lognormal
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us
from shared.models.plant.plant_format import Plant

OUTAGE_SIGMA = 0.5
"""Standard deviation of the logarithm of an outage; the same as for repairs."""


@dataclass(frozen=True, slots=True)
class OutageDomain:
    """A kind of domain.

    `fault_kind` is the fault of each of its cubes. `rate` and `outage` name the parameters of `failures` for
    the outages a day of all such domains, and for their duration.
    """

    fault_kind: FaultKind
    rate: Literal["power_per_day", "cooling_per_day"]
    outage: Literal["power_outage_h", "cooling_outage_h"]


OUTAGE_DOMAINS: dict[str, OutageDomain] = {
    "power domain": OutageDomain("cube-power", "power_per_day", "power_outage_h"),
    "cooling loop": OutageDomain("cooling", "cooling_per_day", "cooling_outage_h"),
}
"""In the order in which they fail at the same time."""


def domains_of(config: FailuresConfig, plant: Plant) -> int:
    """The number of domains of a pod; the last may have fewer cubes."""
    return -(-plant.population("cube") // config.domain_cubes)


def first_outage(
    seed: int, fabric: str, domain: str, config: FailureRates, plant: Plant, at_us: int, drawn: int = 0
) -> Hazard:
    """The first outage of any domain of a kind after a time with unknown history."""
    return next_outage(seed, fabric, domain, config, plant, Hazard(drawn - 1, at_us))


def next_outage(
    seed: int, fabric: str, domain: str, config: FailureRates, plant: Plant, last: Hazard
) -> Hazard:
    """The next outage of any domain of a kind."""
    drawn = last.drawn + 1
    rate = outages_per_day(domain, config, plant)
    if last.next_us is None or rate == 0.0:
        return Hazard(drawn, None)
    gap_days = draw_exponential(seed, fabric, f"{domain} outage time", drawn, 1 / rate)
    return Hazard(drawn, last.next_us + to_whole_us(gap_days, US_PER_DAY))


def outages_per_day(domain: str, config: FailureRates, plant: Plant) -> float:
    """Expected outages a day over all domains of a kind."""
    if not isinstance(config, FailuresConfig) or not config.enabled:
        return 0.0
    return domains_of(config, plant) * float(getattr(config, OUTAGE_DOMAINS[domain].rate))


def changed_outage(
    seed: int,
    fabric: str,
    domain: str,
    rates: tuple[FailureRates, FailureRates],
    plant: Plant,
    pending: Hazard,
    now_us: int,
    change: int,
) -> Hazard:
    """The pending outage of a kind of domain after a change of its rate, like `changed_hazard`."""
    before, after = (outages_per_day(domain, config, plant) for config in rates)
    purpose = f"{domain} outage time after change"
    next_us = reschedule_at_rate(
        pending.next_us,
        now_us,
        (before, after),
        lambda rate: to_whole_us(draw_exponential(seed, fabric, purpose, change, 1 / rate), US_PER_DAY),
    )
    return Hazard(pending.drawn, next_us)


def draw_cubes(
    seed: int, fabric: str, domain: str, config: FailuresConfig, plant: Plant, drawn: int
) -> range:
    """The cubes that outage number `drawn` hits."""
    size, cubes = config.domain_cubes, plant.population("cube")
    first = size * draw_index(seed, fabric, f"{domain} outage of", drawn, domains_of(config, plant))
    return range(first, min(first + size, cubes))


def draw_outage_us(seed: int, fabric: str, domain: str, config: FailuresConfig, drawn: int) -> int:
    """Duration of outage number `drawn`."""
    mean_h = float(getattr(config, OUTAGE_DOMAINS[domain].outage))
    return to_whole_us(
        draw_lognormal(seed, fabric, f"{domain} outage", drawn, mean_h, OUTAGE_SIGMA), US_PER_HOUR
    )
