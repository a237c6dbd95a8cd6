"""Sentences for invalid values: the field, its value, and what is wrong."""

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from schemas.limits import OWNER_PATTERN, OWNERS_ALLOWED
from schemas.names import CROSS_CONNECT_PATTERN
from shared.basics.spelling import truncated

TEXTS = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a JSON object",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number with fewer digits",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_attributes_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
}
"""Type of pydantic error → what the value must be."""
BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
"""Type of pydantic error → (word, key of the bound in its context)."""
LENGTHS = {
    "string_too_long": ("at most", "max_length", "character"),
    "string_too_short": ("at least", "min_length", "character"),
    "too_long": ("at most", "max_length", "item"),
    "too_short": ("at least", "min_length", "item"),
}
"""Type of pydantic error → (word, key of the bound in its context, unit)."""
PATTERN_TEXTS = {
    CROSS_CONNECT_PATTERN: "must be two ports, such as 1A-5B",
    f"^{OWNER_PATTERN}$": f"must be {OWNERS_ALLOWED}",
}
"""Pattern → what a string of this pattern must be."""
SCALARS = {"bool": "true or false", "int": "a number", "float": "a number", "str": "a string"}
"""Python type → what a value of this type is."""
_EXPECTED = "Input should "
"""The start of pydantic's own texts."""


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
        return f"{field}.{first['ctx']['error']}" if place else str(first["ctx"]["error"])
    shown = truncated(shown_value(first.get("input")))
    if first["type"] == "extra_forbidden":
        known = _fields(model, place[:-1])
        return f"{field}: no such field{f'; must be one of {known}' if known else ''}"
    return f"{field}: {shown} is not allowed; {problem_text(first)}"


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
    unfit: ErrorDetails = {**first, "type": "scalar_type", "msg": f"{_EXPECTED}be one of: {kinds}"}
    specific = [error for error in by_type.values() if not error["type"].endswith("_type")]
    return {**next(iter(specific), unfit), "loc": first["loc"][:-1]}


def problem_text(error: ErrorDetails) -> str:
    """What a value must be, without pydantic's and Python's terms."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in BOUNDS:
        word, key = BOUNDS[kind]
        return f"must be {word} {_number_text(context[key])}"
    if kind in LENGTHS:
        word, key, unit = LENGTHS[kind]
        return f"must have {word} {context[key]:,} {unit}{'' if context[key] == 1 else 's'}"
    if kind in ("literal_error", "enum"):
        return _without_quotes(f"must be {context['expected']}")
    if kind == "string_pattern_mismatch" and context["pattern"] in PATTERN_TEXTS:
        return PATTERN_TEXTS[context["pattern"]]
    if kind == "union_tag_invalid":
        return _without_quotes(f"{context['discriminator']} must be one of {context['expected_tags']}")
    if kind == "union_tag_not_found":
        return _without_quotes(f"must have the field {context['discriminator']}, which selects its type")
    text = str(error["msg"])
    if text.startswith(_EXPECTED):
        text = f"must {text.removeprefix(_EXPECTED)}"
    return TEXTS.get(kind, f"{text[:1].lower()}{text[1:]}")


def _without_quotes(text: str) -> str:
    return text.replace("'", "")


def _number_text(value: object) -> str:
    """A bound as people write it: 100 instead of 100.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def shown_value(value: object) -> str:
    """A value as a user would write it: a text in quotes; null, true, false, lists and objects as JSON."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _fields(model: type[BaseModel] | None, place: Sequence[str | int]) -> str:
    """The fields at a place within a model. List items have the fields of their type. Of a union, the place
    has the tag of the member."""
    models = [] if model is None else _models_in(model)  # a body may be optional
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
