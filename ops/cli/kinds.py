"""What people see of each kind of thing that they can `get`: a row's cells."""

from collections.abc import Callable
from typing import Any

from ops.common.tables import Table, shown
from schemas.kinds import KINDS
from shared.basics.times import moment, span

Row = dict[str, Any]


def table_of(kind: str, rows: list[Row], now_us: int) -> Table:
    """The table of some things of one kind; ages are simulated time before `now_us`."""
    return KINDS[kind].columns, [CELLS[kind](row, now_us) for row in rows]


def _age(at_us: int | None, now_us: int) -> str:
    return span(max(0, now_us - at_us)) if at_us is not None else "-"


def _fabric(row: Row, _now_us: int) -> list[object]:
    links, slices = row["links"], row["slices"]
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
        slices["waiting"],
        f"{100 * row['utilisation']:.1f}%",
        row["faults_active"],
        row["repairs"]["queued"] + row["repairs"]["begun"],
    ]


def _ocs(row: Row, now_us: int) -> list[object]:
    ports = ",".join(row["ports_down"])
    circuits = f"{row['circuits_made']}/{row['circuits_wanted']}"
    return [row["name"], row["state"], circuits, row["radix"], ports, _age(row["changed_us"], now_us)]


def _cube(row: Row, now_us: int) -> list[object]:
    held = ",".join(name.split("/")[1] for name in row["slices"])
    reasons = ",".join(reason.partition("/")[2] for reason in row["reasons"])
    age = _age(row["changed_us"], now_us)
    return [
        row["name"],
        row["health"],
        row["drained"],
        row["hosts_down"],
        row["chips_used"],
        held,
        reasons,
        age,
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


def _slice(row: Row, now_us: int) -> list[object]:
    return [
        row["name"],
        row["state"],
        row["shape"] + ("_T" if row["twisted"] else ""),
        row["chips"],
        len(row["cubes"]),
        row["priority"],
        f"{row['links_down']}/{row['links_degraded']}",
        row["swaps"],
        _age(row["requested_us"], now_us),
        row["reason"],
    ]


def _fault(row: Row, now_us: int) -> list[object]:
    left = span(row["expires_us"] - now_us) if row["expires_us"] and row["state"] == "active" else None
    age = _age(row["began_us"], now_us)
    return [row["name"], row["kind"], row["target"], row["state"], row["injected"], age, left, row["how"]]


def _repair(row: Row, now_us: int) -> list[object]:
    age = _age(row["requested_us"], now_us)
    return [row["name"], row["kind"], row["target"], row["state"], row["technician"], age]


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
