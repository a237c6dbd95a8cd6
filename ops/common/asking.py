"""What somebody would ask of a twin, as it is written on a command line: each word names what is asked, and
may say when, in how long from the moment, and for how long."""

from collections.abc import Mapping, Sequence

from ops.common.asks import Ask
from ops.common.configuration import DEFAULT_KIND, values_of
from ops.common.quoted import quoted
from ops.common.short_names import with_fabric
from ops.common.word_options import options_in, span_us
from schemas.body import Body
from schemas.operator import DrainCube, InjectFault, RequestSlice, SetParameters, UndrainCube
from schemas.parameter import Setting
from services.gateway.requests import valid_body
from shared.basics.errors import InvalidInput, NotFound
from shared.models.faults import FAULTS, severity_of
from shared.models.superpod.shapes import parse_shape

FORMS = {
    "inject": "KIND:TARGET@IN+FOR, such as ocs:pod-0/ocs-17@3h+2h; without @IN at once, without +FOR until "
    "it is repaired; then, where the kind has them, ,severity=3 and ,onset=12h",
    "drain": "CUBE@IN, such as pod-0/cube-12@3h; without @IN at once",
    "undrain": "CUBE@IN, such as pod-0/cube-12@3h; without @IN at once",
    "request": "SHAPE@IN+FOR, such as 4x4x8@3h+6h; without @IN at once, without +FOR until the end; then "
    ",tier=research, ,owner=team-7, ,priority=5 and, of several pods, ,fabric=pod-1",
    "set": "KEY=VALUE@IN, such as failures.host_per_day=0.02@3h; without @IN at once; then, of several "
    "fabrics, ,fabric=pod-1",
}
OPTIONS = {
    "inject": ("severity", "onset"),
    "drain": (),
    "undrain": (),
    "request": ("tier", "owner", "priority", "fabric"),
    "set": ("fabric",),
}
"""What may stand behind each, in any order."""


def asks_of(words: Sequence[tuple[str, str]], fabrics: Mapping[str, str]) -> list[Ask]:
    """(what is asked, how that is written), in their order, of fabrics: name → kind. InvalidInput names what
    is wrong with the first that cannot be. Whether there is such a part, and whether it may be, its service
    says."""
    found = [_ask(what, text, fabrics) for what, text in words]
    _set_once(words, found)
    return found


def _set_once(words: Sequence[tuple[str, str]], asks: Sequence[Ask]) -> None:
    """Which of two values for one moment was meant, nobody knows."""
    taken: set[tuple[int, str, str]] = set()
    for (what, text), ask in zip(words, asks, strict=True):
        if isinstance(ask.body, SetParameters):
            for name in [one.name for one in ask.body.settings]:
                key = ask.after_us, ask.fabric, name
                if key in taken:
                    raise InvalidInput(f"--{what} {quoted(text)}: {name} is set twice; leave one of them out")
                taken.add(key)


def _ask(what: str, text: str, fabrics: Mapping[str, str]) -> Ask:
    said = f"--{what} {quoted(text)}"
    head, *options = text.split(",")
    head, at, when = head.partition("@")
    last = when if at else head
    before, plus, span = last.rpartition("+")
    if not plus or "/" in span or what == "set":  # the + of a face, or of a number
        before, plus, span = last, "", ""
    head, when = (head, before) if at else (before, "")
    if not head or (plus and what.endswith("drain")):
        raise InvalidInput(f"{said}: allowed: {FORMS[what]}")
    after_us = span_us(said, when, least_s=0) if at else 0
    for_us = span_us(said, span, least_s=1) if plus else None
    given = options_in(said, options, OPTIONS[what], FORMS[what])
    try:
        body, name = _body(what, head, for_us, given, fabrics)
    except (InvalidInput, NotFound) as error:
        raise InvalidInput(f"{said}: {error}") from None
    fabric = name.split("/", 1)[0]
    if fabric not in fabrics:
        raise InvalidInput(f"{said}: no fabric {quoted(fabric)}; there is {', '.join(fabrics)}")
    return Ask(after_us, fabric, body)


def _body(
    what: str, head: str, for_us: int | None, given: dict[str, str], fabrics: Mapping[str, str]
) -> tuple[Body, str]:
    """What is asked, and a name that begins with the fabric."""
    meant = given.get("fabric", next(iter(fabrics)))
    if what == "set":
        values = values_of(fabrics.get(meant, DEFAULT_KIND), [head])
        settings = tuple([Setting(name=name, value=value) for name, value in values.items()])
        return valid_body(SetParameters, {"settings": settings}), meant
    if what == "request":
        fields: dict[str, object] = {name: given[name] for name in ("tier", "owner") if name in given}
        if "priority" in given:
            fields["priority"] = int(given["priority"]) if _is_whole(given["priority"]) else given["priority"]
        asked = {"shape": parse_shape(head), "duration_us": for_us, **fields}
        return valid_body(RequestSlice, asked), meant
    if what == "inject":
        kind, colon, target = head.partition(":")
        struck = next((word for word in FAULTS if word == kind), None)
        if struck is None or not colon:
            raise InvalidInput(f"no fault of kind {quoted(kind)}; allowed: {FORMS[what]}")
        name = with_fabric(target, [*fabrics])
        how: dict[str, object] = {"kind": struck, "target": name, "duration_us": for_us}
        if "severity" in given:
            how["severity"] = severity_of(struck, given["severity"])
        if "onset" in given:
            how["onset_us"] = span_us("onset", given["onset"], least_s=1)
        return valid_body(InjectFault, how), name
    name = with_fabric(head, [*fabrics])
    return valid_body(DrainCube if what == "drain" else UndrainCube, {"cube": name}), name


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
