"""Parameters: fields of a configuration that a person sets, each with what it means."""

from typing import Any

from pydantic import Field

from schemas.body import Model


def parameter(default: Any, text: str, *, unit: str, source: str, **bounds: Any) -> Any:
    """A field with what a person must know about it: meaning, unit and where the default comes from."""
    return Field(default, description=text, json_schema_extra={"unit": unit, "source": source}, **bounds)


def as_in(section: type[Model], name: str) -> Any:
    """The parameter as another section has it: the same meaning, bounds and default."""
    return section.model_fields[name]
