"""What a fault, a drain or a repair would touch, before anybody does it."""

from collections.abc import Sequence

from schemas.api_foresight import ForeseenEvent, ForeseenPart, Foresight
from schemas.api_requests import FaultRequest
from schemas.asked import AskedBody
from schemas.operator import ClearFault
from services.gateway.fabrics import living, part_of, retired_us, site_of
from services.gateway.ports import TwinPorts
from services.gateway.refusals import receipt_of
from services.gateway.requests import drain_request, fault_request
from services.gateway.telling import told
from shared.basics.errors import InvalidInput
from shared.basics.times import moment
from shared.basics.units import US_PER_S

WITHIN_S = 3_600
"""How far anybody looks who does not say: faults are noticed in minutes, and slices restarted."""
WITHIN_S_MAX = 86_400
"""Of a fabric by itself: where a site has several, all of them are driven."""
USE = (
    *("CubeUnhealthy", "CubeHealthy", "CubeDrained", "CubeUndrained", "HostDown", "HostUp"),
    *("CubePowerLost", "CubePowerRegained", "CubeOverheated", "CubeCooled"),
    *("OcsDown", "OcsUp", "PortDown", "PortUp", "RepairOpened"),
    *("OcsPartDown", "OcsPartUp", "OcsHeld", "OcsFreed", "PortsDown", "PortsUp"),
    *("OcsesDown", "OcsesUp", "ControlLost", "ControlRegained", "NetworkPartDown", "NetworkPartUp"),
)
"""Types that say of a part that it goes out of use or comes back."""


def foresee_fault(twin: TwinPorts, asked: FaultRequest, within_s: int) -> Foresight:
    """What a fault would touch; InvalidInput or NotFound where it could not be."""
    fabric, body = fault_request(twin, asked)
    return _foresee(twin, fabric, f"inject {asked.kind} {asked.target}", (body,), within_s)


def foresee_drain(twin: TwinPorts, name: str, within_s: int) -> Foresight:
    """What draining a cube would touch."""
    fabric, body = drain_request(twin, name, drain=True)
    return _foresee(twin, fabric, f"drain {name}", (body,), within_s)


def foresee_repair(twin: TwinPorts, name: str, within_s: int) -> Foresight:
    """What comes back if all that is broken in a part is repaired now; InvalidInput where nothing is."""
    fabric = part_of(twin, name).fabric
    faults = twin.questions.repairable(fabric, name)
    if not faults:
        raise InvalidInput(f"target {name!r}: nothing is broken there; `lightwave get faults` shows what is")
    return _foresee(twin, fabric, f"repair {name}", [ClearFault(fault=fault) for fault in faults], within_s)


def _foresee(
    twin: TwinPorts, fabric: str, asked: str, bodies: Sequence[AskedBody], within_s: int
) -> Foresight:
    _check_within(twin, fabric, within_s)
    ended_us = retired_us(twin, fabric)
    if ended_us is not None:
        raise InvalidInput(f"fabric {fabric}: retired at {moment(ended_us)}; nothing happens there any more")
    found = twin.questions.foresee(fabric, bodies, twin.clock.show().now_us, within_s * US_PER_S)
    lines = [told(twin, message) for message in found.caused]
    receipt = receipt_of(found.asked[0], lines, repeated=False, complete=True)
    parts = [(name, line.type) for line in lines if line.type in USE for name in line.about[:1]]
    return Foresight(
        fabric=fabric,
        asked=asked,
        at_us=found.asked[0].at_us,
        until_us=found.until_us,
        refused=getattr(receipt, "reason", None),
        parts=tuple([ForeseenPart(name=name, said=said) for name, said in dict.fromkeys(parts)]),
        slices=found.slices,
        circuits_made=found.circuits_made,
        jobs=found.jobs,
        traffic=found.traffic,
        events=tuple([ForeseenEvent(at_us=line.at_us, type=line.type, text=line.text) for line in lines]),
    )


def _check_within(twin: TwinPorts, fabric: str, within_s: int) -> None:
    """InvalidInput where a whole site would be driven for longer than a pod by itself may be."""
    site = site_of(twin, fabric)
    driven = [name for name in living(twin) if site_of(twin, name) == site]
    most = max(WITHIN_S_MAX // max(len(driven), 1), WITHIN_S)
    if within_s > most:
        raise InvalidInput(
            f"within_s {within_s}: all {len(driven)} fabrics of {site} are looked ahead for; allowed are 1 "
            f"to {most} for so many"
        )
