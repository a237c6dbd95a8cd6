"""Times and targets of spontaneous faults: a Poisson process for each class of parts.

Failure rates may vary slowly and with the age of parts (NSDI 2024). `shared.models.faults.fault_kinds` has
the classes and their rates, `shared.models.faults.hazard_variation` the variation. Assumption: the rate of
cables is for each link end (96 a cube), because technicians replace module, cable and connector of one end
together.

A varying rate is modelled as a clock that runs faster and slower. Gaps are drawn in the time of a constant
rate, and converted to the time at which the clock has advanced by the gap. Ages are handled by rejection:
candidates come at the rate of the worst age, and each is rejected with the probability that its own age
requires.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from schemas.config.failures import FailureRates, FailuresConfig
from schemas.names import FaultKind
from shared.basics.keyed_random import draw_exponential, draw_index, draw_normal, draw_uniform, rekeyed_seed
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us
from shared.models.faults.fault_kinds import FAULTS, hazard_group, rate_per_day
from shared.models.faults.hazard_variation import Ageing, Variation
from shared.models.plant.plant_format import Plant

HORIZON_DAYS = 36_500
"""Days for which a varying rate is followed to find the next fault. After them the mean rate is used; no
run lasts that long."""


def hazard_classes() -> tuple[FaultKind, ...]:
    """The classes with a hazard, in the order of faults at the same time."""
    return tuple([kind for kind, row in FAULTS.items() if row.rate is not None])


@dataclass(frozen=True, slots=True)
class Hazard:
    """The process of one class of parts.

    `next_us` is the time of the next fault; None if there is none. `drawn` is the number of faults before it.
    `level` is the level of the class's multiplier on `day`, the day of the fault.
    """

    drawn: int
    next_us: int | None
    day: int = 0
    level: float = 0.0


@dataclass(frozen=True, slots=True)
class RateLevel:
    """The level of a group's multiplier on a day."""

    day: int
    level: float


@dataclass(frozen=True, slots=True)
class FailureSeeds:
    """Seeds of draws: `levels` for the variation of rates, which fabrics may share, and `own` for all
    else."""

    own: int
    levels: int

    def rekeyed(self, salt: int) -> "FailureSeeds":
        return FailureSeeds(rekeyed_seed(self.own, salt), rekeyed_seed(self.levels, salt))


def seeds_of(seed: int, config: FailureRates) -> FailureSeeds:
    """The seeds of a new fabric."""
    common = config.common_seed
    return FailureSeeds(seed, seed if common is None else common)


@dataclass(frozen=True, slots=True)
class RateVariation:
    """The variation of a class's rate, with the seed and group name of its draws."""

    variation: Variation
    seed: int
    group: str

    def level(self, day: int) -> float:
        """The innovation of a day's level."""
        return draw_normal(self.seed, "site", f"{self.group} hazard", day)


def rate_variation(kind: FaultKind, seeds: FailureSeeds, config: FailureRates) -> RateVariation | None:
    """The variation of a class's rate; None if the rate is constant."""
    group = hazard_group(kind)
    variation = float(getattr(config, f"{group}_variation", 0.0))
    if group is None or not variation:
        return None
    memory_days = float(getattr(config, f"{group}_memory_days"))
    return RateVariation(Variation(variation, memory_days), seeds.levels, group)


def ageing(config: FailureRates) -> Ageing:
    """The effect of age on the parts of a fabric; none for networks."""
    if not isinstance(config, FailuresConfig):
        return Ageing()
    return Ageing(config.infant_factor, config.infant_days, config.wear_out_days)


def parts_at_risk(kind: FaultKind, plant: Plant) -> int:
    """The number of parts of a class; 0 if the plant has none."""
    return plant.population(FAULTS[kind].strikes)


