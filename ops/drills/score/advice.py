"""What may have helped: the parameter or the practice that governs a late or missing message.

Spare cubes are named only if the drill took cubes out of use: no spare replaces a dark OCS or link.
"""

import re

from services.gateway.explain.drill_record import DrillRecord
from shared.models.faults.fault_kinds import FAULTS

BY_MESSAGE: dict[str, str] = {
    "HostDown": "heartbeats at shorter intervals: --set cubes.heartbeat_s=N",
    "HostUp": "faster repairs: more technicians (--set repairs.technicians=N), or spare hosts",
    "CubeUnhealthy": "heartbeats at shorter intervals: --set cubes.heartbeat_s=N",
    "CubeHealthy": "faster repairs: more technicians (--set repairs.technicians=N)",
    "RepairRequested": "heartbeats at shorter intervals: --set cubes.heartbeat_s=N",
    "RepairOpened": "telemetry at shorter intervals: --set transceivers.inspection_interval_s=N",
    "RepairBegun": "more technicians: --set repairs.technicians=N (fibre: repairs.fibre_technicians)",
    "RepairCompleted": "more technicians or faster repairs: --set repairs.technicians=N",
    "VerdictGiven": "inspections at shorter intervals: --set transceivers.inspection_interval_s=N",
    "EndsStoodOut": "inspections at shorter intervals: --set transceivers.inspection_interval_s=N",
    "LinksChanged": "telemetry at shorter intervals: --set transceivers.telemetry_interval_s=N",
    "OcsDown": "the fault had no such effect: check its kind and its target with `lightwave impact`",
    "OcsUp": "faster repairs of OCSes: --set repairs.ocs_repair_h=N, or a spare OCS",
    "SliceRestored": "faster repairs of what the drill broke: repairs.*_repair_h",
    "SliceRecovering": "draw a part that slices use, or raise the load: --set workload.offered_load=N",
    "SliceDegraded": "draw a part that slices use, or raise the load: --set workload.offered_load=N",
    "CubeSwapped": "an idle spare cube: --set scheduler.hot_spares=N",
    "SliceStarted": "free cubes: less load, or --set scheduler.hot_spares=N",
    "SliceAdmitted": "free cubes: less load, or --set scheduler.hold_back_cubes=N",
}
"""Type of the message → what would have made it come, or come sooner."""
BY_WORD: tuple[tuple[str, str], ...] = (
    ("queued", "free cubes: less load, or --set scheduler.hold_back_cubes=N"),
    ("recovering", "faster repairs of what the drill broke: repairs.*_repair_h"),
    ("degraded", "faster repairs of what the drill broke: repairs.*_repair_h"),
    ("unhealthy", "faster repairs: --set repairs.technicians=N, or spare hosts"),
    ("healthy", "faster repairs: --set repairs.technicians=N, or spare hosts"),
    ("drained", "shorter drains, or fewer at once"),
    ("repairs", "more technicians: --set repairs.technicians=N"),
    ("served", "more trunks, or more headroom: --set topology.use_above=N"),
    ("ocs", "faster repairs of OCSes: --set repairs.ocs_repair_h=N"),
    ("links", "faster repairs of links: --set repairs.fibre_technicians=N"),
)
"""Word in a condition → what helps; the first one counts."""


SLICES_OUT_OF_ORDER = ("queued", "recovering", "degraded")
"""States of slices that are counted if a share must have the other states: `share(slices, state in [running,
queued]) >= 0.9` is violated by slices that recover or are degraded."""
_WANTED = re.compile(r"in \[([^\]]*)\]\) *>=?")
"""The list of states of which there must be at least a number or a share."""
SPARES = "spare cubes: --set scheduler.hot_spares=N"
SPARES_HELP = ("SliceRestored", "recovering", "degraded")
"""Messages and words for which spare cubes are named, too, if cubes are out of use."""
OF_CUBES = frozenset({"host", "chip", "cable", "cube"})
"""Parts whose faults take a cube out of use."""


def takes_cubes(record: DrillRecord) -> bool:
    """Whether the drill took cubes out of use, by faults or drains."""
    is_drained = any(order.body.request_type == "DrainCube" for order in record.orders.values())
    return is_drained or any(FAULTS[body.kind].strikes in OF_CUBES for _, body in record.faults.values())


def advice_for_message(type_: str, record: DrillRecord) -> str:
    """What would have made a message of this type come, or come sooner."""
    default = "`lightwave why` on the fault: its effects are listed there"
    return _with_spares(BY_MESSAGE.get(type_, default), type_, record)


def advice_for_probe(condition: str, record: DrillRecord) -> str:
    """What would have kept a condition true, or made it true sooner."""
    default = "", "compare with a run without the drill: `lightwave diff`"
    lists = _WANTED.findall(condition)
    wanted = {word.strip() for listed in lists for word in listed.split(",")}
    text = condition
    for listed in lists:
        text = text.replace(f"[{listed}]", "")
    if "slices" in condition and wanted:
        text += " ".join(word for word in SLICES_OUT_OF_ORDER if word not in wanted)
    word, advice = next((pair for pair in BY_WORD if pair[0] in text), default)
    return _with_spares(advice, word, record)


def _with_spares(advice: str, about: str, record: DrillRecord) -> str:
    return f"{advice}; or {SPARES}" if about in SPARES_HELP and takes_cubes(record) else advice
