"""Runs drills again with other parameters, to find out which of them would have saved chip-hours.

An alternative changes the configuration of all pods from their start on. It is compared by the chip-hours
that the drill costs: each alternative has its own run without the drill.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ops.drills.lab_run import LabDrill
from ops.drills.lab_runs import run_lab_drills
from ops.drills.score.chip_hours import RunWithout
from schemas.config.fabric_configs import AnyConfig
from schemas.config.parameter import ParameterSetting, ParameterValue
from schemas.config.pods import AnyPodConfig
from schemas.config.runtime_parameters import parameter_or, with_settings
from shared.basics.json_types import JsonObject
from shared.basics.time_format import format_chip_hours

SPARES, FASTER = 4, 4
"""Spare cubes that are added; repairs and checkpoint intervals are this many times shorter."""
HELPS_SHARE = 0.05
"""An alternative has helped if it saves at least this share of the lost chip-hours, less its own price."""
Settings = Mapping[str, Callable[[AnyPodConfig], ParameterValue]]
"""Parameter → its value in a pod with this configuration."""


def _added(name: str, number: int) -> Callable[[AnyPodConfig], ParameterValue]:
    return lambda config: parameter_or(config, name, 0) + number


def _doubled(name: str) -> Callable[[AnyPodConfig], ParameterValue]:
    return lambda config: 2 * parameter_or(config, name, 0)


def _shorter(name: str) -> Callable[[AnyPodConfig], ParameterValue]:
    return lambda config: parameter_or(config, name, 0.0) / FASTER


def _often(name: str) -> Callable[[AnyPodConfig], ParameterValue]:
    return lambda config: max(1, parameter_or(config, name, 1) // FASTER)


ALTERNATIVES: Mapping[str, Settings] = {
    f"{SPARES} more spare cubes": {"scheduler.hot_spares": _added("scheduler.hot_spares", SPARES)},
    "twice the technicians": {
        "repairs.technicians": _doubled("repairs.technicians"),
        "repairs.fibre_technicians": _doubled("repairs.fibre_technicians"),
    },
    f"checkpoints {FASTER} times as often": {
        "workload.checkpoint_every_s": _often("workload.checkpoint_every_s")
    },
    f"OCS repairs {FASTER} times as fast": {"repairs.ocs_repair_h": _shorter("repairs.ocs_repair_h")},
    f"host repairs {FASTER} times as fast": {"repairs.host_repair_h": _shorter("repairs.host_repair_h")},
}
"""Name → the parameters that it changes. A kind of pod that lacks a parameter keeps its configuration."""


@dataclass(frozen=True, slots=True)
class TriedAlternative:
    """The chip-microseconds that a drill cost with an alternative, and with the settings of the suite.
    Without the drill, the alternative itself costs `price_us` of work in the same time."""

    name: str
    lost_us: int
    lost_us_before: int
    price_us: int = 0

    @property
    def has_helped(self) -> bool:
        """Whether it saved enough, also after its own price: a pod that does less work has less to lose."""
        saved_us = self.lost_us_before - self.lost_us - max(0, self.price_us)
        return saved_us >= max(1, HELPS_SHARE * self.lost_us_before)

    def json(self) -> JsonObject:
        """The result as JSON, in chip-microseconds."""
        return {
            "name": self.name,
            "lost_us": self.lost_us,
            "price_us": self.price_us,
            "helped": self.has_helped,
        }

    @property
    def text(self) -> str:
        """Its name with its chip-hours."""
        price = ""
        if self.price_us >= HELPS_SHARE * self.lost_us_before:
            price = f", and {format_chip_hours(self.price_us)} fewer without the drill"
        return f"{self.name} ({format_chip_hours(self.lost_us)}{price})"


def try_alternatives(
    plans: Sequence[LabDrill], measured: Sequence[RunWithout | None], jobs: int
) -> list[tuple[TriedAlternative, ...] | None]:
    """For each drill, what it costs with each alternative; None if its cost was not measured or is nothing.
    `measured` are the runs with the settings as they are."""
    wanted = [
        (place, name, other)
        for place, (plan, without) in enumerate(zip(plans, measured, strict=True))
        if without is not None and without.lost_us > 0
        for name, settings in ALTERNATIVES.items()
        if (other := _with_settings(plan, settings)) is not None
    ]
    scores = run_lab_drills([other for _, _, other in wanted], jobs) if wanted else []
    found: list[list[TriedAlternative]] = [[] for _ in plans]
    for (place, name, _), score in zip(wanted, scores, strict=True):
        before, after = measured[place], score.without
        if before is not None and after is not None:
            price_us = round((before.work_share - after.work_share) * after.total_us)
            found[place].append(TriedAlternative(name, after.lost_us, before.lost_us, price_us))
    return [tuple(tried) or None for tried in found]


def _with_settings(plan: LabDrill, settings: Settings) -> LabDrill | None:
    """The drill on pods with other parameters; None if no pod changes."""
    fabrics = {name: _changed(config, settings) for name, config in plan.site.fabrics.items()}
    if fabrics == plan.site.fabrics:
        return None
    return replace(plan, site=plan.site.model_copy(update={"fabrics": fabrics}))


def _changed(config: AnyConfig, settings: Settings) -> AnyConfig:
    """The configuration with these parameters; unchanged if the kind of fabric cannot have one of them."""
    if not isinstance(config, AnyPodConfig):
        return config
    try:
        changed, _ = with_settings(
            config, [ParameterSetting(name=name, value=of(config)) for name, of in settings.items()]
        )
    except ValueError:
        return config
    return changed


def tried_text(tried: Sequence[TriedAlternative]) -> str:
    """The alternatives that helped, the best first; or that none of them would have."""
    before = format_chip_hours(tried[0].lost_us_before)
    helped = sorted((one for one in tried if one.has_helped), key=lambda one: one.lost_us)
    others = ", ".join(one.name for one in tried if not one.has_helped)
    if not helped:
        return f"{before} chip-hours lost; none of those tried would have helped: {others}"
    best = ", ".join(one.text for one in helped)
    return f"{before} chip-hours lost; less with {best}" + (f"; not with {others}" if others else "")
