"""When and where things break by themselves: a Poisson process per class of parts (NSDI 2024, FACTS 12).

`shared.models.faults` has the classes and their rates: in pods hosts, the parts of OCSes, ICI cables, and
what goes wrong at link ends without taking the link. Assumption: the rate of cables is taken per link end (96
a cube), since module, cable and connector of one end are what a technician replaces. All else breaks by
injection only."""

from schemas.config import FailuresConfig
from schemas.config_dcn import NetworkFailuresConfig
from schemas.names import FaultKind
from shared.basics.keyed_random import draw_exponential, draw_index, draw_uniform
from shared.basics.units import US_PER_DAY, US_PER_HOUR, us
from shared.models.faults import FAULTS, rate_per_day
from shared.models.plant import Plant

CLASSES: tuple[FaultKind, ...] = tuple(kind for kind, row in FAULTS.items() if row.rate is not None)
"""The classes with a hazard, in the order in which faults of the same microsecond begin."""


def population(kind: FaultKind, plant: Plant) -> int:
    """How many parts of a class there are; none of a class that the plant does not have."""
    return plant.population(FAULTS[kind].strikes)


def draw_gap_us(
    seed: int,
    fabric: str,
    kind: FaultKind,
    drawn: int,
    config: FailuresConfig | NetworkFailuresConfig,
    plant: Plant,
) -> int | None:
    """Time from fault number `drawn` − 1 of the class to the one after it; None if it never breaks by itself.

    Gaps are exponential with mean 1 ÷ (parts × rate) days.
    """
    parts = population(kind, plant)
    rate = parts * rate_per_day(kind, config, plant) if parts else 0
    if not config.enabled or rate == 0:
        return None
    return us(draw_exponential(seed, fabric, f"{kind} fault time", drawn, 1 / rate), US_PER_DAY)


def draw_severity(seed: int, fabric: str, kind: FaultKind, number: int) -> float | None:
    """How bad fault `number` of the fabric is, in the unit of its kind; None for kinds that have none."""
    severity = FAULTS[kind].severity
    if severity is None:
        return None
    return severity.drawn(draw_uniform(seed, fabric, f"{kind} severity", number))


def draw_onset_us(seed: int, fabric: str, kind: FaultKind, number: int) -> int:
    """How long a fault that begins by itself takes to its full severity: a half to three halves of the
    mean."""
    mean_h = FAULTS[kind].onset_h
    if not mean_h:
        return 0
    return us(mean_h * (0.5 + draw_uniform(seed, fabric, f"{kind} onset", number)), US_PER_HOUR)


def draw_target(seed: int, fabric: str, kind: FaultKind, drawn: int, plant: Plant) -> str:
    """The part that the class's fault number `drawn` strikes: uniform over all, broken ones included."""
    index = draw_index(seed, fabric, f"{kind} fault target", drawn, population(kind, plant))
    return plant.part(FAULTS[kind].strikes, index, fabric).name
