"""`--set KEY=VALUE`: dotted parameter names, the table of parameters, and error texts for values."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ops.report.safe_text import QUOTED_MAX, dotted, quoted
from schemas.config.fabric_configs import CONFIGS, config_model
from schemas.config.parameter import (
    allowed_text,
    literal_values,
    parameter_metadata,
    parameters_of,
    single_allowed_value,
    value_types,
)
from schemas.config.planned_faults import PlannedFault
from schemas.config.pods import FabricConfig, SuperpodConfig
from schemas.config.runtime_parameters import RUNTIME_PARAMETERS
from schemas.config.workload import TraceRow
from schemas.limits import COUNT_MAX
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.spelling import closest_match
from shared.basics.value_words import has_zero_in_front, read_flag, read_number, read_whole
from shared.models.fabric_plants import check_demand
from shared.models.faults.fault_kinds import FAULTS

RECORDED: dict[str, tuple[str, type[BaseModel]]] = {
    "trace": ("recorded requests", TraceRow),
    "faults": ("recorded faults", PlannedFault),
}
"""Part of a configuration that is not a section of parameters → what it has, and the model of its rows."""
_DIGITS = re.compile(r"[-+]?[0-9]+")
DEFAULT_KIND = "superpod"
"""The default kind of a fabric."""


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """One parameter of the configuration, described for people."""

    name: str
    default: Any
    unit: str
    source: str
    allowed: str
    meaning: str


@cache
def parameters(kind: str = DEFAULT_KIND) -> tuple[ParameterInfo, ...]:
    """Every parameter of a kind of fabric that can be set, in the order of its configuration."""
    known = parameters_of(_model_of(kind))
    return tuple([_parameter_info(name, known[name]) for name in _settable(known)])


def _settable(known: Mapping[str, FieldInfo]) -> Iterator[str]:
    """The names of the parameters with more than one allowed value."""
    return (name for name, field in known.items() if single_allowed_value(field) is None)


def _model_of(kind: str) -> type[FabricConfig]:
    try:
        return config_model(kind, "--kind")
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def superpod_config(
    pairs: list[str], *, seed: int | None = None, trace: tuple[TraceRow, ...] | None = None
) -> SuperpodConfig:
    """The configuration of a superpod: the defaults, changed by `KEY=VALUE` settings."""
    found = config_from_pairs(DEFAULT_KIND, pairs, seed=seed, trace=trace)
    assert isinstance(found, SuperpodConfig)  # noqa: S101 -- the model of that kind
    return found


def to_sections(values: Mapping[str, object]) -> dict[str, object]:
    """Parameters by dotted name, converted to the sections of a file."""
    found: dict[str, object] = {}
    sections: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        section, _, field = name.rpartition(".")
        if section:
            found[section] = sections.setdefault(section, {})
            sections[section][field] = value
        else:
            found[field] = value
    return found


NO_TIME_HERE = (
    "only `lab run` and experiments change a parameter at a time; for a twin use `lightwave set` then"
)
"""The error for `--set KEY=VALUE@TIME` where parameters cannot change at a time."""


def merge_sections(base: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Merge two configurations section by section; values of `given` replace those of `base`."""
    found = dict(base)
    for name, value in given.items():
        below = base.get(name)
        found[name] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def config_from_pairs(
    kind: str,
    pairs: list[str],
    *,
    seed: int | None = None,
    trace: tuple[TraceRow, ...] | None = None,
    calibrated: Mapping[str, object] | None = None,
) -> FabricConfig:
    """The configuration of a kind of fabric.

    `KEY=VALUE` settings replace `calibrated` values (by dotted name), which replace the defaults. `seed` and
    `trace` have options of their own. Raises InvalidInput that names the key, the value and what is allowed.
    """
    model = _model_of(kind)
    known = parameters_of(model)
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise InvalidInput(f"--set {quoted(pair)}: not KEY=VALUE, such as workload.offered_load=0.8")
        if name not in known:
            shown = pair if pair.isprintable() and len(pair) <= QUOTED_MAX else quoted(pair)
            raise InvalidInput(f"--set {shown}: {_unknown(kind, name, known)}")
        if name in given:
            raise InvalidInput(f"--set {name}: given twice; leave one of them out")
        if "@" in text:
            raise InvalidInput(f"--set {quoted(pair)}: {NO_TIME_HERE}")
        if _is_list(known[name]):
            raise InvalidInput(
                f"--set {name}: takes {allowed_text(known[name])}, which --set cannot express; write a site "
                "file for --site, such as ops/sites/campus.yaml"
            )
        given[name] = _value(f"--set {name}", text.strip(), known[name])
    flat = {**(calibrated or {}), **given}
    if seed is not None and flat.setdefault("seed", seed) != seed:
        raise InvalidInput(f"--seed {seed}: --set seed={flat['seed']} differs; leave one of them out")
    values = to_sections(flat)
    if trace is not None:
        values["trace"] = trace
    try:
        found = model.model_validate(values)
    except ValidationError as error:
        raise InvalidInput(_complaint(model, kind, error, _option_of)) from None
    check_demand(found)
    return found


