"""Parameters: fields of a configuration that a person sets, each with what it means; and what may stand
there."""

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from schemas.body import Model
from schemas.limits import COUNT_MAX

SETTINGS_MAX = 200
"""Parameters of one request: more than there are that may change."""

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
"""What a single parameter can be set to."""


def parameter_text(value: ParameterValue) -> str:
    """A value as `--set` takes it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


class ParameterSetting(Model):
    """A parameter by its dotted name, and what it is to be."""

    name: ParameterName
    value: ParameterValue


class ParameterChange(ParameterSetting):
    """A parameter that was changed, and what it was before."""

    was: ParameterValue


def parameter(
    default: Any, text: str, *, unit: str, source: str, allowed: str | None = None, **bounds: Any
) -> Any:
    """A field with what a person must know about it: meaning, unit and where the default comes from; for a
    text that is read by a grammar of its own also what is allowed."""
    extra: dict[str, Any] = {"unit": unit, "source": source}
    if allowed is not None:
        extra["allowed"] = allowed
    return Field(default, description=text, json_schema_extra=extra, **bounds)


def same_parameter_as(section: type[Model], name: str) -> Any:
    """The parameter as another section has it: the same meaning, bounds and default."""
    return section.model_fields[name]


def parameters_of(model: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    """The parameters of a configuration by their dotted names, in its order."""
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= parameters_of(kind, f"{prefix}{name}.")
        elif field.json_schema_extra is not None:
            found[f"{prefix}{name}"] = field
    return found


def parameter_metadata(field: FieldInfo) -> dict[str, Any]:
    """What a parameter says about itself."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def value_types(field: FieldInfo) -> tuple[Any, ...]:
    """The types that a parameter may have: of a union its members."""
    return get_args(field.annotation) or (field.annotation,)


def literal_values(field: FieldInfo) -> tuple[str, ...]:
    """Of a parameter that is one of some words, which; of any other none."""
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def single_allowed_value(field: FieldInfo) -> float | None:
    """The one number that is allowed where the bounds leave no other; None where there are more."""
    least = next((low for bound in field.metadata if (low := getattr(bound, "ge", None)) is not None), None)
    most = next((high for bound in field.metadata if (high := getattr(bound, "le", None)) is not None), None)
    return least if least == most else None


def allowed_text(field: FieldInfo) -> str:
    """What a parameter may be, in words."""
    kinds = value_types(field)
    if "allowed" in parameter_metadata(field):
        return str(parameter_metadata(field)["allowed"])
    if (only := single_allowed_value(field)) is not None:
        return f"{only:,}"
    if chosen := literal_values(field):
        return f"{', '.join(chosen[:-1])} or {chosen[-1]}"
    if bool in kinds:
        return "true or false"
    words = "a number" if float in kinds else "a whole number"
    for bound in field.metadata:
        for attribute, text in (("gt", "above"), ("ge", "at least"), ("le", "at most"), ("lt", "below")):
            if (limit := getattr(bound, attribute, None)) is not None:
                words += f" {text} {limit:,}" if abs(limit) < 1e15 else f" {text} {limit}"
    return words + (" or none" if type(None) in kinds else "")
