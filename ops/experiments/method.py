"""The method of an experiment: closed form, kernel of failures and repairs, or services.

The cheapest method that can answer the whole question is chosen, with reasons against each cheaper one.

This module lists by name what the two cheap methods model. Any other parameter may have any effect, so if one
differs from its default, the services answer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ops.experiments.part_classes import LOG_MEASURES, part_classes
from ops.experiments.recorded_inputs import has_recorded_inputs
from ops.experiments.schema import Experiment
from ops.experiments.variants import variants_of
from schemas.config.fabric_configs import config_model
from schemas.config.pods import AnyPodConfig, FabricConfig
from schemas.config.repairs import RepairsConfig
from schemas.files.site_plan import SitePlan
from services.totals.measures import MEASURES
from shared.basics.units import US_PER_DAY
from shared.models.reliability.repair_shop import PartClass

MethodName = Literal["exact", "kernel", "services"]
METHOD_NAMES: tuple[MethodName, ...] = ("exact", "kernel", "services")
"""Methods, cheapest first."""
EXACT_MEASURES = frozenset({"cube_availability", "faults_a_day", "repairs_a_day"})
"""Measures with a closed form."""
KERNEL_MEASURES = EXACT_MEASURES | {name for name in MEASURES if name.startswith(LOG_MEASURES)}
"""Measures that depend only on failures and repairs. Unhealthy chips are not among them, because those that
belong to a slice count as the slice's."""
KERNEL_PARAMETERS = frozenset(
    {
        "cubes.heartbeat_s",
        "failures.enabled",
        "failures.host_per_day",
        "failures.link_per_day",
        "failures.ocs_per_day",
        "pod.cubes",
        "repairs.fibre_technicians",
        "repairs.host_repair_h",
        "repairs.link_repair_h",
        "repairs.ocs_repair_h",
        "repairs.repair_sigma",
        "repairs.technicians",
    }
)
"""Parameters that the kernel models."""
IRRELEVANT_PARAMETERS = frozenset(
    {"kind", "seed", "trace", "workload", "scheduler", "jobs", "ocs", "transceivers"}
    | {"repairs.clean_h", "repairs.reseat_h", "repairs.cable_repair_h", "repairs.cube_repair_h"}
)
"""Sections and parameters that do not affect failures and repairs, if those in MUST_BE_ZERO are 0."""
MUST_BE_ZERO: Mapping[str, str] = {
    "failures.optics_per_day": "such faults grow, and are found by telemetry",
    "failures.stray_per_day": "such faults show when circuits are switched",
}
"""Parameters that must be 0 because the kernel does not model them, with the reason."""
WAITING_SHARE_MAX = 1e-6
"""Maximum share of repairs that may wait for a technician, if the method assumes that none does."""
WARM_UP_BIAS_MAX = 1e-4
"""Maximum share of down parts that may be missing from the mean because all parts start working."""


