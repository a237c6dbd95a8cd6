"""Predicts the effects of a fault, a drain or a repair."""

from schemas.api.changes import Change
from schemas.api.whatif import EffectEvent, PartEffect, WhatIfReport
from services.gateway.explain.changes import change_requests
from services.gateway.fabrics import living_fabrics, site_of
from services.gateway.requests.receipts import receipt_of
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.messages import log_message
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S

HORIZON_S = 3_600
"""Default look-ahead in seconds: faults are detected within minutes, and slices restarted."""
HORIZON_S_MAX = 86_400
"""Maximum look-ahead of a site with one fabric; all fabrics of a site share it."""
AVAILABILITY_TYPES = (
    *("CubeUnhealthy", "CubeHealthy", "CubeDrained", "CubeUndrained", "HostDown", "HostUp"),
    *("CubePowerLost", "CubePowerRegained", "CubeOverheated", "CubeCooled"),
    *("OcsDown", "OcsUp", "PortDown", "PortUp", "RepairOpened"),
    *("OcsPartDown", "OcsPartUp", "OcsHeld", "OcsFreed", "PortsDown", "PortsUp"),
    *("OcsesDown", "OcsesUp", "ControlLost", "ControlRegained", "NetworkPartDown", "NetworkPartUp"),
)
"""Message types that report that a part goes out of use or comes back."""


def predict(twin: TwinPorts, change: Change, within_s: int) -> WhatIfReport:
    """The effects of a change that is made now; raise InvalidInput or NotFound if it is not possible."""
    fabric, bodies = change_requests(twin, change)
    _check_within(twin, fabric, within_s)
    result = twin.queries.predict(fabric, bodies, twin.clock.show().now_us, within_s * US_PER_S)
    lines = [log_message(twin, message) for message in result.caused]
    receipt = receipt_of(result.requested[0], lines, repeated=False, complete=True)
    parts = [
        (name, line.type) for line in lines if line.type in AVAILABILITY_TYPES for name in line.about[:1]
    ]
    return WhatIfReport(
        fabric=fabric,
        requested=_change_text(change),
        at_us=result.requested[0].at_us,
        until_us=result.until_us,
        refused=getattr(receipt, "reason", None),
        parts=tuple(
            [PartEffect(name=name, message_type=message_type) for name, message_type in dict.fromkeys(parts)]
        ),
        slices=result.slices,
        circuits_made=result.circuits_made,
        jobs=result.jobs,
        traffic=result.traffic,
        measures=result.measures,
        events=tuple([EffectEvent(at_us=line.at_us, type=line.type, text=line.text) for line in lines]),
    )


def _change_text(change: Change) -> str:
    """A change as the command line names it: `inject ocs pod-0/ocs-17`."""
    words = [change.change, getattr(change, "kind", None), getattr(change, "target", None)]
    return " ".join([word for word in words if word is not None])


def _check_within(twin: TwinPorts, fabric: str, within_s: int) -> None:
    """Raise InvalidInput if running the whole site that far would take too long."""
    site = site_of(twin, fabric)
    fabrics = [name for name in living_fabrics(twin) if site_of(twin, name) == site]
    limit = max(HORIZON_S_MAX // max(len(fabrics), 1), HORIZON_S)
    if within_s > limit:
        raise InvalidInput(
            f"within_s {within_s}: must be between 1 and {limit}, because all {len(fabrics)} fabrics of "
            f"{site} are simulated"
        )
