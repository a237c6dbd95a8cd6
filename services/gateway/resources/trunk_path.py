"""The circuits of a trunk: the OCSes that its links go through, and whether they carry light."""

from collections.abc import Mapping

from schemas.api.network_rows import TrunkCircuit, TrunkPath, TrunkRow
from schemas.documents.dcn import BlockDocument
from schemas.documents.pods import OcsDocument
from schemas.names import number_of
from services.gateway.fabrics import fabric_network
from services.gateway.resources.status_documents import read_all
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import OperationFailed
from shared.models.network.blocks import NetworkLayout
from shared.models.network.wiring import wiring_of


def trunk_path(twin: TwinPorts, fabric: str, row: TrunkRow) -> TrunkPath:
    """Every wanted circuit between the two blocks, by OCS and North port. Circuits go from either block's
    North ports to the other's South ports; each carries both directions."""
    network = fabric_network(twin, fabric)
    blocks = {block.name: block for block in read_all(twin, fabric, "blocks", BlockDocument)}
    if network is None or not blocks.keys() >= set(row.blocks):
        raise OperationFailed(f"{row.name}: its blocks are not in the store")
    ends = {name: blocks[name] for name in row.blocks}
    circuits = [
        circuit
        for document in read_all(twin, fabric, "ocs", OcsDocument)
        for circuit in _circuits(fabric, network, document, ends)
    ]
    losses_db = [circuit.loss_db for circuit in circuits if circuit.lit and circuit.loss_db is not None]
    return TrunkPath(
        trunk=row,
        circuits=tuple(circuits),
        made=sum(circuit.made for circuit in circuits),
        lit=sum(circuit.lit for circuit in circuits),
        loss_db_mean=sum(losses_db) / len(losses_db) if losses_db else None,
        loss_db_max=max(losses_db, default=None),
    )


def _circuits(
    fabric: str, network: NetworkLayout, document: OcsDocument, ends: Mapping[str, BlockDocument]
) -> list[TrunkCircuit]:
    """The circuits of one OCS."""
    wiring, ocs = wiring_of(network), number_of(document.name)
    rack, domain = ocs // network.switches, int(network.domains[ocs])
    down = document.state != "up"
    dark = down or any(end.state != "up" or rack in end.bundles_down for end in ends.values())
    one, other = (wiring.ports_of(number_of(name)) for name in ends)
    circuits = []
    for name, norths, souths in zip(ends, (one, other), (other, one), strict=True):
        for north in norths:
            south, made = document.wanted[north], document.made[north]
            if south not in souths:
                continue
            broken = {f"N{north}", f"S{south}"} & set(document.ports_down)
            circuits.append(
                TrunkCircuit(
                    ocs=document.name,
                    rack=f"{fabric}/rack-{rack}",
                    control=f"{fabric}/control-{domain}",
                    power=f"{fabric}/power-{domain}",
                    north=north,
                    south=south,
                    north_block=name,
                    made=made,
                    lit=made and not dark and not broken,
                    loss_db=document.losses_db[north],
                )
            )
    return circuits
