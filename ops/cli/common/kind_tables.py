"""The tables of `lightwave get`: the cells of a row for each kind of object."""

from collections.abc import Callable, Sequence
from typing import Any

from ops.report.tables import Table, display_value
from schemas.kinds import KINDS
from shared.basics.field_text import format_gbps
from shared.basics.time_format import format_duration, format_time

Row = dict[str, Any]
PPM = 1_000_000
BATCH_ALIKE_MIN = 2


OF_PODS = frozenset(
    {"CUBES", "RUNNING", "DEGRADED", "RECOVERING", "QUEUED", "WAIT-MEDIAN", "WAIT-P95", "USED", "USED-MEAN"}
)
OF_NETWORKS = frozenset({"BLOCKS", "SERVED", "USE", "TRANSIT", "REWIRING"})
"""Columns that only fabrics with cubes have, or only fabrics with blocks."""
OF_JOBS = frozenset({"JOB"})
"""Those that say nothing of slices of one pod."""


def table_of(kind: str, rows: list[Row], now_us: int) -> Table:
    """The table of some things of one kind at `now_us` of simulated time; of fabrics without the columns that
    none of them has, and of slices without JOB where none is of a job over several pods."""
    headers: Sequence[str] = KINDS[kind].columns
    cells: list[Sequence[object]] = [_cells(kind, row, now_us) for row in rows]
    unused = _unused(kind, rows)
    kept = [n for n, header in enumerate(headers) if header not in unused]
    return [headers[n] for n in kept], [[row[n] for n in kept] for row in cells]


def _cells(kind: str, row: Row, now_us: int) -> list[object]:
    """The cells of a row. A kind without a function of its own shows the fields that its columns name:
    `CHANGED` and other names of times ending in `_us` as times."""
    return CELLS[kind](row, now_us) if kind in CELLS else [_field(row, name) for name in KINDS[kind].columns]


def _field(row: Row, column: str) -> object:
    name = column.lower().replace("-", "_")
    return format_time(row[f"{name}_us"]) if f"{name}_us" in row else display_value(name, row[name])


def _unused(kind: str, rows: list[Row]) -> frozenset[str]:
    """The columns that say nothing of any of these things."""
    if kind == "slices":
        return frozenset() if any(row.get("job") for row in rows) else OF_JOBS
    if kind != "fabrics":
        return frozenset()
    have_network = any(row["network"] is not None for row in rows)
    have_cubes = any(row["cubes"] is not None for row in rows) or not rows
    return (frozenset() if have_network else OF_NETWORKS) | (frozenset() if have_cubes else OF_PODS)


def _span(from_us: int | None, to_us: int | None, now_us: int) -> str:
    """From one moment to another, or to now where that has not come."""
    return "-" if from_us is None else format_duration(max(0, (now_us if to_us is None else to_us) - from_us))


def _share(value: float | None, digits: int = 1) -> str | None:
    return None if value is None else f"{100 * value:.{digits}f}%"


def _ratio(there: int, all_of_them: int) -> str:
    return f"{there}/{all_of_them}"


def _local_name(name: str | None) -> str | None:
    """A name without its fabric, which the row's own begins with."""
    return None if name is None else name.partition("/")[2]


# --- things of any fabric and of pods -----------------------------------------------------------------------


def _fabric(row: Row, _now_us: int) -> list[object]:
    network = row["network"]
    return [
        row["name"],
        row["kind"],
        row["site"],
        "alive" if row["retired_us"] is None else "retired",
        format_time(row["now_us"]),
        None if row["cubes"] is None else _ratio(row["healthy"], row["cubes"]),
        _ratio(network["blocks"] - network["blocks_down"], network["blocks"]) if network else None,
        _ratio(row["ocs"] - row["ocs_down"], row["ocs"]) if row["ocs"] else None,
        *(_network_cells(network) if network else _pod_cells(row) if row["slices"] else _NO_CELLS),
        row["faults_active"],
        sum(row["repairs"][state] for state in ("queued", "begun", "tested")),
    ]


