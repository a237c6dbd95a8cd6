"""Operators' requests to the topology of a network: look for other trunks, let a plan come, or drop it."""

import re

from schemas.config.dcn import DcnConfig
from schemas.documents.dcn import RewiringDocument
from schemas.messages.operator import AbortRewiring, ApproveRewiring, PlanTopology
from schemas.names import FABRIC_PATTERN, NUMBER
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import config_of, fabric_of, living_fabrics
from services.gateway.ports import TwinPorts
from services.gateway.resources.status_documents import read_all
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated

_REWIRING = re.compile(rf"{FABRIC_PATTERN}/rewiring-{NUMBER}")


def plan_request(twin: TwinPorts, dcn: str | None) -> tuple[str, RequestBody]:
    """(fabric, what is asked of it); without a name of the first network that lives. InvalidInput for a
    fabric that is none, NotFound where there is none."""
    networks = [name for name in living_fabrics(twin) if is_network(twin, name)]
    if dcn is None:
        if not networks:
            raise NotFound("dcn: this twin has no datacenter network")
        return networks[0], PlanTopology(dcn=networks[0])
    if not isinstance(config := config_of(twin, dcn), DcnConfig):
        raise InvalidInput(
            f"dcn {dcn}: is a {config.kind}; allowed are datacenter networks, of which there is "
            f"{', '.join(networks) or 'none'}"
        )
    return dcn, PlanTopology(dcn=dcn)


def approve_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """NotFound where nobody knows of such a rewiring; whether it waits for approval is the topology's to
    say."""
    return _known(twin, name), ApproveRewiring(rewiring=name)


def abort_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    return _known(twin, name), AbortRewiring(rewiring=name)


def is_network(twin: TwinPorts, fabric: str) -> bool:
    """Whether a fabric is a datacenter network."""
    return isinstance(config_of(twin, fabric), DcnConfig)


def _known(twin: TwinPorts, name: str) -> str:
    """The network of a rewiring."""
    fabric = fabric_of(twin, name)
    said = f"rewiring {truncated(repr(name))}: no such rewiring"
    if is_network(twin, fabric) and _REWIRING.fullmatch(name) is None:
        said += f"; names are like {fabric}/rewiring-2"
    if not is_network(twin, fabric):
        raise NotFound(f"{said}; {fabric} is no datacenter network")
    if _REWIRING.fullmatch(name) and twin.documents.one(fabric, "rewirings", name) is not None:
        return fabric
    found = [
        row.name for row in read_all(twin, fabric, "rewirings", RewiringDocument) if row.state != "ended"
    ]
    raise NotFound(f"{said}; planned or under way is {', '.join(found) or 'none'}")
