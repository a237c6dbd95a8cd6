"""What somebody would ask of a twin, as it is written on a command line: each word names what is asked, and
may say when, in how long from the moment, and for how long."""

from collections.abc import Mapping, Sequence

from ops.report.safe_text import quoted
from ops.requests.name_expansion import with_fabric
from ops.requests.option_syntax import parse_options, parse_span_us
from ops.requests.timed_requests import TimedRequest
from ops.sites.configuration import DEFAULT_KIND, parse_pairs
from schemas.body import Body
from schemas.config.parameter import ParameterSetting
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice, SetParameters, UndrainCube
from services.gateway.requests.operator_requests import valid_body
from shared.basics.errors import InvalidInput, NotFound
from shared.models.faults.fault_kinds import FAULTS, severity_of
from shared.models.superpod.shapes import parse_shape

REQUEST_FORMS = {
    "inject": "KIND:TARGET@IN+FOR, such as ocs:pod-0/ocs-17@3h+2h; without @IN at once, without +FOR until "
    "it is repaired; then, where the kind has them, ,severity=3 and ,onset=12h",
    "drain": "CUBE@IN, such as pod-0/cube-12@3h; without @IN at once",
    "undrain": "CUBE@IN, such as pod-0/cube-12@3h; without @IN at once",
    "request": "SHAPE@IN+FOR, such as 4x4x8@3h+6h; without @IN at once, without +FOR until the end; then "
    ",tier=research, ,owner=team-7, ,priority=5 and, of several pods, ,fabric=pod-1",
    "set": "KEY=VALUE@IN, such as failures.host_per_day=0.02@3h; without @IN at once; then, of several "
    "fabrics, ,fabric=pod-1",
}
REQUEST_OPTIONS = {
    "inject": ("severity", "onset"),
    "drain": (),
    "undrain": (),
    "request": ("tier", "owner", "priority", "fabric"),
    "set": ("fabric",),
}
"""What may stand behind each, in any order."""


def parse_requests(words: Sequence[tuple[str, str]], fabrics: Mapping[str, str]) -> list[TimedRequest]:
    """(what is asked, how that is written), in their order, of fabrics: name → kind. InvalidInput names what
    is wrong with the first that cannot be. Whether there is such a part, and whether it may be, its service
    says."""
    found = [_parse_request(what, text, fabrics) for what, text in words]
    _check_set_once(words, found)
    return found


def _check_set_once(words: Sequence[tuple[str, str]], requests: Sequence[TimedRequest]) -> None:
    """Which of two values for one moment was meant, nobody knows."""
    taken: set[tuple[int, str, str]] = set()
    for (what, text), timed in zip(words, requests, strict=True):
        if isinstance(timed.body, SetParameters):
            for name in [one.name for one in timed.body.settings]:
                key = timed.after_us, timed.fabric, name
                if key in taken:
                    raise InvalidInput(f"--{what} {quoted(text)}: {name} is set twice; leave one of them out")
                taken.add(key)


def _parse_request(what: str, text: str, fabrics: Mapping[str, str]) -> TimedRequest:
    option_text = f"--{what} {quoted(text)}"
    head, *options = text.split(",")
    head, at, when = head.partition("@")
    last = when if at else head
    before, plus, span = last.rpartition("+")
    if not plus or "/" in span or what == "set":  # the + of a face, or of a number
        before, plus, span = last, "", ""
    head, when = (head, before) if at else (before, "")
    if not head or (plus and what.endswith("drain")):
        raise InvalidInput(f"{option_text}: must be {REQUEST_FORMS[what]}")
    after_us = parse_span_us(option_text, when, least_s=0) if at else 0
    for_us = parse_span_us(option_text, span, least_s=1) if plus else None
    given = parse_options(option_text, options, REQUEST_OPTIONS[what], REQUEST_FORMS[what])
    try:
        body, name = _body(what, head, for_us, given, fabrics)
    except (InvalidInput, NotFound) as error:
        raise InvalidInput(f"{option_text}: {error}") from None
    fabric = name.split("/", 1)[0]
    if fabric not in fabrics:
        raise InvalidInput(f"{option_text}: no fabric {quoted(fabric)}; there is {', '.join(fabrics)}")
    return TimedRequest(after_us, fabric, body)


def _body(
    what: str, head: str, for_us: int | None, given: dict[str, str], fabrics: Mapping[str, str]
) -> tuple[Body, str]:
    """What is asked, and a name that begins with the fabric."""
    fabric_name = given.get("fabric", next(iter(fabrics)))
    if what == "set":
        values = parse_pairs(fabrics.get(fabric_name, DEFAULT_KIND), [head])
        settings = tuple([ParameterSetting(name=name, value=value) for name, value in values.items()])
        return valid_body(SetParameters, {"settings": settings}), fabric_name
    if what == "request":
        fields: dict[str, object] = {name: given[name] for name in ("tier", "owner") if name in given}
        if "priority" in given:
            fields["priority"] = (
                int(given["priority"]) if _is_integer(given["priority"]) else given["priority"]
            )
        fields_given = {"shape": parse_shape(head), "duration_us": for_us, **fields}
        return valid_body(RequestSlice, fields_given), fabric_name
    if what == "inject":
        kind, colon, target = head.partition(":")
        fault_kind = next((word for word in FAULTS if word == kind), None)
        if fault_kind is None or not colon:
            raise InvalidInput(f"no fault of kind {quoted(kind)}; must be {REQUEST_FORMS[what]}")
        name = with_fabric(target, [*fabrics])
        how: dict[str, object] = {"kind": fault_kind, "target": name, "duration_us": for_us}
        if "severity" in given:
            how["severity"] = severity_of(fault_kind, given["severity"])
        if "onset" in given:
            how["onset_us"] = parse_span_us("onset", given["onset"], least_s=1)
        return valid_body(InjectFault, how), name
    name = with_fabric(head, [*fabrics])
    return valid_body(DrainCube if what == "drain" else UndrainCube, {"cube": name}), name


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
