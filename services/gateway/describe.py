"""One thing with what stands around it: what an operator would look up next."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from schemas.about import Subject
from schemas.registry import TYPES
from services.gateway import history, views
from services.gateway.ports import TwinPorts
from services.gateway.views import Row
from shared.basics.errors import InvalidInput, NotFound
from shared.models.superpod.wiring import ENDS_PER_CUBE, Part, parse_part

LOOK_BACK = 20_000
"""Messages at the end of the log that are searched for events of the thing described."""
EVENTS_MAX = 20
Related = dict[str, list[Any]]


def describe(twin: TwinPorts, kind: str, name: str) -> Row:
    """{object, related: {section: rows}, events: the last messages that name it}."""
    row = views.one(twin, kind, name)
    fabric = views.fabric_of(twin, name)
    around: dict[str, Callable[[TwinPorts, str, Row], Related]] = {
        "fabrics": _around_fabric,
        "ocs": _around_part,
        "cubes": _around_cube,
        "hosts": _around_part,
        "links": _around_link,
        "slices": _around_slice,
        "faults": _around_target,
        "repairs": _around_target,
    }
    return {"object": row, "related": around[kind](twin, fabric, row), "events": _events(twin, fabric, name)}


def _around_fabric(twin: TwinPorts, fabric: str, _row: Row) -> Related:
    """What is not as it should be."""
    return {
        "ocs": _short_ocs([r for r in views.listing(twin, "ocs", fabric) if r["state"] != "up"]),
        "cubes": [
            r for r in views.listing(twin, "cubes", fabric) if r["health"] != "healthy" or r["drained"]
        ],
        "slices": [
            r
            for r in views.listing(twin, "slices", fabric)
            if r["state"] in ("waiting", "degraded", "stalled")
        ],
    } | _around_part(twin, fabric, {"name": fabric})


def _short_ocs(rows: list[Row]) -> list[Row]:
    return [{k: v for k, v in row.items() if k != "circuits"} for row in rows]


def _around_part(twin: TwinPorts, fabric: str, row: Row) -> Related:
    """Active faults and open repairs of a part or anything in it."""
    name = row["name"]

    def concerned(rows: list[Row], states: tuple[str, ...]) -> list[Row]:
        return [
            r
            for r in rows
            if r["state"] in states and (r["target"] == name or r["target"].startswith(f"{name}/"))
        ]

    return {
        "faults": concerned(views.listing(twin, "faults", fabric), ("active",)),
        "repairs": concerned(views.listing(twin, "repairs", fabric), ("queued", "begun")),
    }


def _around_cube(twin: TwinPorts, fabric: str, row: Row) -> Related:
    hosts, links = views.hosts_of(twin, fabric, row["name"]), views.links_of(twin, fabric, row["name"])
    return {
        "hosts": [host for host in hosts if host["state"] != "up"],
        "links": [
            link for link in links if link["state"] in ("degraded", "down") or link["condition"] != "ok"
        ],
        "slices": _present(twin, "slices", row["slices"]),
    } | _around_part(twin, fabric, row)


def _around_link(twin: TwinPorts, fabric: str, row: Row) -> Related:
    path = views.trace(twin, row["name"])
    partner = path["far_end"] or path["wanted_end"]
    around = {"strands": path["strands"], "partner": _present(twin, "links", [partner] if partner else [])}
    return around | _around_part(twin, fabric, row)


def _around_slice(twin: TwinPorts, fabric: str, row: Row) -> Related:
    links = [
        link
        for cube in row["cubes"]
        for link in views.links_of(twin, fabric, cube)
        if link["state"] in ("degraded", "down") and link["slice"] == row["name"]
    ]
    return {
        "cubes": _present(twin, "cubes", row["cubes"]),
        "links": links,
        "ocs": [
            {"name": name, "links": sum(link["ocs"] == name for link in links)}
            for name in sorted({link["ocs"] for link in links}, key=views.natural)
        ],
    }


def _around_target(twin: TwinPorts, fabric: str, row: Row) -> Related:
    return _around_part(twin, fabric, {"name": row["target"]})


def _present(twin: TwinPorts, kind: str, names: Iterable[str]) -> list[Row]:
    """The things of these names, but for those that have gone since their names were read."""
    rows = []
    for name in names:
        try:
            rows.append(views.one(twin, kind, name))
        except NotFound:
            continue
    return rows


def _events(twin: TwinPorts, fabric: str, name: str) -> list[Row]:
    """The last messages, of a bounded stretch of the log, that name the thing; of a fabric, the last but
    Ticks."""
    try:
        part = parse_part(name, views.cubes_of(twin, fabric))
    except InvalidInput:  # a fabric, a slice, a fault, a repair
        part = None

    def wanted(line: bytes) -> bool:
        try:
            fields = orjson.loads(line)
            if name == fabric:
                return bool(fields["type"] != "Tick")
            return names(TYPES[fields["type"]].about_fields(fields["body"]), name, part)
        except (ValueError, TypeError, KeyError):
            return False  # no message at all

    found = history.last(twin, fabric, lambda _: True, EVENTS_MAX, look_back=LOOK_BACK, line_filter=wanted)
    return [message.model_dump(mode="json") for message in found]


def names(subjects: Iterable[Subject], name: str, part: Part | None) -> bool:
    """Whether the subjects of a message are a thing or something in it, in words or by the numbers of
    hardware."""
    found = frozenset(subjects)
    inside = f"{name}/"
    if any(kind == "name" and (given == name or str(given).startswith(inside)) for kind, given in found):
        return True
    if part is None:
        return False
    if part.kind == "ocs":
        return ("ocs", part.ocs) in found
    if part.kind == "host":
        return {("cube", part.cube), ("host", part.host)} <= found
    if part.kind == "end":
        return ("end", part.end) in found
    # A message that lists ends is about each of them, not about all of their cubes.
    ends = [int(number) for kind, number in found if kind == "end"]
    return ("cube", part.cube) in found or [end // ENDS_PER_CUBE for end in ends] == [part.cube]