def first_hazard(
    seeds: FailureSeeds,
    fabric: str,
    kind: FaultKind,
    config: FailureRates,
    plant: Plant,
    at_us: int,
    drawn: int = 0,
    since: RateLevel | None = None,
) -> Hazard:
    """The first fault of a class after a time with unknown history.

    That time is the commissioning of the fabric, or a change of its seeds, with `drawn` as the number of the
    fault. Levels are followed from day 0 of the site on, so that fabrics that join later share the levels of
    others, or from the known level `since`.
    """
    variation = rate_variation(kind, seeds, config)
    level = RateLevel(0, 0.0) if variation is None else level_on(variation, at_us // US_PER_DAY, since)
    before = Hazard(drawn - 1, at_us, level.day, level.level)  # as if a fault had just happened
    return next_hazard(seeds, fabric, kind, config, plant, before)


def level_on(by: RateVariation, day: int, since: RateLevel | None = None) -> RateLevel:
    """The level of a rate on a day, followed from day 0 or from a known level."""
    at = RateLevel(0, by.level(0)) if since is None else since
    while at.day < day:
        at = RateLevel(at.day + 1, by.variation.moved(at.level, by.level(at.day + 1)))
    return at


def class_per_day(kind: FaultKind, config: FailureRates, plant: Plant) -> float:
    """Candidate faults of a class per day of its clock: parts × rate × largest age factor."""
    parts = parts_at_risk(kind, plant)
    if not config.enabled or not parts:
        return 0.0
    return parts * rate_per_day(kind, config, plant) * ageing(config).most


def next_hazard(
    seeds: FailureSeeds, fabric: str, kind: FaultKind, config: FailureRates, plant: Plant, last: Hazard
) -> Hazard:
    """The next fault of a class.

    In clock time, gaps are exponential with a mean of 1 ÷ `class_per_day` days.
    """
    drawn = last.drawn + 1
    rate = class_per_day(kind, config, plant)
    if last.next_us is None or rate == 0:
        return Hazard(drawn, None, last.day, last.level)
    gap_days = draw_exponential(seeds.own, fabric, f"{kind} fault time", drawn, 1 / rate)
    variation = rate_variation(kind, seeds, config)
    if variation is None:
        return Hazard(drawn, last.next_us + to_whole_us(gap_days, US_PER_DAY))
    return _next_on_clock(variation, last.next_us, drawn, to_whole_us(gap_days, US_PER_DAY), last)


def changed_hazard(
    seeds: FailureSeeds,
    fabric: str,
    kind: FaultKind,
    rates: tuple[FailureRates, FailureRates],
    plant: Plant,
    pending: Hazard,
    now_us: int,
    change: int,
    since: RateLevel | None = None,
) -> Hazard:
    """The pending fault of a class after a change of its rate, given (before, after).

    The remaining gap in clock time is exponential regardless of the time that has passed, and stays so when
    it is scaled by the ratio of the rates. If no fault was pending, the gap is drawn again with the number of
    the `change` as key. The earlier draw must not be used again: its fault had not come before the rate fell
    to 0, so it was longer than that time. A fault that is due is not changed. `since` is a known level of the
    rate's variation.
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
    """The clock time between two times, where the first is on a day with level `since`; the inverse of
    `_next_on_clock`."""
    if by is None:
        return until_us - since_us
    at_us, day, level, elapsed_us = since_us, since.day, since.level, 0.0
    for _ in range(HORIZON_DAYS):
        speed, tomorrow = _day(by, day, level)
        ends_us = (day + 1) * US_PER_DAY
        if until_us <= ends_us:
            return elapsed_us + (until_us - at_us) * speed
        elapsed_us += (ends_us - at_us) * speed
        at_us, day, level = ends_us, day + 1, tomorrow
    return elapsed_us + until_us - at_us


def _next_on_clock(by: RateVariation, since_us: int, drawn: int, gap_us: float, last: Hazard) -> Hazard:
    """The fault at which the clock has advanced by `gap_us`, with the level of that day."""
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
    """(multiplier on a day with this level, level of the next day).

    Cached, because it is the same for every class of a group and every fabric with the same seed.
    """
    variation = by.variation
    return variation.multiplier(level), variation.moved(level, by.level(day + 1))


def is_spared(seed: int, fabric: str, kind: FaultKind, by_age: Ageing, drawn: int, age_us: int) -> bool:
    """Whether the class's fault number `drawn` is rejected because of the part's age."""
    share = by_age.factor(age_us / US_PER_DAY) / by_age.most
    return draw_uniform(seed, fabric, f"{kind} fault at age", drawn) >= share


def draw_age_us(seed: int, target: str, config: FailureRates) -> int:
    """The age of a part when its fabric is commissioned."""
    age_days = config.age_days if isinstance(config, FailuresConfig) else 0.0
    return round(age_days * draw_uniform(seed, target, "age", 0) * US_PER_DAY)


def draw_severity(seed: int, fabric: str, kind: FaultKind, number: int) -> float | None:
    """Severity of fault `number` of the fabric in the unit of its kind; None for kinds without one."""
    severity = FAULTS[kind].severity
    if severity is None:
        return None
    return severity.drawn(draw_uniform(seed, fabric, f"{kind} severity", number))


def draw_onset_us(seed: int, fabric: str, kind: FaultKind, number: int) -> int:
    """Onset of a spontaneous fault: 0.5 to 1.5 times the mean."""
    mean_h = FAULTS[kind].onset_h
    if not mean_h:
        return 0
    return to_whole_us(mean_h * (0.5 + draw_uniform(seed, fabric, f"{kind} onset", number)), US_PER_HOUR)


def draw_target(seed: int, fabric: str, kind: FaultKind, drawn: int, plant: Plant) -> str:
    """The target of the class's fault number `drawn`: uniform over all parts, including broken ones."""
    index = draw_index(seed, fabric, f"{kind} fault target", drawn, parts_at_risk(kind, plant))
    return plant.part(FAULTS[kind].strikes, index, fabric).name
