"""What a parameter is: a configuration field with description, unit, default source and allowed values.

The meaning of each one is the description of its field, in the module of its section: `failures.*` is in
`schemas/config/failures.py`, and so on. `runtime_parameters.py` lists the sections that are in a module of
another name, and the parameters that may change while the twin runs.
"""

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field, JsonValue
from pydantic.fields import FieldInfo

from schemas.body import Model
from schemas.limits import COUNT_MAX, OWNER_PATTERN, OWNERS_ALLOWED

SETTINGS_MAX = 200
"""Maximum number of parameters of one request; more than there are runtime parameters."""

ParameterName = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_]{0,39}(\.[a-z][a-z0-9_]{0,39})?$", examples=["failures.host_per_day"]),
]
ParameterValue = (
    bool
    | Annotated[int, Field(ge=-COUNT_MAX, le=COUNT_MAX)]
    | Annotated[float, Field(ge=-1e18, le=1e18, allow_inf_nan=False)]
    | Annotated[str, Field(max_length=1_000)]
    | None
)
"""A value of a parameter."""


def parameter_text(value: ParameterValue) -> str:
    """A value in the syntax of `--set`."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


class ParameterSetting(Model):
    """A new value of a parameter, which has a dotted name."""

    name: ParameterName
    value: ParameterValue


class ParameterChange(ParameterSetting):
    """A parameter that changed, with its previous value (`was`)."""

    was: ParameterValue


def parameter(
    default: Any, text: str, *, unit: str, source: str, allowed: str | None = None, **bounds: Any
) -> Any:
    """A configuration field with its description, unit, and the source of its default. `allowed` describes
    the allowed values of a text that has a syntax of its own."""
    extra: dict[str, JsonValue] = {"unit": unit, "source": source}
    if allowed is not None:
        extra["allowed"] = allowed
    return Field(default, description=text, json_schema_extra=extra, **bounds)


def same_parameter_as(section: type[Model], name: str) -> Any:
    """The parameter of another section: with the same description, bounds and default."""
    return section.model_fields[name]


def parameters_of(model: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    """Dotted name → parameter, in the order of the configuration."""
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= parameters_of(kind, f"{prefix}{name}.")
        elif field.json_schema_extra is not None:
            found[f"{prefix}{name}"] = field
    return found


def parameter_metadata(field: FieldInfo) -> dict[str, JsonValue]:
    """A parameter's unit, source and, for some, allowed values."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def value_types(field: FieldInfo) -> tuple[Any, ...]:
    """The types of a parameter; for a union, its members."""
    return get_args(field.annotation) or (field.annotation,)


def literal_values(field: FieldInfo) -> tuple[str, ...]:
    """The allowed words of a `Literal` parameter; empty for other parameters."""
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def single_allowed_value(field: FieldInfo) -> float | None:
    """The only number that the bounds allow; None if they allow more than one."""
    least = next((low for bound in field.metadata if (low := getattr(bound, "ge", None)) is not None), None)
    most = next((high for bound in field.metadata if (high := getattr(bound, "le", None)) is not None), None)
    return least if least == most else None


BOUND_TEXTS = {"gt": "above", "ge": "at least", "le": "at most", "lt": "below"}
"""Name of a bound → its words."""


def allowed_text(field: FieldInfo) -> str:
    """The allowed values of a parameter, in words."""
    kinds = value_types(field)
    if "allowed" in parameter_metadata(field):
        return str(parameter_metadata(field)["allowed"])
    if (only := single_allowed_value(field)) is not None:
        return f"{only:,}"
    if chosen := literal_values(field):
        return f"{', '.join(chosen[:-1])} or {chosen[-1]}"
    if bool in kinds:
        return "true or false"
    if str in kinds:
        patterns = {getattr(bound, "pattern", None) for bound in field.metadata}
        return OWNERS_ALLOWED if f"^{OWNER_PATTERN}$" in patterns else "text"
    words = "a number" if float in kinds else "a whole number"
    bounds = {
        attribute: f"{limit:,}" if abs(limit) < 1e15 else str(limit)
        for bound in field.metadata
        for attribute in BOUND_TEXTS
        if (limit := getattr(bound, attribute, None)) is not None
    }
    if bounds.keys() == {"ge", "le"}:
        words += f" between {bounds['ge']} and {bounds['le']}"
    elif bounds:
        phrase = " and ".join(f"{BOUND_TEXTS[name]} {limit}" for name, limit in bounds.items())
        words += f" of {phrase}" if phrase.startswith("at ") else f" {phrase}"
    return words + (" or none" if type(None) in kinds else "")
