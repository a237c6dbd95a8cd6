"""Probes of a document: each becomes a condition in the language of `bisect` and `wait`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ops.drills.calls import Call
from ops.drills.fields import Field
from schemas.drill_plan import BEGAN_MARK, CONDITION_MAX
from schemas.resource_kinds import FABRICS, KINDS, ResourceKind, find_kind, kind_by_name_form
from shared.basics.checks import closest_match_hint

EVENTS: Mapping[str, tuple[str, str]] = {
    "SliceRequested": ("slices", f"requested_us >= {BEGAN_MARK}"),
    "SliceStarted": ("slices", f"started_us >= {BEGAN_MARK}"),
    "SliceCompleted": ("slices", f"state == completed and ended_us >= {BEGAN_MARK}"),
    "SliceEvicted": ("slices", f"state == evicted and ended_us >= {BEGAN_MARK}"),
    "SliceRefused": ("slices", f"state == refused and ended_us >= {BEGAN_MARK}"),
    "FaultBegan": ("faults", f"began_us >= {BEGAN_MARK}"),
    "FaultEnded": ("faults", f"ended_us >= {BEGAN_MARK}"),
    "RepairRequested": ("repairs", f"requested_us >= {BEGAN_MARK}"),
    "RepairBegun": ("repairs", f"began_us >= {BEGAN_MARK}"),
    "RepairCompleted": ("repairs", f"state == completed and ended_us >= {BEGAN_MARK}"),
    "RepairFailed": ("repairs", f"state == failed and ended_us >= {BEGAN_MARK}"),
    "VerdictGiven": ("verdicts", f"given_us >= {BEGAN_MARK}"),
}
"""Type of message → the resources that it leaves behind, and the test that counts those since the drill
began. The twin keeps the 200 of each kind that ended last."""
_PLAIN = re.compile(r"[^\s()\[\],\"'=!<>]+")
TOLERANCES = "a whole number, text, true or false, a list, or {type: range, range: [LEAST, MOST]}"


@dataclass(frozen=True, slots=True)
class MeasuredText:
    """What a probe measures: the text in front of an operator."""

    text: str
    is_share: bool = False


def probe_condition(call: Call, tolerance: Field) -> str:
    """The condition that is true while the probe's value is within its tolerance."""
    if call.verb == "condition":
        text = call.arguments["condition"].text("a condition", most=CONDITION_MAX)
        call.context.check_condition(call.arguments["condition"], text, call.fabric())
        found = _flagged(text, tolerance, f"not ({text})")
    elif call.verb == "exists":
        kind, name = _named(call)
        found = _flagged(f"{kind}.{name} exists", tolerance, f"{kind}.{name} absent")
    else:
        found = compared(MEASURES[call.verb](call), tolerance)
    if len(found) > CONDITION_MAX:
        raise call.provider.error(f"its condition has {len(found):,} characters; must have at most 2,000")
    call.context.check_condition(call.provider, found, call.fabric())
    return found


def _flagged(text: str, tolerance: Field, opposite: str) -> str:
    check_tolerance(tolerance)
    return text if tolerance.flag() else opposite


def check_tolerance(tolerance: Field) -> None:
    """Raise InvalidInput for tolerances that only Chaos Toolkit understands, or that it does not."""
    if isinstance(tolerance.raw, float):
        raise tolerance.error(
            f"{tolerance.raw:g} is not allowed, because Chaos Toolkit takes no fractions; must be "
            f"{{type: range, range: [{tolerance.raw:g}, {tolerance.raw:g}]}}"
        )
    if isinstance(tolerance.raw, dict):
        kind = str(tolerance.raw.get("type"))
        if kind in ("jsonpath", "probe", "regex"):
            why = {
                "jsonpath": "the values of these probes are not JSON documents",
                "probe": "a tolerance that calls code",
                "regex": "conditions have no regular expressions",
            }[kind]
            raise tolerance.error(f"a tolerance of type {kind} is understood by `chaos run` only ({why})")


def compared(measured: MeasuredText, tolerance: Field) -> str:
    """The comparison of what is measured with a tolerance."""
    check_tolerance(tolerance)
    raw = tolerance.raw
    if isinstance(raw, dict):
        return _in_range(measured, tolerance)
    if isinstance(raw, list):
        values = tolerance.items("values", 1, 100)
        if len(values) == 2:  # bounds also for Chaos Toolkit
            return _bounded(measured, values[0], values[1], tolerance)
        return f"({' or '.join(f'{measured.text} == {_value(measured, one)}' for one in values)})"
    return f"{measured.text} == {_value(measured, tolerance)}"


