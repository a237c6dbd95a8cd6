"""Reads an experiment from its file. Errors are one sentence with line, field, value and the allowed
values."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ops.experiments.method import SERVICES, Method, choose_method
from ops.experiments.recorded_inputs import has_recorded_inputs, requests_of, trace_of
from ops.experiments.schema import Experiment, SeedChoice, Values
from ops.experiments.variant_sites import sites_of
from ops.experiments.variants import Variant, single_variant, variants_of
from ops.report.safe_text import dotted, quoted
from ops.sites.configuration import NO_TIME_HERE
from ops.sites.yaml_reader import DEPTH_MAX, SURROGATE, YamlLines, read_yaml_lines
from services.totals.measures import MEASURES
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput

Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PlannedExperiment:
    """A validated experiment with its variants; `folder` is the base of its relative paths.

    `is_quick` marks the shortened form that only shows that the experiment works (`quick_version`).
    """

    experiment: Experiment
    variants: tuple[Variant, ...]
    folder: Path
    method: Method = SERVICES
    is_quick: bool = False
    notes: tuple[str, ...] = ()
    """Sentences about rows of recorded files that no run plays."""


def read_experiment(path: Path) -> PlannedExperiment:
    """Read and validate an experiment. Raises InvalidInput that names the file, line, field, value and
    allowed values."""
    try:
        content, lines = read_yaml_lines(path)
        if not isinstance(content, dict):
            problem = "is empty" if content is None else f"{quoted(content)} is not allowed"
            raise InvalidInput(f"{problem}; must be a mapping with {', '.join(Experiment.model_fields)}")
        try:
            experiment = parse_experiment(content)
            return plan_experiment(experiment, path.parent)
        except InvalidDocument as error:
            raise InvalidInput(f"line {_line(lines, error.place)}: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


class InvalidDocument(InvalidInput):
    """An error at a place in the document."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(problem)
        self.place = place


def parse_experiment(content: Mapping[str, object]) -> Experiment:
    """Validate a document. Raises InvalidDocument for the first error."""
    _check_plain(content)
    try:
        # Validate as JSON: the strict model accepts a JSON list as a tuple.
        return Experiment.model_validate_json(json.dumps(content))
    except ValidationError as error:
        raise _first_problem(error) from None
    except ValueError as error:
        raise InvalidDocument((), f"not a document: {error}") from None


def _check_plain(value: object, *place: object) -> None:
    """Raise InvalidDocument unless the value contains only types that a file can contain. A document may also
    come from Python."""
    if len(place) > DEPTH_MAX:
        raise InvalidDocument((), f"nested deeper than {DEPTH_MAX} levels, the maximum")
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                raise InvalidDocument(
                    place, f"{dotted(*place, name)}: {quoted(name)} is not a valid name; must be text"
                )
            _check_plain(name, *place, name)
            _check_plain(one, *place, name)
    elif isinstance(value, list | tuple):
        for n, one in enumerate(value):
            _check_plain(one, *place, n)
    elif isinstance(value, str):
        if not value.isascii() and SURROGATE.search(value):
            raise InvalidDocument(place, f"{dotted(*place)}: {quoted(value)} is not valid Unicode text")
    elif value is not None and not isinstance(value, bool | int | float):
        raise InvalidDocument(
            place, f"{dotted(*place)}: {quoted(value)} is not allowed; must be {SCALARS}, a list or a dict"
        )


