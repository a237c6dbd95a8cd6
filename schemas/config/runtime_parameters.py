"""Runtime parameters: those that may change while a fabric runs, the services that use them, and how new
values are applied to a configuration.

All other parameters are fixed at commissioning: they define the simulated hardware, seeds and mix, or have
already been used for draws.

The meaning of each parameter is its description in the class of its section, in `schemas/config`: `cubes.*`
and `jobs.*` in `cubes.py`; `pod.*` and `ocs.*` in `pods.py`; `demand.*`, `traffic.*`, `topology.*` and
`trunks.*` in `dcn.py`; `network.*` in `network_hardware.py`; every other section in the file of its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from schemas.body import Model
from schemas.config.fabric_configs import CONFIGS
from schemas.config.parameter import (
    ParameterChange,
    ParameterSetting,
    ParameterValue,
    allowed_text,
    parameter_text,
    parameters_of,
)
from schemas.config.pods import FabricConfig

ValueT = TypeVar("ValueT", int, float)

VALUE_SHOWN_MAX = 60
"""Maximum number of characters of a value in an error."""
HINT = "`lightwave set --list` lists all parameters that may be set"


def _failure_rates(*names: str) -> dict[str, tuple[str, ...]]:
    return {f"failures.{name}": ("failures",) for name in names}


def _parameters(service: str, section: str, *names: str) -> dict[str, tuple[str, ...]]:
    return {f"{section}.{name}": (service,) for name in names}


RUNTIME_PARAMETERS: dict[str, tuple[str, ...]] = {
    **_parameters("workload", "workload", "offered_load", "slices_per_day", "balk_above_h"),
    **_parameters("workload", "workload", "production_share", "production_share_large", "filler"),
    **_parameters("workload", "workload", "startup_s", "checkpoint_every_s", "checkpoint_write_s"),
    **_parameters("scheduler", "scheduler", "queue_max", "backfill", "grace_s", "production_waits_h"),
    **_parameters("scheduler", "scheduler", "research_waits_h", "research_runs_h", "retries_max"),
    **_parameters("scheduler", "scheduler", "hold_back", "hold_back_cubes", "hold_back_slice_cubes"),
    **_parameters("scheduler", "scheduler", "hold_back_host_availability", "hold_back_target"),
    **_parameters("scheduler", "scheduler", "decision_s", "preflight_s", "hot_spares"),
    **_parameters("jobs", "jobs", "hang_share", "error_s", "hang_s"),
    "transceivers.telemetry_interval_s": ("ocs", "transceivers"),
    "transceivers.inspection_interval_s": ("diagnosis", "transceivers"),
    "cubes.heartbeat_s": ("cubes", "scheduler"),
    **_parameters("cubes", "cubes", "maintenance_per_day", "maintenance_h", "rollout_cubes", "rollout_h"),
    "traffic.telemetry_interval_s": ("ocs", "traffic"),
    **_parameters("traffic", "traffic", "hedge", "slack", "react_s"),
    **_parameters("topology", "topology", "approval", "use_above", "served_below", "transit_above"),
    **_parameters("topology", "topology", "transit_gain_min", "gain_min", "every_h", "wait_h"),
    **_parameters("repairs", "repairs", "technicians", "fibre_technicians"),
    "repairs.ocs_repair_h": ("repairs", "scheduler"),
    "repairs.host_repair_h": ("repairs", "scheduler"),
    "repairs.link_repair_h": ("repairs", "scheduler"),
    **_parameters("repairs", "repairs", "clean_h", "reseat_h", "cable_repair_h", "cube_repair_h"),
    **_parameters("repairs", "repairs", "block_repair_h", "bundle_repair_h", "rack_repair_h"),
    **_parameters("repairs", "repairs", "control_repair_h", "power_repair_h"),
    **_parameters("repairs", "repairs", "off_hours_technicians", "off_hours_fibre_technicians"),
    **_parameters("repairs", "repairs", "host_spares", "link_spares", "ocs_spares", "spares_lead_days"),
    **_parameters("repairs", "repairs", "misdiagnosed", "burn_in_h"),
    **_failure_rates("enabled", "host_per_day", "cable_per_day", "link_per_day", "optics_per_day"),
    **_failure_rates("ocs_per_day", "stray_per_day", "chip_per_day", "power_per_day", "cooling_per_day"),
    **_failure_rates("batch_per_day", "block_per_day", "bundle_per_day", "rack_per_day", "control_per_day"),
    **_failure_rates("power_outage_h", "cooling_outage_h"),
}
"""Parameter → the services that use it, in name order. The configuration defines its bounds."""


@dataclass(frozen=True, slots=True)
class RuntimeParameter:
    """A parameter of a kind of fabric that may change at run time."""

    name: str
    allowed: str
    unit: str
    services: tuple[str, ...]
    meaning: str


def runtime_parameters(kind: str) -> list[RuntimeParameter]:
    """The runtime parameters of a kind of fabric, in the order of its configuration."""
    return [
        RuntimeParameter(
            name=name,
            allowed=allowed_text(field),
            unit=str((field.json_schema_extra or {})["unit"]),  # type: ignore[index]  # parameters have one
            services=RUNTIME_PARAMETERS[name],
            meaning=field.description or "",
        )
        for name, field in parameters_of(CONFIGS[kind]).items()
        if name in RUNTIME_PARAMETERS
    ]


def parameter_value(config: FabricConfig, name: str) -> ParameterValue:
    """The value of a parameter; AttributeError if the configuration has no such parameter."""
    value: ParameterValue = _value(config, name)
    return value


def parameter_or(config: FabricConfig, name: str, default: ValueT) -> ValueT:
    """The value of a parameter; `default`, which is of its type, if its kind of fabric does not have it."""
    if name not in parameters_of(type(config)):
        return default
    value: ValueT = _value(config, name)
    return value


def _value(config: FabricConfig, name: str) -> Any:
    section, _, field = name.rpartition(".")
    return getattr(getattr(config, section) if section else config, field)


def with_settings(
    config: FabricConfig, settings: Sequence[ParameterSetting]
) -> tuple[FabricConfig, tuple[ParameterChange, ...]]:
    """(configuration with these values, the settings that changed it). If a setting is not allowed,
    ValueError names the parameter, the value and what it must be, and none is set."""
    given: dict[str, ParameterValue] = {}
    for setting in settings:
        _check_may_change(config.kind, setting)
        if setting.name in given:
            raise ValueError(f"{setting.name}: given twice; leave one of them out")
        given[setting.name] = setting.value
    found = _validated(config, given)
    changes = (
        ParameterChange(name=name, value=parameter_value(found, name), was=parameter_value(config, name))
        for name in given
    )
    return found, tuple(change for change in changes if change.value != change.was)


def _check_may_change(kind: str, setting: ParameterSetting) -> None:
    """ValueError unless the kind of fabric has the parameter, and it may change at run time."""
    name = setting.name
    if name in parameters_of(CONFIGS[kind]):
        if name not in RUNTIME_PARAMETERS:
            raise ValueError(
                f"{name} {_shown(setting.value)}: cannot change after the "
                f"fabric is commissioned; {_alternatives(kind, name)}"
            )
        return
    having = [other for other, model in CONFIGS.items() if name in parameters_of(model)]
    of_others = f"a parameter of {' and '.join(having)}, which a {kind} does not have"
    whose = of_others if having else "no such parameter"
    raise ValueError(f"{name} {_shown(setting.value)}: {whose}; {_alternatives(kind, name)}")


def _alternatives(kind: str, name: str) -> str:
    """The runtime parameters of the same section, or the hint to list them all."""
    section = name.rpartition(".")[0]
    near = [one.name for one in runtime_parameters(kind) if section and one.name.startswith(f"{section}.")]
    return f"must be one of {', '.join(near)}; {HINT}" if near else HINT


def _validated(config: FabricConfig, given: Mapping[str, ParameterValue]) -> FabricConfig:
    """The configuration with these values. Only their sections are validated in full, and then the rules
    between sections, because a recorded trace may be long."""
    sections: dict[str, Model] = {}
    for section in dict.fromkeys(name.rpartition(".")[0] for name in given):
        before: Model = getattr(config, section)
        values = dict(before) | {
            name.rpartition(".")[2]: value for name, value in given.items() if name.startswith(f"{section}.")
        }
        try:
            sections[section] = type(before).model_validate(values)
        except ValidationError as error:
            raise ValueError(_sentence(config, error, section)) from None
    try:
        return type(config).model_validate(dict(config) | sections)
    except ValidationError as error:
        raise ValueError(_sentence(config, error)) from None


def _sentence(config: FabricConfig, error: ValidationError, section: str = "") -> str:
    first = error.errors()[0]
    name = ".".join(filter(None, (section, *map(str, first["loc"][:1]))))
    if first["type"] == "value_error":  # values that do not go together: the model says which
        problem = str(first["ctx"]["error"])
        return f"{name}.{problem}" if name else problem
    allowed = allowed_text(parameters_of(type(config))[name])
    return f"{name}: {_shown(first['input'])} is not allowed; must be {allowed}"


def _shown(value: ParameterValue) -> str:
    text = "null" if value is None else parameter_text(value)
    return text if len(text) <= VALUE_SHOWN_MAX else f"{text[:VALUE_SHOWN_MAX]}…"