def _option_of(name: str) -> str:
    return "--seed" if name == "seed" else f"--set {name}"


def config_from_sections(kind: str, given: Mapping[str, object], where: str) -> FabricConfig:
    """The configuration of a kind: the defaults, changed by values in the sections of a file.

    Raises InvalidInput that names the field by its path, which starts with `where`.
    """
    model = _model_of(kind)
    try:
        # Strict models accept lists for tuples only in JSON.
        found = model.model_validate_json(json.dumps(given))
        check_demand(found)
    except ValidationError as error:
        raise InvalidInput(_complaint(model, kind, error, lambda name: f"{where}.{name}")) from None
    except InvalidInput as error:
        raise InvalidInput(f"{where}.{error}") from None
    return found


def _complaint(
    model: type[FabricConfig], kind: str, error: ValidationError, label: Callable[[str], str]
) -> str:
    """The sentence for the first validation error. `label` converts a parameter name to the form in which it
    was given."""
    first = error.errors()[0]
    known = parameters_of(model)
    # Parameters are two levels deep, and fields of their rows four. Errors inside a value name the value.
    row = _row(known.get(".".join(map(str, first["loc"][:2]))))
    place = first["loc"][: 3 if row is None else 4]
    name = label(dotted(*place))
    if first["type"] == "value_error":  # contradicting values: the model names them
        problem = str(first["ctx"]["error"])
        return f"{name}.{problem}" if place else label(problem)
    if first["type"] == "missing" and len(first["loc"]) <= len(place):
        return f"{name}: is missing"
    if first["type"] == "extra_forbidden":
        if row is not None:
            fields = row.model_fields
            return (
                f"{name}: no such field; must be one of "
                f"{', '.join(fields)}{closest_match_hint(str(place[3]), fields)}"
            )
        return f"{name}: {_unknown(kind, '.'.join(map(str, place)), known)}"
    return f"{name}: {quoted(first['input'])} is not allowed; must be {_allowed_at(place, known)}"


def _allowed_at(place: Sequence[str | int], known: Mapping[str, FieldInfo]) -> str:
    """The allowed values at a place: a parameter, one of its rows, or a section."""
    if (key := ".".join(map(str, place))) in known:
        return allowed_text(known[key])
    repeated = known.get(".".join(map(str, place[:2])))
    if repeated is None:
        return _contents(place, known)
    row = _row(repeated)
    return allowed_text(repeated if row is None or len(place) < 4 else row.model_fields[str(place[3])])


def _is_list(field: FieldInfo) -> bool:
    """Whether a parameter is a list of values."""
    return get_origin(field.annotation) is tuple


def _row(field: FieldInfo | None) -> type[BaseModel] | None:
    """The model of a parameter's rows; None for a parameter without rows."""
    kind = get_args(field.annotation)[0] if field is not None and _is_list(field) else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _unknown(kind: str, name: str, known: Mapping[str, FieldInfo]) -> str:
    near = closest_match(name, known, similarity=0.5)
    listing = "lightwave lab config" + ("" if kind == DEFAULT_KIND else f" --kind {kind}")
    return f"no such parameter; {f'did you mean {near}?' if near else f'`{listing}` lists them'}"


def _contents(place: Sequence[str | int], known: Mapping[str, FieldInfo]) -> str:
    """The allowed values of a section, or of recorded requests and faults."""
    section, *inside = place
    if section not in RECORDED:
        return f"parameters by name, such as {next(n for n in known if n.startswith(f'{section}.'))}"
    what, row = RECORDED[str(section)]
    if len(inside) < 2:
        return f"{what}, each with {', '.join(row.model_fields)}"
    field = str(inside[1])
    if field == "shape":
        return "three sides in chips, such as [4, 4, 8]"
    if field == "kind":
        return f"one of {', '.join(FAULTS)}"
    return allowed_text(row.model_fields[field])


