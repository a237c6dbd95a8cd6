"""The parameters that may change while a fabric lives: which they are, who goes by them, and a configuration
with other values of them.

What is not named here decides what there is to be simulated (hardware, seeds, the mix), or what was drawn of
it long ago, and stays as a fabric was commissioned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from schemas.body import Model
from schemas.config import FabricConfig
from schemas.config_by_kind import CONFIGS
from schemas.parameter import Change, ParameterValue, Setting, allowed_of, as_set, parameters_of

SHOWN_MAX = 60
"""Characters of a value that a refusal repeats."""
HINT = "`lightwave set --list` tells all that may be set"


def _rates(*names: str) -> dict[str, tuple[str, ...]]:
    return {f"failures.{name}": ("failures",) for name in names}


def _of(service: str, section: str, *names: str) -> dict[str, tuple[str, ...]]:
    return {f"{section}.{name}": (service,) for name in names}


LIVING: dict[str, tuple[str, ...]] = {
    **_of("workload", "workload", "offered_load", "slices_per_day", "balk_above_h"),
    **_of("workload", "workload", "production_share", "production_share_large", "filler"),
    **_of("workload", "workload", "startup_s", "checkpoint_every_s", "checkpoint_write_s"),
    **_of("scheduler", "scheduler", "queue_max", "backfill", "grace_s", "production_waits_h"),
    **_of("scheduler", "scheduler", "research_waits_h", "research_runs_h", "retries_max"),
    **_of("scheduler", "scheduler", "hold_back", "hold_back_cubes", "hold_back_slice_cubes"),
    **_of("scheduler", "scheduler", "hold_back_host_availability", "hold_back_target"),
    **_of("scheduler", "scheduler", "decision_s", "preflight_s", "hot_spares"),
    **_of("jobs", "jobs", "hang_share", "error_s", "hang_s"),
    "transceivers.telemetry_interval_s": ("ocs", "transceivers"),
    "transceivers.look_interval_s": ("diagnosis", "transceivers"),
    "cubes.heartbeat_s": ("cubes", "scheduler"),
    **_of("cubes", "cubes", "maintenance_per_day", "maintenance_h", "rollout_cubes", "rollout_h"),
    "traffic.telemetry_interval_s": ("ocs", "traffic"),
    **_of("traffic", "traffic", "hedge", "slack", "react_s"),
    **_of("topology", "topology", "approval", "use_above", "served_below", "transit_above"),
    **_of("topology", "topology", "transit_gain_min", "gain_min", "every_h", "wait_h"),
    **_of("repairs", "repairs", "technicians", "fibre_technicians"),
    "repairs.ocs_repair_h": ("repairs", "scheduler"),
    "repairs.host_repair_h": ("repairs", "scheduler"),
    "repairs.link_repair_h": ("repairs", "scheduler"),
    **_of("repairs", "repairs", "clean_h", "reseat_h", "cable_repair_h", "cube_repair_h"),
    **_of("repairs", "repairs", "block_repair_h", "bundle_repair_h", "rack_repair_h"),
    **_of("repairs", "repairs", "control_repair_h", "power_repair_h"),
    **_of("repairs", "repairs", "off_hours_technicians", "off_hours_fibre_technicians"),
    **_of("repairs", "repairs", "spares_lead_days", "misdiagnosed", "burn_in_h"),
    **_rates("enabled", "host_per_day", "cable_per_day", "link_per_day", "optics_per_day"),
    **_rates("ocs_per_day", "stray_per_day", "chip_per_day", "power_per_day", "cooling_per_day"),
    **_rates("batch_per_day", "block_per_day", "bundle_per_day", "rack_per_day", "control_per_day"),
    **_rates("power_outage_h", "cooling_outage_h"),
}
"""Parameter → the services that go by it, in name order. What it may be, its configuration says."""


@dataclass(frozen=True, slots=True)
class LivingParameter:
    """A parameter of a kind of fabric that may change while one lives."""

    name: str
    allowed: str
    unit: str
    services: tuple[str, ...]
    meaning: str


def living_parameters(kind: str) -> list[LivingParameter]:
    """Those of a kind of fabric, in the order of its configuration."""
    return [
        LivingParameter(
            name=name,
            allowed=allowed_of(field),
            unit=str((field.json_schema_extra or {})["unit"]),  # type: ignore[index]  # parameters have one
            services=LIVING[name],
            meaning=field.description or "",
        )
        for name, field in parameters_of(CONFIGS[kind]).items()
        if name in LIVING
    ]


def value_in(config: FabricConfig, name: str) -> ParameterValue:
    """What a parameter is in a configuration; AttributeError where it has none of this name."""
    section, _, field = name.rpartition(".")
    found: ParameterValue = getattr(getattr(config, section) if section else config, field)
    return found


def with_settings(
    config: FabricConfig, settings: Sequence[Setting]
) -> tuple[FabricConfig, tuple[Change, ...]]:
    """(A configuration with these values, those of them that it had not before). ValueError names the
    parameter, the value and what is allowed, where one of them may not be: then none is set."""
    given: dict[str, ParameterValue] = {}
    for setting in settings:
        _check_may_change(config.kind, setting)
        if setting.name in given:
            raise ValueError(f"{setting.name}: given twice; leave one of them out")
        given[setting.name] = setting.value
    found = _validated(config, given)
    changes = (Change(name=name, value=value_in(found, name), was=value_in(config, name)) for name in given)
    return found, tuple(change for change in changes if change.value != change.was)


def _check_may_change(kind: str, setting: Setting) -> None:
    """ValueError unless a kind of fabric has the parameter, and it may change while one lives."""
    name = setting.name
    if name in parameters_of(CONFIGS[kind]):
        if name not in LIVING:
            raise ValueError(
                f"{name} {_shown(setting.value)}: stays as the fabric was commissioned; {_beside(kind, name)}"
            )
        return
    having = [other for other, model in CONFIGS.items() if name in parameters_of(model)]
    of_others = f"a parameter of {' and '.join(having)}, which a {kind} has not"
    whose = of_others if having else "no such parameter"
    raise ValueError(f"{name} {_shown(setting.value)}: {whose}; {_beside(kind, name)}")


def _beside(kind: str, name: str) -> str:
    """What else may be set in a parameter's section."""
    section = name.rpartition(".")[0]
    near = [one.name for one in living_parameters(kind) if section and one.name.startswith(f"{section}.")]
    return f"allowed are {', '.join(near)}; {HINT}" if near else HINT


