"""Predicts the effects of a fault, a drain or a repair."""

from collections.abc import Sequence

from schemas.api.requests import FaultRequest
from schemas.api.whatif import EffectEvent, PartEffect, WhatIfReport
from schemas.messages.operator import ClearFault
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import living_fabrics, part_of, retired_us, site_of
from services.gateway.ports import TwinPorts
from services.gateway.requests.operator_requests import drain_request, fault_request
from services.gateway.requests.receipts import receipt_of
from services.gateway.text.messages import log_message
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
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


def predict_fault(twin: TwinPorts, requested: FaultRequest, within_s: int) -> WhatIfReport:
    """The effects of a fault; raise InvalidInput or NotFound if it cannot be injected."""
    fabric, body = fault_request(twin, requested)
    return _predict(twin, fabric, f"inject {requested.kind} {requested.target}", (body,), within_s)


def predict_drain(twin: TwinPorts, name: str, within_s: int) -> WhatIfReport:
    """The effects of draining a cube."""
    fabric, body = drain_request(twin, name, drain=True)
    return _predict(twin, fabric, f"drain {name}", (body,), within_s)


def predict_repair(twin: TwinPorts, name: str, within_s: int) -> WhatIfReport:
    """The effects of repairing all faults of a part now; raise InvalidInput if there are none."""
    fabric = part_of(twin, name).fabric
    faults = twin.queries.repairable(fabric, name)
    if not faults:
        raise InvalidInput(f"target {name!r}: has no active faults; `lightwave get faults` lists them")
    return _predict(twin, fabric, f"repair {name}", [ClearFault(fault=fault) for fault in faults], within_s)


def _predict(
    twin: TwinPorts, fabric: str, requested: str, bodies: Sequence[RequestBody], within_s: int
) -> WhatIfReport:
    _check_within(twin, fabric, within_s)
    ended_us = retired_us(twin, fabric)
    if ended_us is not None:
        raise InvalidInput(f"fabric {fabric}: retired at {format_time(ended_us)}; must be a running fabric")
    result = twin.queries.foresee(fabric, bodies, twin.clock.show().now_us, within_s * US_PER_S)
    lines = [log_message(twin, message) for message in result.caused]
    receipt = receipt_of(result.requested[0], lines, repeated=False, complete=True)
    parts = [
        (name, line.type) for line in lines if line.type in AVAILABILITY_TYPES for name in line.about[:1]
    ]
    return WhatIfReport(
        fabric=fabric,
        requested=requested,
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
        events=tuple([EffectEvent(at_us=line.at_us, type=line.type, text=line.text) for line in lines]),
    )


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