def plan_experiment(experiment: Experiment, folder: Path) -> PlannedExperiment:
    """Return the experiment with its variants, after validating every measure and every variant's
    parameters."""
    for n, name in enumerate(experiment.measure):
        if name not in MEASURES:
            raise InvalidDocument(
                ("measure", n),
                f"measure.{n}: {quoted(name)} is not allowed; must be one of {', '.join(MEASURES)}"
                f"{closest_match_hint(name, MEASURES)}",
            )
        if name in experiment.measure[:n]:
            raise InvalidDocument(("measure", n), f"measure.{n}: {name} is given twice")
    variants = _located(("vary",), lambda: variants_of(experiment))
    _located(("fabric", "set"), lambda: sites_of(experiment, experiment.fabric.set, folder))
    for variant in variants:
        sites = _located(
            _variant_place(experiment, variant, variants),
            lambda own=variant: sites_of(experiment, {**experiment.fabric.set, **dict(own.values)}, folder),
        )
        for n, name in enumerate(experiment.measure):
            kinds = {config.kind for plan in sites for config in plan.fabrics.values()}
            if not kinds & MEASURES[name].kinds:
                raise InvalidDocument(
                    ("measure", n),
                    f"measure.{n}: {name} is a measure of {' and '.join(sorted(MEASURES[name].kinds))}; the "
                    f"experiment has only {' and '.join(sorted(kinds))}",
                )
    notes = _recorded_notes(experiment, variants, folder)
    method = _chosen_method(experiment, variants, folder)
    if experiment.compare is not None:
        against = experiment.compare.against
        _located(("compare", "against"), lambda: single_variant(variants, against, "compare.against"))
    if (claim := experiment.claim) is not None:
        _located(("claim", "of"), lambda: single_variant(variants, claim.of, "claim.of"))
        if claim.over is not None:
            over: Values = claim.over
            _located(("claim", "over"), lambda: single_variant(variants, over, "claim.over"))
            if single_variant(variants, over, "claim.over") == single_variant(variants, claim.of, "claim.of"):
                raise InvalidDocument(
                    ("claim", "over"), "claim.over: is the variant of claim.of; must be another variant"
                )
    return PlannedExperiment(experiment, variants, folder, method, notes=notes)


def _recorded_notes(experiment: Experiment, variants: Sequence[Variant], folder: Path) -> tuple[str, ...]:
    """Check the recorded inputs of every variant. Return the sentences about rows that no run plays."""
    if not has_recorded_inputs(experiment.fabric):
        return ()
    notes: dict[str, None] = {}
    for variant in variants:
        values = {**experiment.fabric.set, **dict(variant.values)}
        sites = sites_of(experiment, values, folder)
        place = "changes" if experiment.fabric.changes else "faults"
        _, note = _located(("fabric", place), lambda those=sites: requests_of(experiment, those, folder))
        found = [note]
        if experiment.fabric.trace is not None:
            config = next(iter(sites[0].fabrics.values()))
            found.append(trace_of(experiment, config, folder).note)
        notes |= dict.fromkeys(filter(None, found))
    return tuple(notes)


def _chosen_method(experiment: Experiment, variants: Sequence[Variant], folder: Path) -> Method:
    """Return the method that answers the experiment. Raises InvalidDocument if the document requests one that
    cannot."""
    sites = [sites_of(experiment, {**experiment.fabric.set, **dict(v.values)}, folder) for v in variants]
    found = choose_method(experiment, sites)
    if (stop := found.rejected.get(found.name)) is not None:
        raise InvalidDocument(
            ("method",),
            f"method: {found.name} cannot answer this: {stop}; must be auto, or a method that can",
        )
    return found


def _variant_place(experiment: Experiment, variant: Variant, variants: Sequence[Variant]) -> Place:
    """Return the place in the document that defines a variant."""
    if experiment.vary.list:
        return "vary", "list", variants.index(variant)
    return ("vary",)


def _located(place: Place, check: Any) -> Any:
    try:
        return check()
    except InvalidDocument:
        raise
    except InvalidInput as error:
        problem = re.sub("^--(set|trace[a-z-]*) ", "", str(error))
        problem = problem.replace(NO_TIME_HERE, "is a change at a time; write it in fabric.changes")
        problem = re.sub("^--trace: ", "fabric.trace: ", problem)
        raise InvalidDocument(place, re.sub("^--kind ", "fabric.kind: ", problem)) from None


def _line(lines: YamlLines, place: Place) -> int:
    """Return the line of a place, or of the innermost place around it."""
    while place not in lines and place:
        place = place[:-1]
    return lines.get(place, 1)