def _validated(config: FabricConfig, given: Mapping[str, ParameterValue]) -> FabricConfig:
    """The configuration with these values. Only their sections are read again, and then what sections have to
    observe together: a recorded trace may be long."""
    sections: dict[str, Model] = {}
    for section in dict.fromkeys(name.rpartition(".")[0] for name in given):
        before: Model = getattr(config, section)
        values = dict(before) | {
            name.rpartition(".")[2]: value for name, value in given.items() if name.startswith(f"{section}.")
        }
        try:
            sections[section] = type(before).model_validate(values)
        except ValidationError as error:
            raise ValueError(_complaint(config, error, section)) from None
    try:
        return type(config).model_validate(dict(config) | sections)
    except ValidationError as error:
        raise ValueError(_complaint(config, error)) from None


def _complaint(config: FabricConfig, error: ValidationError, section: str = "") -> str:
    first = error.errors()[0]
    name = ".".join(filter(None, (section, *map(str, first["loc"][:1]))))
    if first["type"] == "value_error":  # values that do not go together: the model says which
        said = str(first["ctx"]["error"])
        return f"{name}.{said}" if name else said
    allowed = allowed_of(parameters_of(type(config))[name])
    return f"{name}: {_shown(first['input'])} is not allowed; allowed: {allowed}"


def _shown(value: ParameterValue) -> str:
    text = as_set(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
