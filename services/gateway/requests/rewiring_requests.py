"""Operators' requests to the topology of a network: plan a rewiring, approve it, or abort it."""

import re

from schemas.documents.dcn import RewiringDocument
from schemas.messages.operator import AbortRewiring, ApproveRewiring, PlanTopology
from schemas.names import FABRIC_PATTERN, NUMBER
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import accepts, config_of, fabric_of, living_fabrics
from services.gateway.resources.status_documents import read_all
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated

_REWIRING = re.compile(rf"{FABRIC_PATTERN}/rewiring-{NUMBER}")


def rewiring_plan_request(twin: TwinPorts, dcn: str | None) -> tuple[str, RequestBody]:
    """(fabric, request body) to plan a topology; by default of the first network that has not retired. Raise
    InvalidInput for a fabric that is not a network, and NotFound if there is none."""
    networks = [name for name in living_fabrics(twin) if accepts(twin, name, PlanTopology)]
    if dcn is None:
        if not networks:
            raise NotFound("dcn: this twin has no datacenter network")
        return networks[0], PlanTopology(dcn=networks[0])
    if not accepts(twin, dcn, PlanTopology):
        raise InvalidInput(
            f"dcn {dcn}: is a {config_of(twin, dcn).kind}; must be a datacenter network "
            f"({', '.join(networks) or 'none exists'})"
        )
    return dcn, PlanTopology(dcn=dcn)


def approve_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to approve a rewiring; raise NotFound if it is unknown. The topology service
    checks whether it awaits approval."""
    return _network_of(twin, name), ApproveRewiring(rewiring=name)


def abort_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    return _network_of(twin, name), AbortRewiring(rewiring=name)


def _network_of(twin: TwinPorts, name: str) -> str:
    """The network of a rewiring; raise NotFound if the rewiring is unknown."""
    fabric = fabric_of(twin, name)
    sentence = f"rewiring {truncated(repr(name))}: no such rewiring"
    if accepts(twin, fabric, AbortRewiring) and _REWIRING.fullmatch(name) is None:
        sentence += f"; names are like {fabric}/rewiring-2"
    if not accepts(twin, fabric, AbortRewiring):
        raise NotFound(f"{sentence}; {fabric} is not a datacenter network")
    if _REWIRING.fullmatch(name) and twin.documents.one(fabric, "rewirings", name) is not None:
        return fabric
    open_rewirings = [
        row.name for row in read_all(twin, fabric, "rewirings", RewiringDocument) if row.state != "ended"
    ]
    raise NotFound(f"{sentence}; planned or in progress: {', '.join(open_rewirings) or 'none'}")
