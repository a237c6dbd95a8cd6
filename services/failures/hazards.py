"""When and where things break by themselves: a Poisson process per class of parts (NSDI 2024, FACTS 12).

`shared.models.superpod.faults` has the classes and their rates: hosts, OCSes, and ICI cables. Assumption: the
rate of cables is taken per link end (96 a cube), since module, cable and connector of one end are what a
technician replaces. All else breaks by injection only.
"""

from schemas.names import FaultKind
from services.failures.state import FailuresState, Hazard
from shared.basics.keyed_random import draw_exponential, draw_index
from shared.basics.units import US_PER_DAY, us
from shared.models.superpod.faults import FAULTS, rate_per_day
from shared.models.superpod.plant import superpod_plant

CLASSES: tuple[FaultKind, ...] = tuple(kind for kind, row in FAULTS.items() if row.rate is not None)
"""The classes with a hazard, in the order in which faults of the same microsecond begin."""


def population(kind: FaultKind, cubes: int) -> int:
    """How many parts of a class a pod of `cubes` cubes has."""
    return superpod_plant(cubes).population(FAULTS[kind].strikes)


def next_hazard(state: FailuresState, kind: FaultKind, drawn: int, since_us: int) -> Hazard:
    """The fault after `drawn` earlier ones of the class, the last of them at `since_us`.

    Gaps are exponential with mean 1 ÷ (parts × rate) days.
    """
    config = state.config
    parts = population(kind, state.cubes)
    rate = parts * rate_per_day(kind, config) if parts else 0
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
    return superpod_plant(state.cubes).part(FAULTS[kind].strikes, index, state.fabric).name
