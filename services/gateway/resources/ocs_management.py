"""An OCS as a device, in the terms of SAI and SONiC's OCS model: ports 1A, 1B and so on, cross-connects by
key."""

from schemas.api.ocs_management import ManagedCrossConnect, ManagedPort, OcsManagement
from schemas.documents.pods import OcsDocument
from schemas.resource_kinds import OCS
from services.gateway.fabrics import fabric_of
from services.gateway.resources.missing_object import missing_error
from services.gateway.resources.status_documents import read_one
from services.gateway.runtime_ports import TwinPorts
from shared.models.assumptions import assumed
from shared.models.ocs import port_keys
from shared.models.ocs.patched_fibres import SIDES


def ocs_management(twin: TwinPorts, name: str) -> OcsManagement:
    """The OCS of this name; raise NotFound if there is none."""
    fabric = fabric_of(twin, name)
    document = read_one(twin, fabric, OCS.word, name, OcsDocument)
    if document is None:
        raise missing_error(twin, OCS, name, fabric)
    spare_of = {patch.port: patch.spare for patch in document.patches}
    norths = [north for north, south in enumerate(document.wanted) if south >= 0]
    return OcsManagement(
        name=name,
        oper_status=document.state,
        ports_a_side=document.radix,
        ports=tuple(_ports(document, spare_of)),
        cross_connects=tuple(_cross_connect(fabric, document, spare_of, north) for north in norths),
    )


def port_key(label: str) -> str:
    """The key of a port: 1A for N0, 5B for S4."""
    return port_keys.port_key(SIDES.index(label[0]), int(label[1:]))


def _ports(document: OcsDocument, spare_of: dict[str, str]) -> list[ManagedPort]:
    """The ports of side A, then those of side B."""
    fibres = {spare: port for port, spare in spare_of.items()}
    ports = []
    for side in SIDES:
        for number in range(document.radix):
            port = f"{side}{number}"
            status = "down" if port in document.ports_down or document.state == "down" else "up"
            status = "dead" if port in document.ports_dead else status
            label = None if port in document.ports_dead else fibres.get(port, port)
            ports.append(
                ManagedPort.model_validate(
                    {"key": port_key(port), "label": label, "state": "normal", "oper_status": status}
                )
            )
    return ports


def _cross_connect(
    fabric: str, document: OcsDocument, spare_of: dict[str, str], north: int
) -> ManagedCrossConnect:
    ports = f"N{north}", f"S{document.wanted[north]}"
    here = [spare_of.get(port, port) for port in ports]
    a_side, b_side = map(port_key, here)
    reason = None if document.made[north] else _failure_reason(document, ports[0], here)
    failed = "tuning" if reason is None else "failed"
    number = document.slices[north]
    return ManagedCrossConnect.model_validate(
        {
            "key": f"{a_side}-{b_side}",
            "a_side": a_side,
            "b_side": b_side,
            "oper_status": "tuned" if document.made[north] else failed,
            "reason": reason,
            "factory_insertion_loss_db": document.losses_db[north],
            "accuracy_db": assumed("ocs_matrix_accuracy_db"),
            "slice": f"{fabric}/slice-{number}" if number >= 0 else None,
            "made_by": next((row.request for row in document.manual_circuits if row.north == north), None),
        }
    )


def _failure_reason(document: OcsDocument, north: str, here: list[str]) -> str | None:
    """Why a wanted circuit is not made; None if it is still being made."""
    if document.state != "up":
        return f"the OCS is {document.state}"
    down = [port_key(port) for port in here if port in document.ports_down]
    if down:
        return f"{' and '.join(down)} down"
    unaligned = dict(text.split(": ", 1) for text in document.unaligned)
    return unaligned.get(north)
