"""One thing with what stands around it: what an operator would look up next."""

from collections.abc import Callable
from typing import Any

from services.gateway import views
from services.gateway.ports import TwinPorts
from services.gateway.views import Row

LOOK_BACK = 20_000
"""Messages at the end of the log that are searched for events of the thing described."""
EVENTS_MAX = 20


def describe(twin: TwinPorts, kind: str, name: str) -> Row:
    """{object, related: {section: rows}, events: the last messages that name it}."""
    row = views.one(twin, kind, name)
    fabric = name.split("/", 1)[0]
    around: dict[str, Callable[[TwinPorts, str, Row], dict[str, list[Any]]]] = {
        "ocs": _around_part,
        "cubes": _around_cube,
        "hosts": _around_part,
        "links": _around_link,
        "slices": _around_slice,
        "faults": _around_target,
        "repairs": _around_target,
    }
    related = around[kind](twin, fabric, row) if kind in around else {}
    return {"object": row, "related": related, "events": _events(twin, fabric, kind, name)}


def _around_part(twin: TwinPorts, fabric: str, row: Row) -> dict[str, list[Any]]:
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


def _around_cube(twin: TwinPorts, fabric: str, row: Row) -> dict[str, list[Any]]:
    cube = views.documents(twin, fabric, "cubes")[row["name"]]
    group = views.documents(twin, fabric, "links").get(row["name"])
    number = int(row["name"].rpartition("-")[2])
    links = views.link_rows(fabric, number, group, row) if group else []
    return {
        "hosts": [host for host in views.host_rows(cube) if host["state"] != "up"],
        "links": [
            link for link in links if link["state"] in ("degraded", "down") or link["condition"] != "ok"
        ],
        "slices": [views.one(twin, "slices", name) for name in row["slices"]],
    } | _around_part(twin, fabric, row)


def _around_link(twin: TwinPorts, fabric: str, row: Row) -> dict[str, list[Any]]:
    return {"strands": views.trace(twin, row["name"])["strands"]} | _around_part(twin, fabric, row)


def _around_slice(twin: TwinPorts, fabric: str, row: Row) -> dict[str, list[Any]]:
    groups, uses = views.documents(twin, fabric, "links"), views.documents(twin, fabric, "cube-uses")
    links = [
        link
        for name in row["cubes"]
        if name in groups
        for link in views.link_rows(fabric, int(name.rpartition("-")[2]), groups[name], uses.get(name))
        if link["state"] in ("degraded", "down") and link["slice"] == row["name"]
    ]
    return {
        "cubes": [views.one(twin, "cubes", name) for name in row["cubes"]],
        "links": links,
        "ocs": [
            {"name": name, "links": sum(link["ocs"] == name for link in links)}
            for name in sorted({link["ocs"] for link in links}, key=views.natural)
        ],
    }


def _around_target(twin: TwinPorts, fabric: str, row: Row) -> dict[str, list[Any]]:
    return _around_part(twin, fabric, {"name": row["target"]})


def _events(twin: TwinPorts, fabric: str, kind: str, name: str) -> list[Row]:
    """The last messages, of a bounded stretch of the log, that name the thing."""
    fields = {"ocs": "ocs", "cubes": "cube"}
    field, number = fields.get(kind), name.rpartition("-")[2]
    start = max(0, twin.log.end(fabric) - LOOK_BACK)
    found: list[Row] = []
    for _, message in twin.log.read(fabric, start):
        body = message.body.model_dump()
        named = name in body.values() or (field is not None and str(body.get(field)) == number)
        if named or (field == "cube" and int(number) in (body.get("cubes") or ())):
            found.append(message.model_dump(mode="json"))
    return found[-EVENTS_MAX:]
