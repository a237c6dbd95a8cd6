"""Parameters: fields of a configuration that a person sets, each with what it means."""

from typing import Any

from pydantic import Field

from schemas.body import Model


def parameter(
    default: Any, text: str, *, unit: str, source: str, allowed: str | None = None, **bounds: Any
) -> Any:
    """A field with what a person must know about it: meaning, unit and where the default comes from; for a
    text that is read by a grammar of its own also what is allowed."""
    extra: dict[str, Any] = {"unit": unit, "source": source}
    if allowed is not None:
        extra["allowed"] = allowed
    return Field(default, description=text, json_schema_extra=extra, **bounds)


def as_in(section: type[Model], name: str) -> Any:
    """The parameter as another section has it: the same meaning, bounds and default."""
    return section.model_fields[name]
