"""What people read, joined from the services' status documents: one plain dict for every thing."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import orjson

from services.gateway.not_found import nobody
from services.gateway.ports import TwinPorts
from shared.basics.errors import NotFound, OperationFailed
from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import (
    ENDS_PER_CUBE,
    OCS_COUNT,
    STRANDS,
    LinkEnd,
    end_at,
    link_end,
    parse_part,
)

Row = dict[str, Any]
Shown = TypeVar("Shown")


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key under which `ocs-2` comes before `ocs-10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def documents(twin: TwinPorts, fabric: str, kind: str) -> dict[str, Row]:
    """Name → document, in natural order."""
    rows = twin.documents.all(fabric, kind)
    return {name: orjson.loads(rows[name]) for name in sorted(rows, key=natural)}


def cubes_of(twin: TwinPorts, fabric: str) -> int:
    """Cubes of a fabric; NotFound if there is no such fabric."""
    try:
        return twin.config(fabric).pod.cubes
    except KeyError:
        known = ", ".join(twin.documents.fabrics())
        raise NotFound(f"fabric {fabric[:80]!r}: no such fabric; there is {known}") from None


def fabric_row(twin: TwinPorts, fabric: str) -> Row:
    """One fabric at a glance. Utilisation and availability are integrals over all time so far."""
    found = documents(twin, fabric, "summaries")
    try:
        return _fabric_row(twin, fabric, {name.rpartition("/")[2]: row for name, row in found.items()})
    except KeyError as error:
        raise OperationFailed(f"{fabric}: the store has no summary of its {error.args[0]}") from None


def _fabric_row(twin: TwinPorts, fabric: str, summaries: dict[str, Row]) -> Row:
    scheduler, cubes, links = summaries["scheduler"], summaries["cubes"], summaries["transceivers"]
    ocs, failures, repairs = summaries["ocs"], summaries["failures"], summaries["repairs"]
    # A fabric that is ahead of the twin's clock (another one lags) has integrals beyond it.
    now_us = max(twin.clock.show().now_us, scheduler["at_us"], cubes["at_us"])
    chip_us = scheduler["allocated_chip_us"] + scheduler["chips_allocated"] * (now_us - scheduler["at_us"])
    cube_us = cubes["healthy_cube_us"] + cubes["healthy"] * (now_us - cubes["at_us"])
    slices = ("admitted", "completed", "evicted", "refused", "running", "waiting", "swapped")
    return {
        "name": fabric,
        "now_us": now_us,
        "position": twin.log.end(fabric),
        "cubes": cubes["cubes"],
        "healthy": cubes["healthy"],
        "drained": cubes["drained"],
        "hosts_down": cubes["hosts_down"],
        "links": {state: links[state] for state in ("up", "degraded", "down", "dark")},
        "ocs": OCS_COUNT,
        "ocs_down": ocs["ocs_down"],
        "cross_connects": ocs["cross_connects"],
        "slices": {"requested": summaries["workload"]["requested"]}
        | {name: scheduler[name] for name in slices},
        "utilisation": chip_us / (scheduler["chips"] * now_us) if now_us else 0.0,
        "cube_availability": cube_us / (cubes["cubes"] * now_us) if now_us else 1.0,
        "faults_active": failures["active"],
        "repairs": {"queued": repairs["queued"], "begun": repairs["begun"]},
    }


CIRCUIT_ARRAYS = ("wanted", "slices", "made", "losses_db")


def ocs_row(fabric: str, document: Row) -> Row:
    """An OCS with its circuits as a list in place of four arrays by North port."""
    columns = zip(*(document[name] for name in CIRCUIT_ARRAYS), strict=True)
    circuits = [
        {
            "north": north,
            "south": south,
            "slice": f"{fabric}/slice-{number}",
            "made": made,
            "loss_db": loss_db,
        }
        for north, (south, number, made, loss_db) in enumerate(columns)
        if south >= 0
    ]
    kept = {k: v for k, v in document.items() if k not in CIRCUIT_ARRAYS}
    return kept | {"circuits": circuits}


def cube_row(document: Row, use: Row | None) -> Row:
    """A cube with who uses it; its hosts have rows of their own."""
    row = {k: v for k, v in document.items() if k != "hosts"}
    row["hosts_down"] = sum(host["state"] == "down" for host in document["hosts"])
    return row | {"slices": use["slices"] if use else [], "chips_used": use["chips_used"] if use else 0}


def host_rows(document: Row) -> list[Row]:
    cube = document["name"]
    return [
        {"name": f"{cube}/host-{host['host']}", "state": host["state"], "reason": host["reason"]}
        for host in document["hosts"]
    ]


def link_rows(fabric: str, cube: int, group: Row, use: Row | None) -> list[Row]:
    """The 96 link ends of one cube."""
    first = cube * ENDS_PER_CUBE
    holders = use["slices"] if use else []
    rows = []
    names = ("states", "conditions", "far_ends", "losses_db", "bers")
    columns = zip(*(group[name] for name in names), strict=True)
    for index, (state, condition, far, loss_db, ber) in enumerate(columns):
        end = link_end(first + index)
        rows.append(
            {
                "name": end.name(fabric),
                "state": state,
                "condition": condition,
                "far_end": link_end(far).name(fabric) if far >= 0 else None,
                "loss_db": loss_db,
                "ber": ber,
                "ocs": f"{fabric}/ocs-{end.ocs}",
                "slice": holders[0] if state != "dark" and holders else None,
            }
        )
    return rows


def slice_row(document: Row) -> Row:
    return document | {"shape": shape_text(tuple(document["shape"]))}


def listing(twin: TwinPorts, kind: str, fabric: str) -> list[Row]:
    """Every thing of a kind in one fabric."""
    if kind == "fabrics":
        return [fabric_row(twin, fabric)]
    if kind == "ocs":
        return [ocs_row(fabric, document) for document in documents(twin, fabric, "ocs").values()]
    if kind == "hosts":
        return [row for cube in documents(twin, fabric, "cubes").values() for row in host_rows(cube)]
    if kind in ("cubes", "links"):
        uses = documents(twin, fabric, "cube-uses")
        found = documents(twin, fabric, kind)
        if kind == "cubes":
            return [cube_row(document, uses.get(name)) for name, document in found.items()]
        groups = enumerate(found.items())
        return [row for n, (name, group) in groups for row in link_rows(fabric, n, group, uses.get(name))]
    rows = documents(twin, fabric, kind).values()
    return [slice_row(row) for row in rows] if kind == "slices" else list(rows)


def one(twin: TwinPorts, kind: str, name: str) -> Row:
    """One thing by its name; NotFound if there is none."""
    fabric = name.split("/", 1)[0]
    if kind != "fabrics" and not re.fullmatch("pod-[0-9]+", fabric):
        first = next(iter(twin.documents.fabrics()), "pod-0")
        raise nobody(kind, name, first, cubes_of(twin, first))
    cubes = cubes_of(twin, fabric)
    if kind == "fabrics":
        if name != fabric:
            raise NotFound(f"fabric {name[:80]!r}: no such fabric; names are like {fabric}")
        return fabric_row(twin, fabric)
    row = _find(twin, kind, fabric, name)
    if row is None:
        raise nobody(kind, name, fabric, cubes)
    return row


def fabric_of(twin: TwinPorts, name: str) -> str:
    """The fabric that a name begins with; NotFound if there is none."""
    fabric = name.split("/", 1)[0]
    cubes_of(twin, fabric)
    return fabric


def _find(twin: TwinPorts, kind: str, fabric: str, name: str) -> Row | None:
    """Read no more documents than the one thing needs."""
    finders: dict[str, Callable[[], Row | None]] = {
        "ocs": lambda: _of(twin, fabric, "ocs", name, lambda d: ocs_row(fabric, d)),
        "cubes": lambda: _of(
            twin,
            fabric,
            "cubes",
            name,
            lambda d: cube_row(d, _of(twin, fabric, "cube-uses", name, lambda use: use)),
        ),
        "hosts": lambda: _among(hosts_of(twin, fabric, _cube_of(name)), name),
        "links": lambda: _among(links_of(twin, fabric, _cube_of(name)), name),
        "slices": lambda: _of(twin, fabric, "slices", name, slice_row),
    }
    return finders.get(kind, lambda: _of(twin, fabric, kind, name, lambda d: d))()


def _of(twin: TwinPorts, fabric: str, kind: str, name: str, render: Callable[[Row], Shown]) -> Shown | None:
    text = twin.documents.one(fabric, kind, name)
    return None if text is None else render(orjson.loads(text))


def hosts_of(twin: TwinPorts, fabric: str, cube: str) -> list[Row]:
    """The hosts of one cube; none if there is no such cube."""
    return _of(twin, fabric, "cubes", cube, host_rows) or []


def links_of(twin: TwinPorts, fabric: str, cube: str) -> list[Row]:
    """The link ends of one cube; none if there is no such cube."""
    number = cube.rpartition("-")[2]
    use = _of(twin, fabric, "cube-uses", cube, lambda d: d)
    return _of(twin, fabric, "links", cube, lambda group: link_rows(fabric, int(number), group, use)) or []


def _among(rows: Iterable[Row], name: str) -> Row | None:
    return next((row for row in rows if row["name"] == name), None)


def _cube_of(name: str) -> str:
    return "/".join(name.split("/")[:2])


def trace(twin: TwinPorts, name: str) -> Row:
    """The whole light path from one link end: chip, face, fibre, both strands through the OCS, far chip.

    The path is the one that the light takes, by the circuits that the OCS has made; `wanted_end` is where it
    would lead if all that are wanted were. `far_condition` is that of the module there.
    """
    row = one(twin, "links", name)
    fabric = fabric_of(twin, name)
    end = link_end(parse_part(name, cubes_of(twin, fabric)).end)
    document = _of(twin, fabric, "ocs", row["ocs"], lambda d: d)
    if document is None:
        raise OperationFailed(f"{row['ocs']}: the store has no document of it")
    strands = [_strand(document, end, strand) for strand in range(STRANDS)]
    far_end, wanted_end = _far_end(end, strands), _wanted_end(document, end)
    partner = far_end or wanted_end
    far_row = _find(twin, "links", fabric, partner.name(fabric)) if partner else None
    return {
        "end": name,
        "chip": _chip(fabric, end),
        "far_end": far_end.name(fabric) if far_end else None,
        "far_chip": _chip(fabric, far_end) if far_end else None,
        "wanted_end": wanted_end.name(fabric) if wanted_end else None,
        "state": row["state"],
        "condition": row["condition"],
        "far_condition": far_row["condition"] if far_row else None,
        "loss_db": row["loss_db"],
        "ber": row["ber"],
        "slice": row["slice"],
        "strands": strands,
    }


def _chip(fabric: str, end: LinkEnd) -> Row:
    return {"cube": f"{fabric}/cube-{end.cube}", "x": end.chip[0], "y": end.chip[1], "z": end.chip[2]}


def _strand(document: Row, end: LinkEnd, strand: int) -> Row:
    """One strand on the end's OCS: an end on a + face enters at the North, on a − face at the South. The
    port of the other side is null when no circuit is made."""
    port, (north, south) = end.port(strand), _wanted(document, end, strand)
    made = north >= 0 and document["made"][north]
    far = (south if end.is_north else north) if made else None
    ports = (port, far) if end.is_north else (far, port)
    return {"strand": strand, "ocs": document["name"], "north": ports[0], "south": ports[1]}


def _wanted(document: Row, end: LinkEnd, strand: int) -> tuple[int, int]:
    """(North port, South port) of the circuit commanded for a strand of the end, the other side −1 if none
    is."""
    port, wanted = end.port(strand), document["wanted"]
    if end.is_north:
        return port, wanted[port]
    return next((n for n, south in enumerate(wanted) if south == port), -1), port


def _wanted_end(document: Row, end: LinkEnd) -> LinkEnd | None:
    """Where the circuits commanded for the end lead, made or not: those of both strands to the same end."""
    north, south = _wanted(document, end, 0)
    far_side, port = ("S", south) if end.is_north else ("N", north)
    return end_at(end.ocs, far_side, port) if port >= 0 else None


def _far_end(end: LinkEnd, strands: list[Row]) -> LinkEnd | None:
    """Where both strands lead; None unless both are made."""
    far_side, other = ("S", "south") if end.is_north else ("N", "north")
    if any(strand[other] is None for strand in strands):
        return None
    return end_at(end.ocs, far_side, strands[0][other])
