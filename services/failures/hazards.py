"""When and where things break by themselves: a Poisson process per class of parts, whose rate may vary slowly
and with the age of parts (NSDI 2024, FACTS 12).

`shared.models.faults.fault_kinds` has the classes and their rates, `shared.models.faults.hazards` how rates
move. Assumption:
the rate of cables is taken per link end (96 a cube), since module, cable and connector of one end are what a
technician replaces.

A varying rate is a clock that goes faster and slower: gaps are drawn in the time of a constant rate, and the
moment is looked for at which the clock shows as much. Ages are drawn by refusal: parts are struck as often as
the worst of them would be, and one is spared by the share that its age has of that.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from schemas.config.dcn import NetworkFailuresConfig
from schemas.config.failures import FailuresConfig
from schemas.names import FaultKind
from shared.basics.keyed_random import draw_exponential, draw_index, draw_normal, draw_uniform, rekeyed_seed
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us
from shared.models.faults.fault_kinds import FAULTS, hazard_group, rate_per_day
from shared.models.faults.hazards import Ageing, Variation
from shared.models.plant.plant import Plant

Rates = FailuresConfig | NetworkFailuresConfig
CLASSES: tuple[FaultKind, ...] = tuple(kind for kind, row in FAULTS.items() if row.rate is not None)
"""The classes with a hazard, in the order in which faults of the same microsecond begin."""
HORIZON_DAYS = 36_500
"""Days that a varying rate is followed for the next fault of a class: for one that comes later, which no run
sees, the rate is taken to be its mean from there on."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """The process of one class of parts. `next_us` is the next fault's time, None if none will come; `drawn`
    is how many came before it; `level` is that of the class's multiplier on `day`, in which it comes."""

    drawn: int
    next_us: int | None
    day: int = 0
    level: float = 0.0


@dataclass(frozen=True, slots=True)
class RateLevel:
    """That of a group's multiplier on a day."""

    day: int
    level: float


@dataclass(frozen=True, slots=True)
class FailureSeeds:
    """What draws are keyed by: the `levels` of rates, which fabrics may have in common, and all else."""

    own: int
    levels: int

    def rekeyed(self, salt: int) -> "FailureSeeds":
        return FailureSeeds(rekeyed_seed(self.own, salt), rekeyed_seed(self.levels, salt))


def seeds_of(seed: int, config: Rates) -> FailureSeeds:
    """As a fabric begins with them."""
    common = config.common_seed
    return FailureSeeds(seed, seed if common is None else common)


@dataclass(frozen=True, slots=True)
class RateVariation:
    """How the rate of a class moves, and by which seed and name its levels are drawn."""

    variation: Variation
    seed: int
    group: str

    def level(self, day: int) -> float:
        """What is new of a day's level."""
        return draw_normal(self.seed, "site", f"{self.group} hazard", day)


def rate_variation(kind: FaultKind, seeds: FailureSeeds, config: Rates) -> RateVariation | None:
    """None for a class whose rate is constant."""
    group = hazard_group(kind)
    variation = float(getattr(config, f"{group}_variation", 0.0))
    if group is None or not variation:
        return None
    memory_days = float(getattr(config, f"{group}_memory_days"))
    return RateVariation(Variation(variation, memory_days), seeds.levels, group)


def ageing(config: Rates) -> Ageing:
    """What age does to the parts of a fabric; nothing to those of networks."""
    if not isinstance(config, FailuresConfig):
        return Ageing()
    return Ageing(config.infant_factor, config.infant_days, config.wear_out_days)


def population(kind: FaultKind, plant: Plant) -> int:
    """How many parts of a class there are; none of a class that the plant does not have."""
    return plant.population(FAULTS[kind].strikes)


