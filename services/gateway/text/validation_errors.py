"""Sentences for invalid values: the field, its value, and what is wrong."""

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from schemas.names import CROSS_CONNECT_PATTERN
from shared.basics.spelling import truncated

JSON_WORDS = {
    "dict_type": "input should be a JSON object",
    "model_type": "input should be a JSON object",
    "model_attributes_type": "input should be a JSON object",
    "list_type": "input should be a list",
    "tuple_type": "input should be a list",
}
"""Plain texts for pydantic errors that use Python terms."""
PATTERN_TEXTS = {CROSS_CONNECT_PATTERN: "input should be two ports, such as 1A-5B"}
"""Pattern → what a text of this pattern is."""
SCALARS = {"bool": "true or false", "int": "a number", "float": "a number", "str": "a text"}
"""Python type → what a value of this type is."""


def invalid_sentence(errors: Sequence[ErrorDetails], model: type[BaseModel] | None = None) -> str:
    """The first pydantic error as a sentence with field and value. If `model` is given, the sentence about an
    unknown field lists the valid ones."""
    first = _first_error(errors)
    if first["type"] == "json_invalid":
        return f"body: not JSON: {first.get('ctx', {}).get('error', 'unreadable')}"
    place = [step for step in first["loc"] if step not in ("body", "query", "path", "header")]
    if not place and first["type"] not in ("missing", "value_error"):
        return "body: not a JSON object (its Content-Type must be application/json)"
    field = truncated(".".join(map(str, place))) or "body"
    if first["type"] == "missing":
        return f"{field}: missing"
    if first["type"] == "value_error":  # the model's own sentence, which names what it is about
        return f"{field}.{first['ctx']['error']}"
    shown = truncated(shown_value(first.get("input")))
    if first["type"] == "extra_forbidden":
        known = _fields(model, place[:-1])
        return f"{field} {shown}: no such field{f'; must be one of {known}' if known else ''}"
    return f"{field} {shown}: {problem_text(first)}"


def _first_error(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """The first error. If a value fits no type of a union of scalars, there is one error for each type; of
    these, the first one about more than the type."""
    first = errors[0]
    by_type = {
        str(error["loc"][-1]).removeprefix("constrained-"): error
        for error in errors
        if error["loc"] and error["loc"][:-1] == first["loc"][:-1]
    }
    if len(by_type) < 2 or not by_type.keys() <= SCALARS.keys():
        return first
    kinds = ", ".join(dict.fromkeys(SCALARS[name] for name in by_type))
    unfit: ErrorDetails = {**first, "type": "scalar_type", "msg": f"input should be one of: {kinds}"}
    specific = [error for error in by_type.values() if not error["type"].endswith("_type")]
    return {**next(iter(specific), unfit), "loc": first["loc"][:-1]}


def problem_text(error: ErrorDetails) -> str:
    """What is wrong with a value, without Python terms."""
    if error["type"] == "too_long":
        return f"input should have at most {error['ctx']['max_length']:,} items"
    if error["type"] == "too_short":
        least = error["ctx"]["min_length"]
        return f"input should have at least {least:,} item{'s' if least > 1 else ''}"
    if error["type"] == "string_pattern_mismatch" and error["ctx"]["pattern"] in PATTERN_TEXTS:
        return PATTERN_TEXTS[error["ctx"]["pattern"]]
    if error["type"] == "union_tag_invalid":
        return f"{error['ctx']['discriminator']} must be one of {error['ctx']['expected_tags']}"
    if error["type"] == "union_tag_not_found":
        return f"must have the field {error['ctx']['discriminator']}, which selects its type"
    text = str(error["msg"])
    return JSON_WORDS.get(error["type"], f"{text[:1].lower()}{text[1:]}")


def shown_value(value: object) -> str:
    """A value as a user would write it: a text in quotes; null, true, false, lists and objects as JSON."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _fields(model: type[BaseModel] | None, place: Sequence[str | int]) -> str:
    """The fields at a place within a model. List items have the fields of their type. Of a union, the place
    has the tag of the member."""
    models = [] if model is None else [model]
    for step in place:
        if not isinstance(step, str):
            continue
        inner = [
            found
            for one in models
            if step in one.model_fields
            for found in _models_in(one.model_fields[step].annotation)
        ]
        models = inner or [one for one in models if _has_tag(one, step)]
    return ", ".join(models[0].model_fields) if models else ""


def _has_tag(model: type[BaseModel], tag: str) -> bool:
    """Whether a member of a union has this tag."""
    return any(tag in get_args(field.annotation) for field in model.model_fields.values())


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that a field of this type contains, alone, in a list or as a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models_in(inner)]
