"""`lightwave plan`: what would become of a request that is not made."""

from collections.abc import Mapping
from typing import Any

from ops.cli.common.command_groups import command_app
from ops.cli.common.options import (
    Fabric,
    Output,
    OwnerOption,
    PriorityOption,
    RecoveryOption,
    RunTimeOption,
    SliceShape,
    TierOption,
    Twisted,
)
from ops.cli.common.output import show
from ops.cli.explain.slice_state import start_lines, table_lines
from ops.client.http_client import Client
from shared.basics.time_format import format_chip_hours, format_time

PLAN_FIELDS = ("shape", "decision", "reason", "start", "cubes", "circuits_kept", "circuits_made", "leavers")

app = command_app("plan")


@app.callback()
def plan() -> None:
    """Say what would become of a request that came now, without making it."""


@app.command("request")
def plan_request(
    shape: SliceShape,
    twisted: Twisted = False,
    duration_s: RunTimeOption = None,
    owner: OwnerOption = "operator",
    tier: TierOption = "production",
    priority: PriorityOption = 0,
    recovery: RecoveryOption = None,
    fabric: Fabric = None,
    output: Output = "table",
) -> None:
    """Say which cubes and circuits a slice of SHAPE would get now, and who would have to leave for it."""
    client = Client()
    ask: dict[str, Any] = {"fabric": fabric, "shape": shape, "owner": owner, "tier": tier}
    ask |= {"twisted": str(twisted).lower(), "priority": priority, "duration_s": duration_s}
    ask["recovery"] = recovery
    found = client.resource("/v1/plan/slices", *PLAN_FIELDS, **ask)
    with client.reading():
        show(found, output, lambda: _table(found))


def _table(found: Mapping[str, Any]) -> str:
    """The decision in sentences; then who leaves, and the circuits by OCS."""
    twist = " twisted" if found["twisted"] else ""
    request_text = (
        f"{found['shape']}{twist} for {found['owner']} ({found['tier']}) at {format_time(found['at_us'])}"
    )
    lines = [f"{request_text}: {_DECISIONS[found['decision']]}"]
    if found["reason"] is not None:
        lines.append(f"why: {found['reason']}")
    if found["queue_position"] is not None:
        lines.append(f"queue: {found['queue_position']}")
    lines += start_lines(found["start"])
    if found["cubes"]:
        corner = "" if found["corner"] is None else f", corner {'x'.join(map(str, found['corner']))}"
        lines.append(f"cubes: {', '.join(found['cubes'])}{corner}")
    if found["circuits"]:
        lines.append(
            f"circuits: {found['circuits_made']:,} to make, {found['circuits_kept']:,} stand already, "
            f"{found['circuits_taken_away']:,} of nobody's are taken away"
        )
    lines.append(f"largest shape that would fit now: {found['largest_now'] or 'none'}")
    leavers = [
        [row["slice"], row["owner"], row["tier"], format_chip_hours(row["loses_chip_us"]), _destination(row)]
        for row in found["leavers"]
    ]
    lines += table_lines(("LEAVES", "OWNER", "TIER", "LOSES-CHIP-HOURS", "GOES-TO"), leavers)
    circuits = [
        [row["ocs"], f"N{row['north']}", f"S{row['south']}", "kept" if row["kept"] else "to make"]
        for row in found["circuits"]
    ]
    lines += table_lines(("OCS", "NORTH", "SOUTH", "CIRCUIT"), circuits)
    return "\n".join(lines)


_DECISIONS = {
    "placed": "would be placed at once",
    "claims": "would be placed as soon as others have left",
    "waits": "would wait",
    "refused": "would be refused",
}


def _destination(row: Mapping[str, Any]) -> str:
    if row["already_leaving"]:
        return "queue (was told before)"
    return str(row["moves_to"] or "queue")
