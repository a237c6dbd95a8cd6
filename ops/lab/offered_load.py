"""The offered load of a fabric, before any run: of technicians, of spare parts and of the scheduler.

Loads are means of the configuration: parts × failure rate × mean work of all attempts, over the people on
duty.
Failures that a rate does not give, such as recorded or injected ones, are not among them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ops.lab.trace_work import TraceWork, trace_work
from schemas.config.pods import AnyPodConfig, FabricConfig
from schemas.config.repairs import RepairShopConfig
from schemas.files.site_plan import SitePlan
from schemas.names import FaultKind
from services.failures.hazards import ageing, hazard_classes, parts_at_risk
from services.failures.state import rates_of
from services.repairs.spares import TRAY_KINDS
from services.workload.run_times import run_mean_h
from services.workload.slice_mix import arrivals_per_day, mix_for
from shared.basics.units import US_PER_DAY
from shared.models.assumptions import assumed
from shared.models.fabric_plants import plant_of
from shared.models.faults.fault_kinds import FAULTS, mean_repair_h, rate_per_day
from shared.models.faults.repair_work import WORK_DEFINITIONS
from shared.models.faults.shifts import DAYS, WORKDAYS
from shared.models.ocs.parts import PART
from shared.models.reliability.server_load import RELAXATIONS_MIN, ServerLoad
from shared.models.superpod.wiring import CHIPS_PER_CUBE

SCHEDULER, CREW = "scheduler", "technicians"
HOURS_A_DAY = 24.0


@dataclass(frozen=True, slots=True)
class _Repairs:
    """Repairs of one kind of fault: the number of faults per day, and the hours of each in all attempts."""

    kind: FaultKind
    per_day: float
    hours: float
    attempts: float
    at_link_ends: bool


def loads_of_sites(
    sites: Sequence[SitePlan], days: float, trace: TraceWork | None = None
) -> tuple[ServerLoad, ...]:
    """Return the loads of all fabrics of these sites in a run of `days` days, warm-up included.

    If fabrics differ, the name of each load has its fabric. `trace` is the work of a whole trace; the
    configurations have only a part of its rows.
    """
    found = {
        name: offered_loads(config, days, trace) for site in sites for name, config in site.fabrics.items()
    }
    if len({*found.values()}) <= 1:
        return next(iter(found.values()), ())
    return tuple(
        replace(one, name=f"{fabric}: {one.name}") for fabric, loads in found.items() for one in loads
    )


def is_scheduler(load: ServerLoad) -> bool:
    """Whether a load is that of a scheduler."""
    return load.name.split(": ")[-1] == SCHEDULER


def is_crew(load: ServerLoad) -> bool:
    """Whether a load is that of technicians. Only they have a relaxation time: slices differ too much, and
    spare parts arrive after a fixed time."""
    return load.name.split(": ")[-1].startswith(CREW)


@dataclass(frozen=True, slots=True)
class LoadCheck:
    """One load, checked for runs of a number of days; `problem` is None if it is steady.

    `lasts_days` is the time for which the load acts, warm-up included; None if it acts for all of `days`.
    """

    load: ServerLoad
    days: float
    lasts_days: float | None = None

    @property
    def problem(self) -> str | None:
        """What is not steady, as a clause."""
        one = self.load
        if one.is_overloaded:
            return (
                f"not steady: {one.name}: load {one.load:.3g}, so the backlog grows by "
                f"{one.growth_per_day:.2g} {_unit(one)} a day; this is a figure of its {days_text(self.days)}"
            )
        lasts = self.days if self.lasts_days is None else self.lasts_days
        if is_crew(one) and not one.is_long_enough(lasts):
            verb = "is" if lasts == 1.0 else "are"
            return (
                f"not yet steady: {one.name}: load {one.load:.3g}, so {days_text(lasts)} {verb} "
                f"{one.relaxations(lasts):.2g} relaxation times of {one.relaxation_days:.3g} days; must "
                f"be at least {RELAXATIONS_MIN:g}, here {RELAXATIONS_MIN * one.relaxation_days:,.0f} days"
            )
        return None


def days_text(days: float) -> str:
    """A number of days in words."""
    return f"{days:g} day{'' if days == 1.0 else 's'}"


def offered_loads(
    config: FabricConfig, days: float, trace: TraceWork | None = None
) -> tuple[ServerLoad, ...]:
    """Return the loads of a fabric in a run of `days` days, warm-up included.

    Without `trace`, only the rows that the configuration has count.
    """
    repairs = _repairs_of(config, days)
    shop = config.repair_times
    found = [*_technicians(shop, repairs), *_spares(shop, repairs)]
    if isinstance(config, AnyPodConfig) and (slices := _scheduler(config, days, trace)) is not None:
        found.append(slices)
    return tuple(found)


def _repairs_of(config: FabricConfig, days: float) -> list[_Repairs]:
    """All repairs that the failure rates of a fabric cause."""
    plant, rates, shop = plant_of(config.kind, config.hardware), rates_of(config), config.repair_times
    if not rates.enabled or rates.until_days == 0.0:
        return []
    # Parts age during the run, and those that are replaced start again: the age at its middle, about.
    age_days = float(getattr(rates, "age_days", 0.0)) / 2.0 + days / 2.0
    factor = ageing(rates).factor(age_days)
    found = []
    for kind in hazard_classes():
        per_day = parts_at_risk(kind, plant) * rate_per_day(kind, rates, plant) * factor
        if not per_day:
            continue
        row = FAULTS[kind]
        if row.strikes == "batch":  # each of its modules is replaced
            per_day *= plant.population("end") / plant.population("batch")
        attempts = 1.0
        if row.work == "mend":
            attempts = 1.0 / (1.0 - shop.value_or("misdiagnosed", 0.0))
        definition = WORK_DEFINITIONS[row.work]
        hours = _link_end_hours(kind, shop) if definition.at_link_ends else mean_repair_h(kind, shop)
        found.append(_Repairs(kind, per_day, hours * attempts, attempts, definition.at_link_ends))
    return found


def _link_end_hours(kind: FaultKind, shop: RepairShopConfig) -> float:
    """Mean work at a link end: what the fault needs, and what comes next where that does not help."""
    depth = WORK_DEFINITIONS[FAULTS[kind].work].depth
    hours, reached = 0.0, 1.0
    for one in sorted(WORK_DEFINITIONS.values(), key=lambda work: work.depth):
        if one.at_link_ends and one.depth >= depth and one.hours is not None:
            hours += reached * float(getattr(shop, one.hours))
            reached *= 0.0 if one.succeeds is None else 1.0 - assumed(one.succeeds)
    return hours


def _technicians(shop: RepairShopConfig, repairs: Sequence[_Repairs]) -> list[ServerLoad]:
    """Of technicians alone what only they do; of them and fibre technicians together all work."""
    people = _on_duty(shop, shop.technicians, "off_hours_technicians")
    fibre = shop.value_or("fibre_technicians", 0)
    own = [one for one in repairs if not one.at_link_ends]
    found = [_load(CREW, people, own, _stretch(shop.technicians, people))]
    if len(own) < len(repairs):
        both = people + _on_duty(shop, fibre, "off_hours_fibre_technicians")
        name = f"{CREW} and fibre technicians" if fibre else f"{CREW}, with link ends"
        found.append(_load(name, both, repairs, _stretch(shop.technicians + fibre, both)))
    return found


def _stretch(people: int, on_duty: float) -> float:
    """Calendar time of work over its time on duty: work pauses outside of shifts."""
    return people / on_duty if on_duty else 1.0


def _on_duty(shop: RepairShopConfig, people: int, off_hours: str) -> float:
    """The mean number of people on duty over the week."""
    always: int | None = shop.value_or(off_hours, None)
    if always is None or always >= people:
        return float(people)
    hours = shop.value_or("shift_ends_h", HOURS_A_DAY) - shop.value_or("shift_begins_h", 0.0)
    return always + (people - always) * hours / HOURS_A_DAY * WORKDAYS / DAYS


def _load(name: str, servers: float, repairs: Sequence[_Repairs], stretch: float) -> ServerLoad:
    per_day = sum(one.per_day for one in repairs)
    hours = sum(one.per_day * one.hours for one in repairs)
    work_days = hours / per_day / HOURS_A_DAY if per_day else 0.0
    return ServerLoad(name, servers, per_day, work_days, None if stretch == 1.0 else work_days * stretch)


def _spares(shop: RepairShopConfig, repairs: Sequence[_Repairs]) -> list[ServerLoad]:
    """Of each limited stock: a part is gone for the calendar time of the attempt and until another one
    arrives, and each attempt takes one. Every kind of OCS part has its own stock; that with the highest load
    counts."""
    people = _on_duty(shop, shop.technicians, "off_hours_technicians")
    fibre = shop.value_or("fibre_technicians", 0)
    both = people + _on_duty(shop, fibre, "off_hours_fibre_technicians")
    lead_days = shop.value_or("spares_lead_days", 0.0)
    stocks: dict[str, list[_Repairs]] = defaultdict(list)
    for one in repairs:
        if one.kind in TRAY_KINDS:
            stocks["host_spares"].append(one)
        elif one.hours and FAULTS[one.kind].work == "replace":
            stocks["link_spares"].append(one)
        elif one.kind in PART:
            stocks[f"ocs_spares {one.kind}"].append(one)
    found: dict[str, ServerLoad] = {}
    for stock, mine in stocks.items():
        name = stock.split()[0]
        parts: int | None = shop.value_or(name, None)
        if parts is None:
            continue
        stretch = _stretch(shop.technicians, people)
        if any(one.at_link_ends for one in mine):
            stretch = _stretch(shop.technicians + fibre, both)
        per_day = sum(one.per_day * one.attempts for one in mine)
        hours = sum(one.per_day * one.hours for one in mine)
        gone_days = lead_days + (stretch * hours / per_day / HOURS_A_DAY if per_day else 0.0)
        load = ServerLoad(name.replace("_", " ").replace("ocs", "OCS"), float(parts), per_day, gone_days)
        if name not in found or load.load > found[name].load:
            found[name] = load
    return [*found.values()]


def _scheduler(config: AnyPodConfig, days: float, trace: TraceWork | None) -> ServerLoad | None:
    """Chip-time of requested slices, without filler, over that of the pod; None without requests."""
    cubes, workload = config.pod.cubes, config.workload
    chips = float(cubes * CHIPS_PER_CUBE)
    if config.trace:
        found = trace_work(config.trace, round(days * US_PER_DAY)) if trace is None else trace
        if not found.rows or not days:
            return None
        return ServerLoad(SCHEDULER, chips, found.rows / days, found.chip_days / found.rows)
    if not workload.enabled:
        return None
    per_day = arrivals_per_day(workload, cubes)
    chip_days = sum(
        many * kind.chips * run_mean_h(workload, kind.cubes) / HOURS_A_DAY
        for kind, many in zip(mix_for(workload.mix, cubes), per_day, strict=True)
    )
    return ServerLoad(SCHEDULER, chips, sum(per_day), chip_days / sum(per_day))


def _unit(load: ServerLoad) -> str:
    if is_scheduler(load):
        return "slices"
    return "repairs" if is_crew(load) else "parts"
