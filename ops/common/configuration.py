"""`--set KEY=VALUE`: dotted names of the configuration, its parameters as a table, and what is wrong with a
value.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from schemas.config import FabricConfig, SuperpodConfig, TraceRow
from schemas.config_by_kind import config_model
from shared.basics.checks import nearest_word
from shared.basics.errors import InvalidInput
from shared.basics.words import nearest


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the configuration, as a person needs to know it."""

    name: str
    default: Any
    unit: str
    source: str
    allowed: str
    meaning: str


def parameters(kind: str = "superpod") -> list[Parameter]:
    """Every parameter that `--set` takes for a kind of fabric, in the order of its configuration."""
    return [_described(name, field) for name, field in _fields(_model_of(kind)).items()]


def _model_of(kind: str) -> type[FabricConfig]:
    try:
        return config_model(kind, "--kind")
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def settings(
    pairs: list[str], *, seed: int | None = None, trace: tuple[TraceRow, ...] | None = None
) -> SuperpodConfig:
    """The configuration of a superpod with these `KEY=VALUE` settings over the defaults."""
    found = settings_of("superpod", pairs, seed=seed, trace=trace)
    assert isinstance(found, SuperpodConfig)  # noqa: S101 -- the model of that kind
    return found


def settings_of(
    kind: str, pairs: list[str], *, seed: int | None = None, trace: tuple[TraceRow, ...] | None = None
) -> FabricConfig:
    """The configuration of a kind of fabric with these `KEY=VALUE` settings over the defaults.

    InvalidInput names the key, the value and what is allowed. `seed` and `trace` have options of their own.
    """
    model = _model_of(kind)
    known = _fields(model)
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise InvalidInput(f"--set {pair!r}: not KEY=VALUE, such as workload.offered_load=0.8")
        if name not in known:
            near = nearest(name, known, alike=0.5)
            hint = f"did you mean {near}?" if near else "`lightwave lab config` lists them"
            raise InvalidInput(f"--set {name}={text}: no such parameter; {hint}")
        section, _, field = name.rpartition(".")
        place = values.setdefault(section, {}) if section else values
        place[field] = _value(name, text.strip(), known[name])
    if seed is not None:
        values["seed"] = seed
    if trace is not None:
        values["trace"] = trace
    return _validated(model, values)


def _validated(model: type[FabricConfig], values: dict[str, Any]) -> FabricConfig:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "value_error":  # two values that do not go together: the model says which
            raise InvalidInput(f"--set {name}.{first['ctx']['error']}") from None
        field = _fields(model)[name]
        option = "--seed" if name == "seed" else f"--set {name}"
        raise InvalidInput(
            f"{option}: {first['input']!r} is not allowed; allowed: {_allowed(field)}"
        ) from None


def _value(name: str, text: str, field: FieldInfo) -> Any:
    """The text as the field's type; strict models coerce nothing, so it happens here."""
    kinds = _kinds(field)
    if text.lower() in ("none", "null") and type(None) in kinds:
        return None
    try:
        if words := _words(field):
            return {word.lower(): word for word in words}[text.lower()]
        if bool in kinds:
            return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}[
                text.lower()
            ]
        return float(text) if float in kinds else int(text)
    except (KeyError, ValueError):
        hint = nearest_word(text.upper(), _words(field), alike=0.3)
        raise InvalidInput(
            f"--set {name}: {text!r} is not allowed; allowed: {_allowed(field)}{hint}"
        ) from None


def _kinds(field: FieldInfo) -> tuple[Any, ...]:
    """The types that a field may have: of a union its members."""
    return get_args(field.annotation) or (field.annotation,)


def _words(field: FieldInfo) -> tuple[str, ...]:
    """Of a field that is one of some words, which; of any other none."""
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def _allowed(field: FieldInfo) -> str:
    kinds = _kinds(field)
    if chosen := _words(field):
        return f"{', '.join(chosen[:-1])} or {chosen[-1]}"
    if bool in kinds:
        return "true or false"
    words = "a number" if float in kinds else "a whole number"
    for bound in field.metadata:
        for attribute, text in (("gt", "above"), ("ge", "at least"), ("le", "at most"), ("lt", "below")):
            if (limit := getattr(bound, attribute, None)) is not None:
                words += f" {text} {limit:,}" if abs(limit) < 1e15 else f" {text} {limit}"
    return words + (" or none" if type(None) in kinds else "")


def _fields(model: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= _fields(kind, f"{prefix}{name}.")
        elif field.json_schema_extra is not None:
            found[f"{prefix}{name}"] = field
    return found


def _described(name: str, field: FieldInfo) -> Parameter:
    extra = field.json_schema_extra
    about: dict[str, Any] = extra if isinstance(extra, dict) else {}
    return Parameter(
        name=name,
        default=field.default,
        unit=str(about["unit"]),
        source=str(about["source"]),
        allowed=_allowed(field),
        meaning=field.description or "",
    )
