"""An experiment read from its file: what is wrong with it is one sentence with line, field, value and what is
allowed."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ops.common.quoted import dotted, quoted
from ops.common.yaml_file import DEEP_MAX, SURROGATE, Lines, read_yaml_lines
from ops.experiments.document import Experiment, Values
from ops.experiments.measures import MEASURES
from ops.experiments.method import SERVICES, Method, method_of
from ops.experiments.plants import sites_of
from ops.experiments.variants import Variant, one_of, variants_of
from shared.basics.checks import nearest_word
from shared.basics.errors import InvalidInput

Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """An experiment whose every run can be made: with its variants, and the folder from which its own paths
    count. It `is_quick` in a form that shows that it runs, and answers nothing (`ops.experiments.quick`)."""

    experiment: Experiment
    variants: tuple[Variant, ...]
    folder: Path
    method: Method = SERVICES
    is_quick: bool = False


def read_experiment(path: Path) -> Planned:
    """InvalidInput names the file, the line, the field, the value and what is allowed."""
    try:
        content, lines = read_yaml_lines(path)
        if not isinstance(content, dict):
            said = "is empty" if content is None else f"{quoted(content)} is not allowed"
            raise InvalidInput(f"{said}; allowed: {', '.join(Experiment.model_fields)}, with values")
        try:
            experiment = parsed(content)
            return checked(experiment, path.parent)
        except Misplaced as error:
            raise InvalidInput(f"line {_line(lines, error.place)}: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


class Misplaced(InvalidInput):
    """Something is wrong at a place of the document."""

    def __init__(self, place: Place, said: str) -> None:
        super().__init__(said)
        self.place = place


def parsed(content: Mapping[str, object]) -> Experiment:
    """The document of these values. Misplaced says what is wrong with the first one that is."""
    _check_plain(content)
    try:
        # Through JSON, for a list there stands for what is a tuple in a strict model.
        return Experiment.model_validate_json(json.dumps(content))
    except ValidationError as error:
        raise _complaint(error) from None
    except ValueError as error:
        raise Misplaced((), f"not a document: {error}") from None


def _check_plain(value: object, *place: object) -> None:
    """Misplaced unless it is made of what a file can say: a document may come from Python as well."""
    if len(place) > DEEP_MAX:
        raise Misplaced((), f"nested deeper than {DEEP_MAX}, which is the most")
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                raise Misplaced(place, f"{dotted(*place, name)}: {quoted(name)} is no name; allowed: text")
            _check_plain(name, *place, name)
            _check_plain(one, *place, name)
    elif isinstance(value, list | tuple):
        for n, one in enumerate(value):
            _check_plain(one, *place, n)
    elif isinstance(value, str):
        if not value.isascii() and SURROGATE.search(value):
            raise Misplaced(place, f"{dotted(*place)}: {quoted(value)} is half a character")
    elif value is not None and not isinstance(value, bool | int | float):
        raise Misplaced(
            place, f"{dotted(*place)}: {quoted(value)} is not allowed; allowed: {SCALARS}, lists and dicts"
        )


def checked(experiment: Experiment, folder: Path) -> Planned:
    """With its variants, after every measure and every parameter of every variant was looked at."""
    for n, name in enumerate(experiment.measure):
        if name not in MEASURES:
            raise Misplaced(
                ("measure", n),
                f"measure.{n}: {quoted(name)} is not allowed; allowed: {', '.join(MEASURES)}"
                f"{nearest_word(name, MEASURES)}",
            )
        if name in experiment.measure[:n]:
            raise Misplaced(("measure", n), f"measure.{n}: {name} is given twice")
    variants = _at(("vary",), lambda: variants_of(experiment))
    _at(("fabric", "set"), lambda: sites_of(experiment, experiment.fabric.set, folder))
    for variant in variants:
        sites = _at(
            _varied(experiment, variant, variants),
            lambda own=variant: sites_of(experiment, {**experiment.fabric.set, **dict(own.values)}, folder),
        )
        for n, name in enumerate(experiment.measure):
            kinds = {config.kind for plan in sites for config in plan.fabrics.values()}
            if not kinds & MEASURES[name].kinds:
                raise Misplaced(
                    ("measure", n),
                    f"measure.{n}: {name} is of {' and '.join(sorted(MEASURES[name].kinds))}; here are only "
                    f"{' and '.join(sorted(kinds))}",
                )
    method = _method(experiment, variants, folder)
    if experiment.compare is not None:
        against = experiment.compare.against
        _at(("compare", "against"), lambda: one_of(variants, against, "compare.against"))
    if (claim := experiment.claim) is not None:
        _at(("claim", "of"), lambda: one_of(variants, claim.of, "claim.of"))
        if claim.over is not None:
            over: Values = claim.over
            _at(("claim", "over"), lambda: one_of(variants, over, "claim.over"))
            if one_of(variants, over, "claim.over") == one_of(variants, claim.of, "claim.of"):
                raise Misplaced(("claim", "over"), "claim.over: is the variant of claim.of; allowed: another")
    return Planned(experiment, variants, folder, method)


def _method(experiment: Experiment, variants: Sequence[Variant], folder: Path) -> Method:
    """By what it is answered. Misplaced where the document asks for what cannot."""
    sites = [sites_of(experiment, {**experiment.fabric.set, **dict(v.values)}, folder) for v in variants]
    found = method_of(experiment, sites)
    if (stop := found.others.get(found.name)) is not None:
        raise Misplaced(
            ("method",),
            f"method: {found.name} cannot answer this: {stop}; allowed: auto, or a way that can",
        )
    return found


def _varied(experiment: Experiment, variant: Variant, variants: Sequence[Variant]) -> Place:
    """Where a variant comes from in the document."""
    if experiment.vary.list:
        return "vary", "list", variants.index(variant)
    return ("vary",)


def _at(place: Place, say: Any) -> Any:
    try:
        return say()
    except Misplaced:
        raise
    except InvalidInput as error:
        said = str(error).removeprefix("--set ")
        raise Misplaced(place, re.sub("^--kind ", "fabric.kind: ", said)) from None


def _line(lines: Lines, place: Place) -> int:
    """Where that stands, or the innermost of what is around it."""
    while place not in lines and place:
        place = place[:-1]
    return lines.get(place, 1)


def _complaint(error: ValidationError) -> Misplaced:
    """The first thing that is wrong, in the words of this project: a slip in a name before what is missing
    for it."""
    errors = error.errors()
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    if first["type"] == "bool_type" and first["loc"][-1] == "bool":  # no member of the union of scalars
        first = first | {"type": "scalar"}
    place: Place = tuple(part for part in first["loc"] if not _is_of_pydantic(part))
    name = dotted(*place)
    if first["type"] == "value_error":  # values that do not go together: the model says which
        said = str(first["ctx"]["error"])
        return Misplaced(place, f"{name}.{said}" if name else said)
    if first["type"] == "missing":
        return Misplaced(place[:-1], f"{name}: is missing")
    if first["type"] == "extra_forbidden":
        fields = _model_at(place[:-1])
        word = str(place[-1])
        return Misplaced(
            place, f"{name}: no such field; allowed: {', '.join(fields)}{nearest_word(word, fields)}"
        )
    return Misplaced(place, f"{name}: {quoted(first['input'])} is not allowed; allowed: {_allowed(first)}")


def _is_of_pydantic(part: object) -> bool:
    """Which member of a union was tried is nothing that the file has."""
    return part in ("bool", "int", "float", "str", "none", "constrained-str", "[key]")


def _model_at(place: Place) -> Mapping[str, FieldInfo]:
    fields: Mapping[str, FieldInfo] = Experiment.model_fields
    is_named = False
    for part in place:
        if is_named:  # a name of the document's own, such as a measure's
            is_named = False
            continue
        found = fields.get(str(part))
        is_named = found is not None and get_origin(found.annotation) is dict
        kind = None if found is None else _model_of(found.annotation)
        if kind is None:
            return {}
        fields = kind.model_fields
    return fields


def _model_of(kind: Any) -> type[BaseModel] | None:
    """The model that a field is of, be it optional or one in a mapping."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    for one in getattr(kind, "__args__", ()):
        if (found := _model_of(one)) is not None:
            return found
    return None


SCALARS = "text, numbers, true, false and null"
_WORDS = {
    "scalar": SCALARS,
    "greater_than": "numbers above {gt:g}",
    "greater_than_equal": "numbers from {ge:,.16g}",
    "less_than": "numbers below {lt:g}",
    "less_than_equal": "numbers up to {le:,.16g}",
    "too_short": "at least {min_length}",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "literal_error": "{expected}",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_long": "at most {max_length}",
    "dict_type": "names with values",
    "model_type": "names with values",
    "model_attributes_type": "names with values",
}


def _allowed(error: Any) -> str:
    words = _WORDS.get(error["type"])
    context = error.get("ctx", {})
    return str(error["msg"]).lower() if words is None else words.format(**context)