_NO_CELLS = (None,) * (1 + len(OF_PODS - {"CUBES"}) + len(OF_NETWORKS - {"BLOCKS"}))
"""Of a fabric that is neither a pod nor a network, from LINKS on."""


def _pod_cells(row: Row) -> list[object]:
    """From LINKS on."""
    links, slices = row["links"], row["slices"]
    waits = row["waits"] or {"median_us": None, "p95_us": None}
    return [
        _ratio(links["up"], links["up"] + links["degraded"] + links["down"]),
        slices["running"],
        slices["degraded"],
        slices["recovering"],
        slices["queued"],
        format_duration(waits["median_us"]),
        format_duration(waits["p95_us"]),
        _share(row["utilisation_now"]),
        _share(row["utilisation"]),
        *[None] * len(OF_NETWORKS - {"BLOCKS"}),
    ]


def _network_cells(network: Row) -> list[object]:
    """From LINKS on."""
    return [
        _ratio(network["carrying"], network["circuits"]),
        *[None] * len(OF_PODS - {"CUBES"}),
        _share(network["served"], 2),
        _share(network["use"]),
        _share(network["transit"]),
        network["rewiring"],
    ]


def _ocs(row: Row, _now_us: int) -> list[object]:
    parts, ports = (",".join(row[field]) for field in ("parts_down", "ports_down"))
    circuits = f"{row['circuits_made']}/{row['circuits_wanted']}"
    spares = "/".join(map(str, row["spares_left"]))
    return [
        row["name"],
        row["state"],
        circuits,
        row["radix"],
        parts,
        ports,
        spares,
        format_time(row["changed_us"]),
    ]


def _cube(row: Row, _now_us: int) -> list[object]:
    held = ",".join(name.split("/")[1] for name in row["slices"])
    reasons = ",".join([reason.partition("/")[2] for reason in row["reasons"]] + _troubles(row))
    return [
        row["name"],
        row["health"],
        "draining" if row["draining"] else row["drained"],
        row["hosts_down"],
        row["chips_used"],
        held,
        reasons,
        format_time(row["changed_us"]),
    ]


def _troubles(cube: Row) -> list[str]:
    """What is the matter with a cube besides its parts."""
    return [
        word for word, is_so in (("no power", not cube["powered"]), ("too hot", cube["throttled"])) if is_so
    ]


def _link(row: Row, _now_us: int) -> list[object]:
    return [
        row["name"],
        row["state"],
        row["condition"],
        row["far_end"],
        display_value("loss_db", row["loss_db"]),
        display_value("ber", row["ber"]),
        row["ocs"],
        row["slice"],
    ]


def _slice(row: Row, _now_us: int) -> list[object]:
    place = f"{row['queue_position']} in the queue: " if row["queue_position"] is not None else ""
    starts = f"; starts by {format_time(row['promised_us'])}" if row["promised_us"] is not None else ""
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
        format_duration(row["waited_us"]),
        format_duration(row["ran_us"]),
        format_duration(row["left_us"]),
        row.get("job"),
        f"{place}{row['reason']}{starts}" if row["reason"] else None,
    ]


def _fault(row: Row, now_us: int) -> list[object]:
    left = (
        format_duration(row["expires_us"] - now_us)
        if row["expires_us"] and row["state"] == "active"
        else None
    )
    lasted = _span(row["began_us"], row["ended_us"], now_us)
    return [row["name"], row["kind"], row["target"], row["state"], row["injected"], lasted, left, row["how"]]


def _repair(row: Row, now_us: int) -> list[object]:
    began_us, ended_us = row["began_us"], row["ended_us"]
    waited = _span(row["requested_us"], ended_us if began_us is None else began_us, now_us)
    worked = _span(began_us, ended_us, now_us)
    return [
        row["name"],
        row["kind"],
        row["target"],
        row["work"],
        row["state"],
        row["ineffective"],
        row["technician"],
        waited,
        worked,
        row.get("verdict"),
    ]


def _batch_text(verdict: Row) -> str | None:
    """The batch of which it is not the only one to stand out so, and how many are: by chance two are seldom
    of one."""
    if (batch_verdicts := verdict.get("batch_verdicts", 0)) < BATCH_ALIKE_MIN:
        return None
    return f"{_local_name(verdict['batch'])}: {batch_verdicts}"


