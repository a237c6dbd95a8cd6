"""`lightwave plan`: what would become of a request that is not made."""

from collections.abc import Mapping
from typing import Any

from ops.cli.explain import listed, started
from ops.cli.groups import application
from ops.cli.options import (
    AtPriority,
    Fabric,
    ForOwner,
    OfTier,
    Output,
    Recoveries,
    RunTime,
    SliceShape,
    Twisted,
)
from ops.cli.output import show
from ops.common.client import Client
from shared.basics.times import chip_hours, moment

PLAN = ("shape", "decision", "reason", "start", "cubes", "circuits_kept", "circuits_made", "leavers")

app = application("plan")


@app.callback()
def plan() -> None:
    """Say what would become of a request that came now, without making it."""


@app.command("request")
def plan_request(
    shape: SliceShape,
    twisted: Twisted = False,
    duration_s: RunTime = None,
    owner: ForOwner = "operator",
    tier: OfTier = "production",
    priority: AtPriority = 0,
    recovery: Recoveries = None,
    fabric: Fabric = None,
    output: Output = "table",
) -> None:
    """Say which cubes and circuits a slice of SHAPE would get now, and who would have to leave for it."""
    client = Client()
    ask: dict[str, Any] = {"fabric": fabric, "shape": shape, "owner": owner, "tier": tier}
    ask |= {"twisted": str(twisted).lower(), "priority": priority, "duration_s": duration_s}
    ask["recovery"] = recovery
    found = client.thing("/v1/plan/slices", *PLAN, **ask)
    with client.reading():
        show(found, output, lambda: _table(found))


def _table(found: Mapping[str, Any]) -> str:
    """The decision in sentences; then who leaves, and the circuits by OCS."""
    twist = " twisted" if found["twisted"] else ""
    asked = f"{found['shape']}{twist} for {found['owner']} ({found['tier']}) at {moment(found['at_us'])}"
    lines = [f"{asked}: {_DECISIONS[found['decision']]}"]
    if found["reason"] is not None:
        lines.append(f"why: {found['reason']}")
    if found["queue_position"] is not None:
        lines.append(f"queue: {found['queue_position']}")
    lines += started(found["start"])
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
        [row["slice"], row["owner"], row["tier"], chip_hours(row["loses_chip_us"]), _goes(row)]
        for row in found["leavers"]
    ]
    lines += listed(("LEAVES", "OWNER", "TIER", "LOSES-CHIP-HOURS", "GOES-TO"), leavers)
    circuits = [
        [row["ocs"], f"N{row['north']}", f"S{row['south']}", "kept" if row["kept"] else "to make"]
        for row in found["circuits"]
    ]
    lines += listed(("OCS", "NORTH", "SOUTH", "CIRCUIT"), circuits)
    return "\n".join(lines)


_DECISIONS = {
    "placed": "would be placed at once",
    "claims": "would be placed as soon as others have left",
    "waits": "would wait",
    "refused": "would be refused",
}


def _goes(row: Mapping[str, Any]) -> str:
    if row["leaves_anyway"]:
        return "queue (was told before)"
    return str(row["moves_to"] or "queue")
