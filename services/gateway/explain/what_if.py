"""What a fault, a drain or a repair would touch, before anybody does it."""

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
"""How far anybody looks who does not say: faults are noticed in minutes, and slices restarted."""
HORIZON_S_MAX = 86_400
"""Of a fabric by itself: where a site has several, all of them are driven."""
AVAILABILITY_TYPES = (
    *("CubeUnhealthy", "CubeHealthy", "CubeDrained", "CubeUndrained", "HostDown", "HostUp"),
    *("CubePowerLost", "CubePowerRegained", "CubeOverheated", "CubeCooled"),
    *("OcsDown", "OcsUp", "PortDown", "PortUp", "RepairOpened"),
    *("OcsPartDown", "OcsPartUp", "OcsHeld", "OcsFreed", "PortsDown", "PortsUp"),
    *("OcsesDown", "OcsesUp", "ControlLost", "ControlRegained", "NetworkPartDown", "NetworkPartUp"),
)
"""Types that say of a part that it goes out of use or comes back."""


def predict_fault(twin: TwinPorts, requested: FaultRequest, within_s: int) -> WhatIfReport:
    """What a fault would touch; InvalidInput or NotFound where it could not be."""
    fabric, body = fault_request(twin, requested)
    return _foresee(twin, fabric, f"inject {requested.kind} {requested.target}", (body,), within_s)


def predict_drain(twin: TwinPorts, name: str, within_s: int) -> WhatIfReport:
    """What draining a cube would touch."""
    fabric, body = drain_request(twin, name, drain=True)
    return _foresee(twin, fabric, f"drain {name}", (body,), within_s)


def predict_repair(twin: TwinPorts, name: str, within_s: int) -> WhatIfReport:
    """What comes back if all that is broken in a part is repaired now; InvalidInput where nothing is."""
    fabric = part_of(twin, name).fabric
    faults = twin.queries.repairable(fabric, name)
    if not faults:
        raise InvalidInput(f"target {name!r}: nothing is broken there; `lightwave get faults` shows what is")
    return _foresee(twin, fabric, f"repair {name}", [ClearFault(fault=fault) for fault in faults], within_s)


def _foresee(
    twin: TwinPorts, fabric: str, requested: str, bodies: Sequence[RequestBody], within_s: int
) -> WhatIfReport:
    _check_within(twin, fabric, within_s)
    ended_us = retired_us(twin, fabric)
    if ended_us is not None:
        raise InvalidInput(
            f"fabric {fabric}: retired at {format_time(ended_us)}; nothing happens there any more"
        )
    found = twin.queries.foresee(fabric, bodies, twin.clock.show().now_us, within_s * US_PER_S)
    lines = [log_message(twin, message) for message in found.caused]
    receipt = receipt_of(found.requested[0], lines, repeated=False, complete=True)
    parts = [
        (name, line.type) for line in lines if line.type in AVAILABILITY_TYPES for name in line.about[:1]
    ]
    return WhatIfReport(
        fabric=fabric,
        requested=requested,
        at_us=found.requested[0].at_us,
        until_us=found.until_us,
        refused=getattr(receipt, "reason", None),
        parts=tuple(
            [PartEffect(name=name, message_type=message_type) for name, message_type in dict.fromkeys(parts)]
        ),
        slices=found.slices,
        circuits_made=found.circuits_made,
        jobs=found.jobs,
        traffic=found.traffic,
        events=tuple([EffectEvent(at_us=line.at_us, type=line.type, text=line.text) for line in lines]),
    )


def _check_within(twin: TwinPorts, fabric: str, within_s: int) -> None:
    """InvalidInput where a whole site would be driven for longer than a pod by itself may be."""
    site = site_of(twin, fabric)
    driven = [name for name in living_fabrics(twin) if site_of(twin, name) == site]
    most = max(HORIZON_S_MAX // max(len(driven), 1), HORIZON_S)
    if within_s > most:
        raise InvalidInput(
            f"within_s {within_s}: all {len(driven)} fabrics of {site} are looked ahead for; allowed are 1 "
            f"to {most} for so many"
        )