@dataclass(frozen=True, slots=True)
class Method:
    """A chosen method, `why` it was chosen, and the reasons against each cheaper method.

    `remedy` are the lines of the document, under `fabric.set`, with which the kernel would answer; empty if
    there are none."""

    name: MethodName
    why: str
    rejected: Mapping[str, str]
    remedy: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the choice as a sentence."""
        names: dict[str, list[str]] = {}
        for name, why in self.rejected.items():
            names.setdefault(why, []).append(name)
        rest = "".join(f"; not {' or '.join(those)}: {why}" for why, those in names.items())
        return f"answered by {METHOD_TEXT[self.name]}, {self.why}{rest}"


SERVICES = Method("services", "as the document requests", {})
REMEDY = (
    "the kernel, about a thousand times as fast, would answer with these lines under fabric.set; faults of "
    "optics are then left out:"
)
METHOD_TEXT: Mapping[str, str] = {
    "exact": "closed forms",
    "kernel": "the kernel of failures and repairs",
    "services": "the full services",
}


def choose_method(experiment: Experiment, sites: Sequence[Sequence[SitePlan]]) -> Method:
    """Choose the method of an experiment whose variants have these sites.

    If the document requests a method, return that one even if it cannot answer; `rejected` then contains its
    own name and the reason.
    """
    requested = experiment.method
    stops: dict[str, str] = {}
    for name in METHOD_NAMES:
        stop = _obstacle(name, experiment, sites)
        if requested in ("auto", name) and stop is None:
            why = "as the document requests" if requested == name else _REASONS[name]
            remedy = _kernel_remedy(experiment, sites) if name == "services" else ()
            return Method(name, why, stops if requested == "auto" else {}, remedy)
        if stop is not None and requested in ("auto", name):
            stops[name] = stop
        if requested == name:
            return Method(name, "as the document requests", stops, _kernel_remedy(experiment, sites))
    raise AssertionError("services answer everything")


_REASONS: Mapping[str, str] = {
    "exact": "which cover everything that the document asks for",
    "kernel": "because only failures and repairs affect the measures",
    "services": "because no faster method covers everything that the document asks for",
}


def _obstacle(name: str, experiment: Experiment, sites: Sequence[Sequence[SitePlan]]) -> str | None:
    """Why a method cannot answer; None if it can."""
    if name == "services":
        return None
    fabric = experiment.fabric
    if has_recorded_inputs(fabric):
        given = [name for name in ("changes", "faults", "trace") if getattr(fabric, name)]
        return f"only the full services play fabric.{given[0]}"
    for measure in experiment.measure:
        if measure not in KERNEL_MEASURES:
            return f"measure {measure} depends on more than failures and repairs"
        if name == "exact" and measure not in EXACT_MEASURES:
            return f"measure {measure} has no closed form here"
    checks: tuple[Callable[[Any], str | None], ...] = (_unknown_parameter,)
    if name == "exact":
        checks = (_unknown_parameter, lambda config: _no_closed_form(experiment, config))
    for plan in sites:
        for config in (config for site in plan for config in site.fabrics.values()):
            for check in checks:
                if (found := check(config)) is not None:
                    return found
    return None


def _kernel_remedy(experiment: Experiment, sites: Sequence[Sequence[SitePlan]]) -> tuple[str, ...]:
    """The lines with which the kernel can answer, where only what must be 0 is not."""
    if _obstacle("kernel", experiment, sites) is None:
        return ()
    needed: dict[str, None] = {}
    without = []
    for plan in sites:
        for site in plan:
            fabrics = {}
            for fabric, config in site.fabrics.items():
                names = [name for name in MUST_BE_ZERO if _failure_rate(config, name)]
                needed |= dict.fromkeys(names)
                zero = {name.split(".")[1]: 0.0 for name in names}
                rates = config.failure_rates.model_copy(update=zero)
                fabrics[fabric] = config.model_copy(update={"failures": rates})
            without.append([site.model_copy(update={"fabrics": fabrics})])
    varied = {name for variant in variants_of(experiment) for name, _ in variant.values}
    if varied & needed.keys() or _obstacle("kernel", experiment, without) is not None:
        return ()
    return tuple([f"{name}: 0" for name in needed])


def _failure_rate(config: FabricConfig, name: str) -> float:
    return float(getattr(config.failure_rates, name.split(".")[1], 0.0))


def _unknown_parameter(config: Any) -> str | None:
    """The first parameter of a fabric that the kernel does not model."""
    if not isinstance(config, AnyPodConfig):
        return f"kind {config.kind} is not a pod"
    if not config.repairs.technicians:
        return "repairs.technicians 0: no repair but those of fibre technicians ever starts"
    default = config_model(config.kind)(kind=config.kind)
    for section, fields in config.model_dump().items():
        if section in IRRELEVANT_PARAMETERS:
            continue
        before = getattr(default, section)
        for field, value in fields.items() if isinstance(fields, dict) else ():
            name = f"{section}.{field}"
            if name in MUST_BE_ZERO:
                if value:
                    return f"{name} {value:g} is not 0: {MUST_BE_ZERO[name]} (set it to 0 to use this method)"
            elif name not in KERNEL_PARAMETERS | IRRELEVANT_PARAMETERS and value != getattr(before, field):
                return (
                    f"{name} {value} differs from its default, {getattr(before, field)}, and is not modelled"
                )
    return None


def _no_closed_form(experiment: Experiment, config: Any) -> str | None:
    """Return why a pod has no closed form: repairs wait, or the state is not steady yet. None if it has
    one."""
    classes = list(part_classes(config).values())
    demand = sum(one.number * one.failure_rate * one.repair_time / US_PER_DAY for one in classes)
    technicians = config.repairs.technicians
    waits = _poisson_tail(technicians - 1, demand)
    if waits > WAITING_SHARE_MAX:
        return (
            f"repairs.technicians {technicians}: {100 * waits:.2g} % of the repairs would wait, and with "
            f"repairs.repair_sigma {config.repairs.repair_sigma:g} their times are not exponential"
        )
    for one in classes:
        left = _still_in_repair_share(one, config.repairs, experiment.fabric.warm_up_days)
        if left > WARM_UP_BIAS_MAX:
            return (
                f"fabric.warm_up_days {experiment.fabric.warm_up_days:g} is too short for a steady state: "
                f"{100 * left:.2g} % of the parts in repair would be missing"
            )
    return None


def _poisson_tail(many: int, mean: float) -> float:
    """P(Poisson(mean) > many)."""
    term = total = math.exp(-mean)
    for n in range(1, many + 1):
        term *= mean / n
        total += term
    return max(0.0, 1.0 - total)


def _still_in_repair_share(one: PartClass, repairs: RepairsConfig | Any, days: float) -> float:
    """Return the share of the parts in repair that have been in repair for longer than these days, in the
    steady state.

    These parts are missing if all parts worked that long ago. Repair times are log-normal.
    """
    mean, sigma = one.repair_time / US_PER_DAY, float(repairs.repair_sigma)
    if days == 0.0:
        return 1.0
    if sigma == 0.0:
        return max(0.0, 1.0 - days / mean)
    z = (math.log(days / mean) + 0.5 * sigma * sigma) / sigma
    return max(0.0, _normal_tail(z - sigma) - days / mean * _normal_tail(z))


def _normal_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))