def _first_problem(error: ValidationError) -> InvalidDocument:
    """Return the first error in this project's words. A misspelt name comes before the field that is missing
    because of it."""
    errors = error.errors()
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    if first["type"] == "bool_type" and first["loc"][-1] == "bool":  # not a member of the union of scalars
        first = first | {"type": "scalar"}
    place: Place = tuple(part for part in first["loc"] if not _is_of_pydantic(part))
    name = dotted(*place)
    if first["type"] == "value_error":  # an invalid combination of values: the model's message names them
        problem = str(first["ctx"]["error"])
        return InvalidDocument(place, f"{name}.{problem}" if name else problem)
    if first["type"] == "missing":
        return InvalidDocument(place[:-1], f"{name}: is missing")
    if first["type"] == "extra_forbidden":
        fields = _model_at(place[:-1])
        word = str(place[-1])
        return InvalidDocument(
            place,
            f"{name}: no such field; must be one of {', '.join(fields)}{closest_match_hint(word, fields)}",
        )
    return InvalidDocument(
        place, f"{name}: {_shown(first['input'])} is not allowed; must be {_allowed_values(first, place)}"
    )


def _is_of_pydantic(part: object) -> bool:
    """Whether a part of the location is internal to Pydantic, such as a member of a union, and not in the
    file."""
    return part in ("bool", "int", "float", "str", "none", "constrained-str", "[key]")


def _model_at(place: Place) -> Mapping[str, FieldInfo]:
    fields: Mapping[str, FieldInfo] = Experiment.model_fields
    is_named = False
    for part in place:
        if is_named:  # a name that the document defines, such as a measure's
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
    """Return the model in a field's type, even if it is optional or in a mapping."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    for one in getattr(kind, "__args__", ()):
        if (found := _model_of(one)) is not None:
            return found
    return None


SCALARS = "text, a number, true, false or null"
_ALLOWED_TEXT = {
    "scalar": SCALARS,
    "greater_than": "above {gt:g}",
    "greater_than_equal": "at least {ge:,.16g}",
    "less_than": "below {lt:g}",
    "less_than_equal": "at most {le:,.16g}",
    "too_short": "a list of at least {min_length}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "literal_error": "{expected}",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_long": "a list of at most {max_length}",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _shown(value: object) -> str:
    """Return a value as in a file: true and null, not True and None."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' if value < 0 else ''}.{abs(value)}"
    return quoted(value)


def _allowed_values(error: Any, place: Place) -> str:
    value = error["input"]
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    if place == ("seeds",):
        return f"a whole number, or a mapping with {', '.join(SeedChoice.model_fields)}"
    words = _ALLOWED_TEXT.get(error["type"])
    context = error.get("ctx", {})
    return str(error["msg"]).lower() if words is None else words.format(**context)


# The quick form of an experiment: every variant, in the shortest runs that show that it works.

QUICK_SEEDS, QUICK_DAYS, QUICK_WARM_UP_DAYS = 2, 1.0, 0.25
QUICK_WINDOWS = 4
"""Rows of the series that a run has at least."""
HOURS_A_DAY = 24.0


def quick_version(planned: PlannedExperiment) -> PlannedExperiment:
    """Return the experiment with two seeds of one day after a quarter of a day of warm-up, without a required
    precision. It shows that the experiment works but answers nothing: such short runs have almost no
    statistical power."""
    experiment = planned.experiment
    fabric, seeds, store = experiment.fabric, experiment.seeds, experiment.store
    days = min(fabric.days, QUICK_DAYS)
    warm_up_days = min(fabric.warm_up_days, QUICK_WARM_UP_DAYS)
    count = min(seeds.count or QUICK_SEEDS, QUICK_SEEDS)
    window_h = min(store.window_h, days * HOURS_A_DAY / QUICK_WINDOWS)
    small = experiment.model_copy(
        update={
            "fabric": fabric.model_copy(update={"days": days, "warm_up_days": warm_up_days}),
            "seeds": SeedChoice(first=seeds.first, count=count, common=seeds.common),
            "stop_when": {},
            "store": store.model_copy(update={"window_h": window_h}),
        }
    )
    return replace(planned, experiment=small, is_quick=True, notes=())