def _value(label: str, text: str, field: FieldInfo) -> Any:
    """Convert text to the field's type, because strict models do not. Raises InvalidInput that starts with
    `label`."""
    kinds = value_types(field)
    if text.lower() in ("none", "null") and type(None) in kinds:
        return None
    try:
        if words := literal_values(field):
            return {word.lower(): word for word in words}[text.lower()]
        if str in kinds:
            return text
        found = read_flag(text) if bool in kinds else _number(text, whole=float not in kinds)
        if found is None:
            raise ValueError(text)
        return found
    except (KeyError, ValueError):
        hint = closest_match_hint(text.upper(), literal_values(field), similarity=0.3)
        hint = "; write it without a zero in front" if has_zero_in_front(text) else hint
        if read_number(text) is not None and abs(float(text)) > COUNT_MAX and float not in kinds:
            hint = f", and at most {COUNT_MAX:,}"
        raise InvalidInput(
            f"{label}: {quoted(text)} is not allowed; must be {allowed_text(field)}{hint}"
        ) from None


def _number(text: str, *, whole: bool) -> int | float | None:
    """The number of a text. A whole one is written with digits alone, as in YAML, where `1e1` and `10.0` are
    fractions."""
    if not whole:
        return read_number(text)
    return read_whole(text) if _DIGITS.fullmatch(text) else None


def value_type(kind: str, name: str) -> type[bool] | type[int] | type[float] | type[str]:
    """The type of a parameter's values, other than None."""
    field = parameters_of(_model_of(kind))[name]
    if literal_values(field):
        return str
    return next((one for one in (bool, str, float) if one in value_types(field)), int)


def takes_whole_numbers(name: str) -> bool:
    """Whether a parameter of any kind of fabric takes whole numbers only."""
    return any(
        name in parameters_of(model) and value_type(kind, name) is int for kind, model in CONFIGS.items()
    )


def parse_value(kind: str, name: str, text: str, option: str = "--set ") -> bool | int | float | str | None:
    """Parse the value of `--set NAME=TEXT`. Raises InvalidInput if it does not have the parameter's type; the
    error starts with the option and the name."""
    field = parameters_of(_model_of(kind))[name]
    found: bool | int | float | str | None = _value(f"{option}{name}", text, field)
    return found


def parse_pairs(kind: str, pairs: Sequence[str]) -> dict[str, bool | int | float | str | None]:
    """Parse `KEY=VALUE` settings for a running fabric. The twin checks whether they may change at run
    time."""
    known = parameters_of(_model_of(kind))
    found: dict[str, bool | int | float | str | None] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise InvalidInput(f"{quoted(pair)}: not KEY=VALUE, such as failures.host_per_day=0.002")
        if name in found:
            raise InvalidInput(f"{name}: given twice; leave one of them out")
        if name not in known:
            near = closest_match(name, [one for one in RUNTIME_PARAMETERS if one in known], similarity=0.5)
            hint = f"did you mean {near}? " if near else ""
            raise InvalidInput(
                f"{name}: not a parameter of a {kind}; {hint}`lightwave set --list` shows them"
            )
        single = not _is_list(known[name])
        value = parse_value(kind, name, text, option="") if single else text
        if isinstance(value, float) and not math.isfinite(value):  # messages must not contain it
            raise InvalidInput(f"{name}: {text} is not allowed; must be {allowed_text(known[name])}")
        found[name] = value
    return found


def _parameter_info(name: str, field: FieldInfo) -> ParameterInfo:
    info = parameter_metadata(field)
    return ParameterInfo(
        name=name,
        default=_plain_value(field.default),
        unit=str(info["unit"]),
        source=str(info["source"]),
        allowed=allowed_text(field),
        meaning=field.description or "",
    )


def _plain_value(value: Any) -> Any:
    """A value in the form of a file; rows have the fields that were set."""
    if isinstance(value, tuple):
        return [one.model_dump(exclude_unset=True) if isinstance(one, BaseModel) else one for one in value]
    return value
