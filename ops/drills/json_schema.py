"""The JSON Schema of drill documents, for editors. The reader also checks names and conditions."""

from typing import Any, get_args

from ops.drills.calls import VERBS_MODULE
from ops.drills.document import AFTER_FIELDS, PAUSE_MAX_S, STRATEGIES
from ops.drills.extension import WEIGHTS, WINDOW_PATTERN
from ops.drills.hypothesis import EVENTS
from ops.drills.verb_table import VERBS, Verb
from schemas.drill_plan import NAME_PATTERN, LimitName
from schemas.resource_kinds import KINDS
from shared.models.faults.fault_kinds import FAULTS

Schema = dict[str, Any]
"""A part of a JSON Schema."""
TEXT: Schema = {"type": "string", "minLength": 1}
DURATION: Schema = {"type": "string", "pattern": r"^(?:[0-9]{1,10}[smhd])+$"}
WINDOW: Schema = {"type": "string", "pattern": rf"^{WINDOW_PATTERN}$"}
USE: Schema = {"type": "string", "pattern": r"\$\{[^}]+\}"}
"""A value with a variable."""


def _or_use(schema: Schema) -> Schema:
    """A value, or a variable in its place."""
    return {"anyOf": [schema, USE]}


KIND: Schema = _or_use({"enum": sorted({word for kind in KINDS.values() for word in kind.spellings})})
"""A kind of resource. The reader takes other cases too."""
SPECIAL: dict[tuple[str, str], Schema] = {
    ("inject", "kind"): _or_use({"enum": [*FAULTS]}),
    ("count", "kind"): KIND,
    ("share", "kind"): KIND,
    ("events", "type"): _or_use({"enum": [*EVENTS]}),
}
"""(verb, argument) → its words."""
DURATIONS = frozenset({"lasts", "onset", "at_most"})
"""Arguments of all verbs that are durations."""


def document_schema() -> Schema:
    """The schema of a whole document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lightwave Twin drill",
        **_object(
            {
                "title": TEXT,
                "description": TEXT,
                "tags": {"type": "array", "items": TEXT, "maxItems": 20},
                "contributions": {
                    "type": "object",
                    "additionalProperties": {"enum": ["high", "medium", "low", "none"]},
                },
                "configuration": {
                    "type": "object",
                    "additionalProperties": {"type": ["string", "number", "boolean"]},
                },
                "steady-state-hypothesis": _object(
                    {"title": TEXT, "probes": {"type": "array", "items": _activity(is_hypothesis=True)}},
                    ["title", "probes"],
                ),
                "method": {"type": "array", "minItems": 1, "items": _activity()},
                "rollbacks": {"type": "array", "items": _activity()},
                "runtime": _object(
                    {
                        "hypothesis": _object(
                            {"strategy": {"enum": ["default", "continuously"]}}, ["strategy"]
                        ),
                        "rollbacks": _object({"strategy": {"enum": [*STRATEGIES]}}, ["strategy"]),
                    }
                ),
                "extensions": {
                    "type": "array",
                    "items": {
                        "if": {"properties": {"name": {"const": "lightwave"}}, "required": ["name"]},
                        "type": "object",
                        "then": _extension(),
                    },
                    "contains": {"properties": {"name": {"const": "lightwave"}}, "required": ["name"]},
                },
            },
            ["title", "description", "method", "extensions"],
        ),
    }


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": required} if required else {})


def _activity(*, is_hypothesis: bool = False) -> Schema:
    """An activity: each verb has its own arguments."""
    types = ("probe",) if is_hypothesis else ("action", "probe")
    providers = [_provider(verb) for verb in VERBS.values() if verb.type in types]
    fields: Schema = {
        "type": {"enum": [*types]},
        "name": {"type": "string", "pattern": NAME_PATTERN},
        "provider": {"oneOf": providers},
    }
    if is_hypothesis:
        bounds = {"type": "array", "items": _or_use({"type": "number"}), "minItems": 2, "maxItems": 2}
        fields["tolerance"] = {
            "oneOf": [
                {"type": ["boolean", "integer", "string"]},
                {"type": "array", "minItems": 1},
                _object({"type": {"const": "range"}, "range": bounds}, ["type", "range"]),
            ]
        }
        return _object(fields, ["type", "name", "provider", "tolerance"])
    seconds = {"anyOf": [{"type": "number", "minimum": 0, "maximum": PAUSE_MAX_S}, USE]}
    fields |= {"background": {"type": "boolean"}, "pauses": _object({"before": seconds, "after": seconds})}
    return _object(fields, ["type", "name", "provider"])


def _provider(verb: Verb) -> Schema:
    arguments = _object(
        {one.name: {"description": one.what, **_argument(verb.name, one.name)} for one in verb.arguments},
        [*verb.required],
    )
    fields = {
        "type": {"const": "python"},
        "module": {"const": VERBS_MODULE},
        "func": {"const": verb.name},
        "arguments": arguments,
    }
    required = ["type", "module", "func", *(["arguments"] if verb.required else [])]
    return {"description": verb.summary, **_object(fields, required)}


def _argument(verb: str, name: str) -> Schema:
    return _or_use(DURATION) if name in DURATIONS else SPECIAL.get((verb, name), {})


def _extension() -> Schema:
    whole = {"type": "integer", "minimum": 0}
    allowance = _object(dict.fromkeys(("at_most", "before", "method", "settle", "undo", "after"), DURATION))
    limits = {name: whole for word in get_args(LimitName) for name in (word, word.replace("-", "_"))}
    target = _object(
        {
            "kind": KIND,
            "fabric": TEXT,
            "where": {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
            "choose": _or_use({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]}),
            "names": {"type": "array", "items": TEXT},
        },
        ["kind"],
    )
    step = _object({"repeat": {"type": "integer", "minimum": 1}, "every": DURATION, "jitter": DURATION})
    expected = _object(
        {
            "type": TEXT,
            "of": TEXT,
            "at_least": _or_use({"type": "integer", "minimum": 1}),
            "all_of": TEXT,
            "within": _or_use(DURATION),
        },
        ["type", "within"],
    )
    trainee = _object(
        {
            "brief": TEXT,
            "answer": {},
            "par": _object({"find": _or_use(DURATION), "act": _or_use(DURATION)}, ["find", "act"]),
            "hints": {"type": "array", "items": TEXT},
        },
        ["brief", "par"],
    )
    return _object(
        {
            "name": {"const": "lightwave"},
            "version": {"const": 1},
            "fabric": TEXT,
            "targets": {"type": "object", "additionalProperties": target},
            "probes": {"type": "object", "additionalProperties": _object({"weight": {"type": "number"}})},
            "steps": {"type": "object", "additionalProperties": step},
            "probe_every": DURATION,
            "before": _object({"quiet_for": DURATION}),
            "during": {"type": "object", "additionalProperties": allowance},
            "after": _object(dict.fromkeys(AFTER_FIELDS, DURATION)),
            "limits": _object(limits),
            "stop_when": {"type": "array", "items": TEXT},
            "ends_within": DURATION,
            "expects": {"type": "array", "items": expected},
            "weights": _object({name: {"type": "number", "minimum": 0} for name in WEIGHTS}),
            "trainee": trainee,
            "schedule": _object({"every": DURATION, "between": WINDOW}, ["every"]),
        },
        ["name", "ends_within"],
    )
