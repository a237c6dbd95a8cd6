"""When and where things break by themselves: a Poisson process per class of parts (NSDI 2024, FACTS 12).

Three classes: hosts, OCSes, and ICI cables. Assumption: the rate of cables is taken per link end (96 a cube),
since module, cable and connector of one end are what a technician replaces. Chips, connectors and ports break
by injection only: the papers give no rates for them.
"""

from schemas.config import FailuresConfig
from schemas.names import FaultKind
from services.failures.state import FailuresState, Hazard
from shared.basics.keyed_random import draw_exponential, draw_index
from shared.basics.units import US_PER_DAY, us
from shared.models.superpod.wiring import ENDS_PER_CUBE, HOSTS_PER_CUBE, OCS_COUNT, link_end

CLASSES: tuple[FaultKind, ...] = ("host", "link", "ocs")
"""The classes with a hazard, in the order in which faults of the same microsecond begin."""


def population(kind: FaultKind, cubes: int) -> int:
    """How many parts of a class a pod of `cubes` cubes has."""
    return {"host": cubes * HOSTS_PER_CUBE, "link": cubes * ENDS_PER_CUBE, "ocs": OCS_COUNT}[kind]


def rate_per_day(kind: FaultKind, config: FailuresConfig) -> float:
    """Faults per part and day."""
    return {"host": config.host_per_day, "link": config.link_per_day, "ocs": config.ocs_per_day}[kind]


def next_hazard(state: FailuresState, kind: FaultKind, drawn: int, since_us: int) -> Hazard:
    """The fault after `drawn` earlier ones of the class, the last of them at `since_us`.

    Gaps are exponential with mean 1 ÷ (parts × rate) days.
    """
    config = state.config
    rate = population(kind, state.cubes) * rate_per_day(kind, config)
    if not config.enabled or rate == 0:
        return Hazard(drawn, None)
    gap_days = draw_exponential(state.seed, state.fabric, f"{kind} fault time", drawn, 1 / rate)
    next_us = since_us + us(gap_days, US_PER_DAY)
    if config.until_days is not None and next_us > config.until_days * US_PER_DAY:
        return Hazard(drawn, None)
    return Hazard(drawn, next_us)


def struck_target(state: FailuresState, kind: FaultKind, drawn: int) -> str:
    """The part that the class's fault number `drawn` strikes: uniform over all, broken ones included."""
    size = population(kind, state.cubes)
    index = draw_index(state.seed, state.fabric, f"{kind} fault target", drawn, size)
    if kind == "host":
        return f"{state.fabric}/cube-{index // HOSTS_PER_CUBE}/host-{index % HOSTS_PER_CUBE}"
    if kind == "link":
        return link_end(index).name(state.fabric)
    return f"{state.fabric}/ocs-{index}"