def _in_range(measured: MeasuredText, tolerance: Field) -> str:
    fields = tolerance.fields(("type", "range", "target"), ("type", "range"))
    fields["type"].word(("range",))
    if "target" in fields:
        raise fields["target"].error("is understood by `chaos run` only; leave it out")
    low, high = fields["range"].items("bounds", 2, 2)
    return _bounded(measured, low, high, tolerance)


def _bounded(measured: MeasuredText, low: Field, high: Field, whole: Field) -> str:
    for bound in (low, high):
        if not _is_number(bound.raw):
            raise bound.refused("a number: two values are the bounds of a range")
    least, most = low.number(-1e18, 1e18), high.number(-1e18, 1e18)
    if least > most:
        raise whole.error(f"the range from {least:g} to {most:g} is empty; must start at its lower bound")
    if measured.is_share and not 0 <= least <= most <= 1:
        raise whole.error(f"the range from {least:g} to {most:g} is not allowed; a share is from 0 to 1")
    if measured.text.startswith("count(") and not (least.is_integer() and most.is_integer() and least >= 0):
        raise whole.error(f"the range from {least:g} to {most:g} is not allowed; a count is a whole number")
    return f"{measured.text} >= {_number_text(least)} and {measured.text} <= {_number_text(most)}"


def _is_number(raw: object) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool)


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _value(measured: MeasuredText, field: Field) -> str:
    raw = field.raw
    if measured.text.startswith(("count(", "share(")):
        return str(field.whole(0, 1 if measured.is_share else 10**9))
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, int):
        return str(raw)
    if isinstance(raw, float):
        check_tolerance(field)
    text = field.text(TOLERANCES)
    if _PLAIN.fullmatch(text) and text not in ("and", "or", "not", "in"):
        return text
    if '"' in text and "'" in text:
        raise field.refused("text without both kinds of quotes")
    return f"'{text}'" if '"' in text else f'"{text}"'


# --- what the verbs measure -----------------------------------------------------------------------------


def _kind_word(field: Field) -> str:
    kind = find_kind(field.raw) if isinstance(field.raw, str) else None
    if kind is None:
        hint = closest_match_hint(field.raw, KINDS) if isinstance(field.raw, str) else ""
        raise field.refused(f"one of {', '.join(KINDS)}{hint}")
    return kind.word


def _named(call: Call) -> tuple[str, str]:
    """(word of its kind, name) of the resource in the argument `of`."""
    text, example, _ = call.parts("of")
    if call.has("kind"):
        return _kind_word(call.arguments["kind"]), text
    if text.startswith("{") and text.endswith("}") and text[1:-1] in call.context.scope.targets:
        return _kind_word(call.provider.with_raw(call.context.scope.targets[text[1:-1]].kind)), text
    kind = kind_of_name(example)
    if kind is None:
        raise call.arguments["of"].refused("the name of a resource, such as pod-0/ocs-17")
    return kind.word, text


def kind_of_name(name: str) -> ResourceKind[Any] | None:
    """The kind of the resource with this full name; None if the name does not show it."""
    return kind_by_name_form(name) if "/" in name else FABRICS


def _value_of(call: Call) -> MeasuredText:
    kind, name = _named(call)
    return MeasuredText(f"{kind}.{name}.{call.arguments['field'].text('the name of a field')}")


def _tests(call: Call) -> str:
    return call.arguments["where"].text("tests of fields, such as state=running")


def _count_of(call: Call) -> MeasuredText:
    kind = _kind_word(call.arguments["kind"])
    return MeasuredText(f"count({kind}, {_tests(call)})" if call.has("where") else f"count({kind})")


def _share_of(call: Call) -> MeasuredText:
    return MeasuredText(f"share({_kind_word(call.arguments['kind'])}, {_tests(call)})", is_share=True)


def _events_of(call: Call) -> MeasuredText:
    kind, tests = EVENTS[call.arguments["type"].word(tuple(EVENTS))]
    return MeasuredText(f"count({kind}, {tests})")


MEASURES: Mapping[str, Callable[[Call], MeasuredText]] = {
    "value": _value_of,
    "count": _count_of,
    "share": _share_of,
    "events": _events_of,
}
"""Probe → what it measures. A `condition` and `exists` are true or false."""
