"""When and where things break by themselves: a Poisson process per class of parts (NSDI 2024, FACTS 12).

Three classes: hosts, OCSes, and ICI cables. Assumption: the rate of cables is taken per link end (96 a cube),
since module, cable and connector of one end are what a technician replaces. Chips, connectors and ports break
by injection only: the papers give no rates for them.
"""

from schemas.config import FailuresConfig
from schemas.names import FaultKind
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


def draw_gap_us(
    seed: int, fabric: str, kind: FaultKind, drawn: int, config: FailuresConfig, cubes: int
) -> int | None:
    """Time from fault number `drawn` − 1 of the class to the one after it; None if it never breaks by itself.

    Gaps are exponential with mean 1 ÷ (parts × rate) days.
    """
    rate = population(kind, cubes) * rate_per_day(kind, config)
    if not config.enabled or rate == 0:
        return None
    return us(draw_exponential(seed, fabric, f"{kind} fault time", drawn, 1 / rate), US_PER_DAY)


def draw_target(seed: int, fabric: str, kind: FaultKind, drawn: int, cubes: int) -> str:
    """The part that the class's fault number `drawn` strikes: uniform over all, broken ones included."""
    index = draw_index(seed, fabric, f"{kind} fault target", drawn, population(kind, cubes))
    if kind == "host":
        return f"{fabric}/cube-{index // HOSTS_PER_CUBE}/host-{index % HOSTS_PER_CUBE}"
    if kind == "link":
        return link_end(index).name(fabric)
    return f"{fabric}/ocs-{index}"
