"""What people see of each kind of thing that they can `get`: a row's cells."""

from collections.abc import Callable
from typing import Any

from ops.common.tables import Table, shown
from schemas.kinds import KINDS
from shared.basics.times import moment, span

Row = dict[str, Any]


def table_of(kind: str, rows: list[Row], now_us: int) -> Table:
    """The table of some things of one kind at `now_us` of simulated time."""
    return KINDS[kind].columns, [CELLS[kind](row, now_us) for row in rows]


def _span(from_us: int | None, to_us: int | None, now_us: int) -> str:
    """From one moment to another, or to now where that has not come."""
    return "-" if from_us is None else span(max(0, (now_us if to_us is None else to_us) - from_us))


def _fabric(row: Row, _now_us: int) -> list[object]:
    links, slices = row["links"], row["slices"]
    waits = row["waits"] or {"median_us": None, "p95_us": None}
    return [
        row["name"],
        row["kind"],
        row["site"],
        "alive" if row["retired_us"] is None else "retired",
        moment(row["now_us"]),
        f"{row['healthy']}/{row['cubes']}",
        f"{row['ocs'] - row['ocs_down']}/{row['ocs']}" if row["ocs"] else None,
        f"{links['up']}/{links['up'] + links['degraded'] + links['down']}",
        slices["running"],
        slices["degraded"],
        slices["recovering"],
        slices["queued"],
        span(waits["median_us"]),
        span(waits["p95_us"]),
        f"{100 * row['utilisation_now']:.1f}%",
        f"{100 * row['utilisation']:.1f}%",
        row["faults_active"],
        row["repairs"]["queued"] + row["repairs"]["begun"],
    ]


def _ocs(row: Row, _now_us: int) -> list[object]:
    ports = ",".join(row["ports_down"])
    circuits = f"{row['circuits_made']}/{row['circuits_wanted']}"
    return [row["name"], row["state"], circuits, row["radix"], ports, moment(row["changed_us"])]


def _cube(row: Row, _now_us: int) -> list[object]:
    held = ",".join(name.split("/")[1] for name in row["slices"])
    reasons = ",".join(reason.partition("/")[2] for reason in row["reasons"])
    return [
        row["name"],
        row["health"],
        "draining" if row["draining"] else row["drained"],
        row["hosts_down"],
        row["chips_used"],
        held,
        reasons,
        moment(row["changed_us"]),
    ]


def _link(row: Row, _now_us: int) -> list[object]:
    return [
        row["name"],
        row["state"],
        row["condition"],
        row["far_end"],
        shown("loss_db", row["loss_db"]),
        shown("ber", row["ber"]),
        row["ocs"],
        row["slice"],
    ]


def _slice(row: Row, _now_us: int) -> list[object]:
    place = f"{row['queue_position']} in the queue: " if row["queue_position"] is not None else ""
    starts = f"; starts by {moment(row['promised_us'])}" if row["promised_us"] is not None else ""
    return [
        row["name"],
        row["state"],
        row["owner"],
        row["tier"],
        row["shape"] + ("_T" if row["twisted"] else ""),
        row["chips"],
        len(row["cubes"]),
        row["priority"],
        row["links_down"],
        row["links_degraded"],
        row["swaps"],
        row["restarts"],
        span(row["waited_us"]),
        span(row["ran_us"]),
        span(row["left_us"]),
        f"{place}{row['reason']}{starts}" if row["reason"] else None,
    ]


def _fault(row: Row, now_us: int) -> list[object]:
    left = span(row["expires_us"] - now_us) if row["expires_us"] and row["state"] == "active" else None
    lasted = _span(row["began_us"], row["ended_us"], now_us)
    return [row["name"], row["kind"], row["target"], row["state"], row["injected"], lasted, left, row["how"]]


def _repair(row: Row, now_us: int) -> list[object]:
    began_us, ended_us = row["began_us"], row["ended_us"]
    waited = _span(row["requested_us"], ended_us if began_us is None else began_us, now_us)
    worked = _span(began_us, ended_us, now_us)
    return [row["name"], row["kind"], row["target"], row["state"], row["technician"], waited, worked]


CELLS: dict[str, Callable[[Row, int], list[object]]] = {
    "fabrics": _fabric,
    "ocs": _ocs,
    "cubes": _cube,
    "hosts": lambda row, _: [row["name"], row["state"], row["reason"]],
    "links": _link,
    "slices": _slice,
    "faults": _fault,
    "repairs": _repair,
}
"""Kind → the cells of a row under its columns."""
