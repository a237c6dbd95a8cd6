"""Changes to a site as command line options: the change, the time until it, and its duration."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import ValidationError

from ops.report.safe_text import quoted
from ops.requests.name_expansion import with_fabric
from ops.requests.option_syntax import parse_options, parse_span_us, split_fault, split_timed_option
from ops.sites.configuration import DEFAULT_KIND, parse_pairs
from schemas.api.changes import Change, DrainChange, InjectChange, RequestChange, SetChange, UndrainChange
from schemas.body import Model
from schemas.fabric_names import default_fabric_name
from schemas.name_parts import fabric_part
from services.gateway.text.validation_errors import invalid_sentence
from services.service_names import kinds_with
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.units import US_PER_S
from shared.basics.value_words import read_whole
from shared.models.faults.fault_kinds import FAULTS, severity_of
from shared.models.superpod.shapes import parse_shape

ModelT = TypeVar("ModelT", bound=Model)

REQUEST_FORMS = {
    "inject": "KIND:TARGET@IN+FOR, such as ocs:pod-0/ocs-17@3h+2h; without @IN at once, without +FOR until "
    "it is repaired; then, if the kind has them, ,severity=3 and ,onset=12h",
    "drain": "CUBE@IN, such as pod-0/cube-12@3h; without @IN at once",
    "undrain": "CUBE@IN, such as pod-0/cube-12@3h; without @IN at once",
    "request": "SHAPE@IN+FOR, such as 4x4x8@3h+6h; without @IN at once, without +FOR until the end; then "
    ",tier=research, ,owner=team-7, ,priority=5 and, if there are several pods, ,fabric=pod-1",
    "set": "KEY=VALUE@IN, such as failures.host_per_day=0.02@3h; without @IN at once; then, if there "
    "are several fabrics, ,fabric=pod-1",
}
REQUEST_OPTIONS = {
    "inject": ("severity", "onset"),
    "drain": (),
    "undrain": (),
    "request": ("tier", "owner", "priority", "fabric"),
    "set": ("fabric",),
}
"""Options after each, in any order."""


def parse_changes(words: Sequence[tuple[str, str]], fabrics: Mapping[str, str]) -> list[Change]:
    """The changes of options, (name, text), in their order. `fabrics` maps names to kinds.

    Raises InvalidInput that names the first option that is not valid. The twin checks whether its parts
    exist.
    """
    found = [_parse_change(what, text, fabrics) for what, text in words]
    _check_set_once(words, found)
    return found


def _check_set_once(words: Sequence[tuple[str, str]], changes: Sequence[Change]) -> None:
    """Raise InvalidInput if a parameter has two values at one time."""
    taken: set[tuple[float, str | None, str]] = set()
    for (what, text), change in zip(words, changes, strict=True):
        if isinstance(change, SetChange):
            for name in change.parameters:
                key = change.after_s, change.fabric, name
                if key in taken:
                    raise InvalidInput(f"--{what} {quoted(text)}: {name} is set twice; leave one of them out")
                taken.add(key)


def _parse_change(what: str, text: str, fabrics: Mapping[str, str]) -> Change:
    option_text = f"--{what} {quoted(text)}"
    option = split_timed_option(text, has_span=what != "set")  # a value may be 1e+3
    if not option.head or (option.span is not None and what.endswith("drain")):
        raise InvalidInput(f"{option_text}: must be {REQUEST_FORMS[what]}")
    fields: dict[str, object] = {"change": what}
    if option.time is not None:
        fields["after_s"] = parse_span_us(option_text, option.time, least_s=0) / US_PER_S
    if option.span is not None:
        fields["duration_s"] = parse_span_us(option_text, option.span, least_s=1) / US_PER_S
    given = parse_options(option_text, option.words, REQUEST_OPTIONS[what], REQUEST_FORMS[what])
    try:
        change, fabric = _change(what, option.head, fields, given, fabrics)
    except (InvalidInput, NotFound) as error:
        raise InvalidInput(f"{option_text}: {error}") from None
    if fabric not in fabrics:
        raise InvalidInput(f"{option_text}: no fabric {quoted(fabric)}; there is {', '.join(fabrics)}")
    return change


def _change(
    what: str, head: str, fields: dict[str, object], given: dict[str, str], fabrics: Mapping[str, str]
) -> tuple[Change, str]:
    """(the change, its fabric)."""
    fabric = given.get("fabric", default_fabric_name(fabrics))
    if what == "set":
        values = parse_pairs(fabrics.get(fabric, DEFAULT_KIND), [head])
        return _valid(SetChange, fields | {"fabric": fabric, "parameters": values}), fabric
    if what == "request":
        parse_shape(head)
        with_slices = {name: kind for name, kind in fabrics.items() if kind in kinds_with("scheduler")}
        fabric = given.get("fabric", default_fabric_name(with_slices or fabrics))
        priority = given.get("priority")
        if priority is not None:
            number = read_whole(priority)
            fields["priority"] = priority if number is None else number
        fields |= {name: given[name] for name in ("tier", "owner") if name in given}
        return _valid(RequestChange, fields | {"shape": head, "fabric": fabric}), fabric
    if what == "inject":
        fault = split_fault(head)
        if fault is None:
            raise InvalidInput(f"no target; must be {REQUEST_FORMS[what]}")
        kind, target = fault
        fault_kind = next((word for word in FAULTS if word == kind), None)
        if fault_kind is None:
            raise InvalidInput(f"no fault of kind {quoted(kind)}; must be {REQUEST_FORMS[what]}")
        name = with_fabric(target, fabrics)
        if "severity" in given:
            fields["severity"] = severity_of(fault_kind, given["severity"])
        if "onset" in given:
            fields["onset_s"] = parse_span_us("onset", given["onset"], least_s=1) / US_PER_S
        return _valid(InjectChange, fields | {"kind": fault_kind, "target": name}), fabric_part(name)
    name = with_fabric(head, fabrics)
    drained: type[DrainChange | UndrainChange] = DrainChange if what == "drain" else UndrainChange
    return _valid(drained, fields | {"target": name}), fabric_part(name)


def _valid(model: type[ModelT], fields: Mapping[str, object]) -> ModelT:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise InvalidInput(invalid_sentence(error.errors(), model)) from None
