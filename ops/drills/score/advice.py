"""What would have helped: the parameter or the practice that governs a late or missing message."""

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
    "SliceRestored": "faster repairs, or a recovery that moves the slice: --set scheduler.hot_spares=N",
    "SliceRecovering": "draw a part that slices use, or raise the load: --set workload.offered_load=N",
    "SliceDegraded": "draw a part that slices use, or raise the load: --set workload.offered_load=N",
    "CubeSwapped": "an idle spare cube: --set scheduler.hot_spares=N",
    "SliceStarted": "free cubes: less load, or --set scheduler.hot_spares=N",
    "SliceAdmitted": "free cubes: less load, or --set scheduler.hold_back_cubes=N",
}
"""Type of the message → what would have made it come, or come sooner."""
BY_WORD: tuple[tuple[str, str], ...] = (
    ("queued", "free cubes: less load, or --set scheduler.hold_back_cubes=N"),
    ("recovering", "spare cubes: --set scheduler.hot_spares=N"),
    ("degraded", "faster repairs, or spare cubes: --set scheduler.hot_spares=N"),
    ("unhealthy", "faster repairs: --set repairs.technicians=N, or spare hosts"),
    ("healthy", "faster repairs: --set repairs.technicians=N, or spare hosts"),
    ("drained", "shorter drains, or fewer at once"),
    ("repairs", "more technicians: --set repairs.technicians=N"),
    ("served", "more trunks, or more headroom: --set topology.use_above=N"),
    ("ocs", "faster repairs of OCSes: --set repairs.ocs_repair_h=N"),
    ("links", "faster repairs of links: --set repairs.fibre_technicians=N"),
)
"""Word in a condition → what helps; the first one counts."""


def advice_for_message(type_: str) -> str:
    """What would have made a message of this type come, or come sooner."""
    return BY_MESSAGE.get(type_, "`lightwave why` on the fault: its effects are listed there")


def advice_for_probe(condition: str) -> str:
    """What would have kept a condition true, or made it true sooner."""
    found = (advice for word, advice in BY_WORD if word in condition)
    return next(found, "compare with a run without the drill: `lightwave diff`")