def _verdict(row: Row, _now_us: int) -> list[object]:
    return [
        row["name"],
        row["kind"],
        row["target"],
        row["work"],
        _batch_text(row),
        _share(row["confidence"], 0),
        row["state"],
        format_time(row["given_us"]),
        format_time(row["ended_us"]),
        row["evidence"],
    ]


# --- things of networks -------------------------------------------------------------------------------------


def _block(row: Row, _now_us: int) -> list[object]:
    return [
        row["name"],
        row["state"],
        row["generation_gbps"],
        row["uplinks"],
        row["pod"],
        row["customer"],
        row["trunks"],
        _ratio(row["links"], row["wired"]),
        format_gbps(row["sends_gbps"]),
        format_gbps(row["receives_gbps"]),
        _share(row["use"]),
        ",".join(name.rpartition("/")[2] for name in row["bundles_down"]),
        format_time(row["changed_us"]),
    ]


def _trunk(row: Row, _now_us: int) -> list[object]:
    return [
        row["name"],
        row["state"],
        row["links"],
        row["wired"],
        row["rate_gbps"],
        format_gbps(row["carries_gbps"]),
        format_gbps(row["out_gbps"]),
        format_gbps(row["back_gbps"]),
        _share(row["use_out"]),
        _share(row["use_back"]),
        format_time(row["changed_us"]),
    ]


def _demand(row: Row, _now_us: int) -> list[object]:
    ends = [_local_name(row["source"]), _local_name(row["target"])]
    return [row["name"], *ends, f"{row['mbps']:,}", _share(row["share"]), format_time(row["changed_us"])]


def _before_and_after(row: Row, name: str) -> str | None:
    """A share as it was and as it will be; none of how the network came to be, before which nothing was."""
    if row["reason"] == "as-installed":
        return None
    return f"{_share(row[f'{name}_ppm'] / PPM)} → {_share(row[f'{name}_then_ppm'] / PPM)}"


def _rewiring(row: Row, now_us: int) -> list[object]:
    return [
        row["name"],
        row["state"],
        row["reason"],
        row["approval"],
        row["circuits"],
        _ratio(row["stages_done"], row["stages"]),
        *(_before_and_after(row, name) for name in ("use", "transit")),
        format_time(row["planned_us"]),
        format_duration(row["takes_us"]),
        _span(row["begun_us"], row["ended_us"], now_us),
        format_time(row["ends_us"]),
        row["waits_for"],
        row["outcome"],
        row["ended_because"],
    ]


def _ocses(row: Row) -> list[object]:
    """What of a rack's or domain's OCSes is up, and of their circuits made."""
    return [_ratio(row["ocses_up"], row["ocses"]), _ratio(row["circuits_made"], row["circuits_wanted"])]


def _rack(row: Row, _now_us: int) -> list[object]:
    domains = [",".join(str(_local_name(name)) for name in row[kind]) for kind in ("control", "power")]
    return [row["name"], row["state"], *_ocses(row), *domains]


def _bundle(row: Row, _now_us: int) -> list[object]:
    ends = [_local_name(row["block"]), _local_name(row["rack"])]
    made = _ratio(row["circuits_made"], row["circuits"])
    return [row["name"], row["state"], *ends, row["fibres"], made, row["reason"]]


CELLS: dict[str, Callable[[Row, int], list[object]]] = {
    "fabrics": _fabric,
    "ocs": _ocs,
    "cubes": _cube,
    "hosts": lambda row, _: [row["name"], row["state"], row["reason"]],
    "links": _link,
    "slices": _slice,
    "blocks": _block,
    "trunks": _trunk,
    "demands": _demand,
    "rewirings": _rewiring,
    "racks": _rack,
    "bundles": _bundle,
    "domains": lambda row, _: [row["name"], row["state"], *_ocses(row)],
    "faults": _fault,
    "verdicts": _verdict,
    "repairs": _repair,
}
"""Kind → the cells of a row under its columns."""
