"""One thing with what stands around it, and the last messages that name it."""

from collections.abc import Iterable

import orjson

from schemas.about import Subject
from schemas.api import Description, LogMessage, RelatedT, RowT
from schemas.registry import TYPES
from services.gateway import history, views
from services.gateway.fabrics import fabric_of, plant, site_of
from services.gateway.kinds import KindView
from services.gateway.ports import TwinPorts
from services.gateway.telling import told
from shared.basics.errors import InvalidInput
from shared.models.plant import Part, Plant

LOOK_BACK = 20_000
"""Messages at the end of the log that are searched for events of the thing described."""
EVENTS_MAX = 20


def describe(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> Description[RowT, RelatedT]:
    """One thing by its name, what stands around it, and the last messages that name it."""
    row = views.one(twin, view, name)
    fabric = fabric_of(twin, name)
    related = view.around(twin, fabric, row)
    return view.description(object=row, related=related, events=_events(twin, fabric, name))


def _events(twin: TwinPorts, fabric: str, name: str) -> tuple[LogMessage, ...]:
    """The last messages of its fabric, of a bounded stretch of the log, that name the thing; of a fabric, the
    last but Ticks."""
    made_of = plant(twin, fabric)
    try:
        part = made_of.parse(name)
    except InvalidInput:  # a fabric, a slice, a fault, a repair
        part = None

    here = history.of_fabric(fabric)

    def wanted(line: bytes) -> bool:
        if not here(line):
            return False
        try:
            fields = orjson.loads(line)
            if fields["fabric"] != fabric:
                return False
            if name == fabric:
                return bool(fields["type"] != "Tick")
            return names(TYPES[fields["type"]].about_fields(fields["body"]), name, made_of, part)
        except (ValueError, TypeError, KeyError):
            return False  # no message at all

    found = history.last(
        twin, site_of(twin, fabric), lambda _: True, EVENTS_MAX, look_back=LOOK_BACK, line_filter=wanted
    )
    return tuple(told(twin, message, name) for message in found)


def names(subjects: Iterable[Subject], name: str, plant: Plant, part: Part | None) -> bool:
    """Whether the subjects of a message are a thing or something in it, in words or by the numbers of
    hardware."""
    found = frozenset(subjects)
    inside = f"{name}/"
    if any(kind == "name" and (given == name or str(given).startswith(inside)) for kind, given in found):
        return True
    if part is None:
        return False
    if part.kind == "ocs":
        return ("ocs", part.number) in found
    if part.kind == "host":
        return {("cube", part["cube"]), ("host", part["host"])} <= found
    if part.kind == "end":
        return ("end", part.number) in found
    # A message that lists ends is about each of them, not about all of their cubes.
    ends = [int(number) for kind, number in found if kind == "end"]
    is_at_its_end = len(ends) == 1 and ends[0] in plant.numbers_in(part, "end")
    return ("cube", part["cube"]) in found or is_at_its_end