def first_hazard(
    seeds: FailureSeeds,
    fabric: str,
    kind: FaultKind,
    config: Rates,
    plant: Plant,
    at_us: int,
    drawn: int = 0,
    since: RateLevel | None = None,
) -> Hazard:
    """The first fault of a class after a moment of which nothing is known: in a fabric that is commissioned
    then, or whose draws are another's from then on, where it is fault number `drawn` of the class. Levels are
    followed from day 0 of the site on, so that fabrics that join later have those of the others, or from one
    that is known."""
    found = rate_variation(kind, seeds, config)
    level = RateLevel(0, 0.0) if found is None else level_on(found, at_us // US_PER_DAY, since)
    before = Hazard(drawn - 1, at_us, level.day, level.level)  # as if the fault before it had come then
    return next_hazard(seeds, fabric, kind, config, plant, before)


def level_on(by: RateVariation, day: int, since: RateLevel | None = None) -> RateLevel:
    """The level of a rate on a day, followed from day 0 or from that which it had before."""
    at = RateLevel(0, by.level(0)) if since is None else since
    while at.day < day:
        at = RateLevel(at.day + 1, by.variation.moved(at.level, by.level(at.day + 1)))
    return at


def class_per_day(kind: FaultKind, config: Rates, plant: Plant) -> float:
    """How often any part of a class is struck in a day of the class's clock: parts × rate × what age does at
    most."""
    parts = population(kind, plant)
    if not config.enabled or not parts:
        return 0.0
    return parts * rate_per_day(kind, config, plant) * ageing(config).most


def next_hazard(
    seeds: FailureSeeds, fabric: str, kind: FaultKind, config: Rates, plant: Plant, last: Hazard
) -> Hazard:
    """The fault after another one of its class.

    In the time of the clock gaps are exponential with the mean 1 ÷ `class_per_day` days.
    """
    drawn = last.drawn + 1
    rate = class_per_day(kind, config, plant)
    if last.next_us is None or rate == 0:
        return Hazard(drawn, None, last.day, last.level)
    gap_days = draw_exponential(seeds.own, fabric, f"{kind} fault time", drawn, 1 / rate)
    found = rate_variation(kind, seeds, config)
    if found is None:
        return Hazard(drawn, last.next_us + to_whole_us(gap_days, US_PER_DAY))
    return _next_on_clock(found, last.next_us, drawn, to_whole_us(gap_days, US_PER_DAY), last)


def changed_hazard(
    seeds: FailureSeeds,
    fabric: str,
    kind: FaultKind,
    rates: tuple[Rates, Rates],
    plant: Plant,
    pending: Hazard,
    now_us: int,
    change: int,
    since: RateLevel | None = None,
) -> Hazard:
    """The pending fault of a class whose rate is another one from now on: (before, after).

    What is left until it comes, in the time of the clock, is exponential whatever has passed, and stays so
    when it is stretched by the ratio of the rates. Where none was pending it is drawn anew, keyed by the
    number of the `change`: the draw of a fault that did not come before the rate fell to 0 was longer than
    the time up to then, and must not be used again. One that is due has come. `since` is a known level of
    what moves the rate.
    """
    before, after = (class_per_day(kind, config, plant) for config in rates)
    if before == after or (pending.next_us is not None and pending.next_us <= now_us):
        return pending
    if after == 0:
        return replace(pending, next_us=None)
    by = rate_variation(kind, seeds, rates[1])
    level = RateLevel(0, 0.0) if by is None else level_on(by, now_us // US_PER_DAY, since)
    if pending.next_us is None or before == 0:
        gap_days = draw_exponential(seeds.own, fabric, f"{kind} fault time after change", change, 1 / after)
        gap_us = to_whole_us(gap_days, US_PER_DAY)
    else:
        left_us = _clock_elapsed_us(by, now_us, pending.next_us, level)
        gap_us = to_whole_us(left_us * (before / after), 1)
    if by is None:
        return Hazard(pending.drawn, now_us + gap_us)
    return _next_on_clock(
        by, now_us, pending.drawn, gap_us, Hazard(pending.drawn, None, level.day, level.level)
    )


def _clock_elapsed_us(by: RateVariation | None, since_us: int, until_us: int, since: RateLevel) -> float:
    """How far the clock goes between two moments, of which the first is on a day with this level: what
    `_later` looks for the other way round."""
    if by is None:
        return until_us - since_us
    at_us, day, level, found_us = since_us, since.day, since.level, 0.0
    for _ in range(HORIZON_DAYS):
        speed, tomorrow = _day(by, day, level)
        ends_us = (day + 1) * US_PER_DAY
        if until_us <= ends_us:
            return found_us + (until_us - at_us) * speed
        found_us += (ends_us - at_us) * speed
        at_us, day, level = ends_us, day + 1, tomorrow
    return found_us + until_us - at_us


def _next_on_clock(by: RateVariation, since_us: int, drawn: int, gap_us: float, last: Hazard) -> Hazard:
    """When a clock that goes by the multiplier has gone so far, and the level of that day."""
    at_us, day, level = float(since_us), last.day, last.level
    for _ in range(HORIZON_DAYS):
        speed, tomorrow = _day(by, day, level)
        ends_us = (day + 1) * US_PER_DAY
        if gap_us <= (ends_us - at_us) * speed:
            at_us += gap_us / speed
            return Hazard(drawn, max(since_us + 1, round(at_us)), day, level)
        gap_us -= (ends_us - at_us) * speed
        at_us, day, level = float(ends_us), day + 1, tomorrow
    return Hazard(drawn, round(at_us + gap_us), day, level)


@lru_cache(maxsize=8_192)
def _day(by: RateVariation, day: int, level: float) -> tuple[float, float]:
    """(multiplier on a day with this level, level of the day after): the same for every class of a group and
    every fabric with its seed."""
    variation = by.variation
    return variation.multiplier(level), variation.moved(level, by.level(day + 1))


def is_spared(seed: int, fabric: str, kind: FaultKind, by_age: Ageing, drawn: int, age_us: int) -> bool:
    """Whether a part of an age is not struck by the class's fault number `drawn`."""
    share = by_age.factor(age_us / US_PER_DAY) / by_age.most
    return draw_uniform(seed, fabric, f"{kind} fault at age", drawn) >= share


def draw_age_us(seed: int, target: str, config: Rates) -> int:
    """How old a part is when its fabric is commissioned."""
    age_days = config.age_days if isinstance(config, FailuresConfig) else 0.0
    return round(age_days * draw_uniform(seed, target, "age", 0) * US_PER_DAY)


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
    return to_whole_us(mean_h * (0.5 + draw_uniform(seed, fabric, f"{kind} onset", number)), US_PER_HOUR)


def draw_target(seed: int, fabric: str, kind: FaultKind, drawn: int, plant: Plant) -> str:
    """The part that the class's fault number `drawn` strikes: uniform over all, broken ones included."""
    index = draw_index(seed, fabric, f"{kind} fault target", drawn, population(kind, plant))
    return plant.part(FAULTS[kind].strikes, index, fabric).name
