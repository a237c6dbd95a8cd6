"""What stands around the parts of a datacenter network, and around a whole fabric of either make."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from schemas.api import FabricRow, FaultRow, OcsRow, RepairRow
from schemas.api_descriptions import (
    BlockRelated,
    DemandRelated,
    FabricRelated,
    OcsRelated,
    PartRelated,
    RackRelated,
    RewiringRelated,
    TrunkRelated,
)
from schemas.api_network import BlockRow, BundleRow, DemandRow, DomainRow, RackRow, RewiringRow, TrunkRow
from schemas.names import number_of
from services.gateway import network_rows, rows
from services.gateway.around import (
    WAITS_OR_AILS,
    around_part,
    brief,
    faults_in,
    present,
    repairs_in,
    verdicts_in,
)
from services.gateway.fabrics import network_at
from services.gateway.ocs_readings import ocs_field_readings
from services.gateway.parameters import changed_parameters
from services.gateway.ports import TwinPorts
from shared.models.network.blocks import DOMAINS
from shared.models.network.parts import ocses_of

OpenT = TypeVar("OpenT", FaultRow, RepairRow)


def around_fabric(twin: TwinPorts, fabric: str, row: FabricRow) -> FabricRelated:
    """What is not as it should be."""
    is_pod = row.network is None
    return FabricRelated(
        ocs=tuple(brief(one) for one in rows.ocs_rows(twin, fabric) if one.state != "up"),
        cubes=tuple(
            one
            for one in rows.cube_rows(twin, fabric)
            if one.health != "healthy" or one.drained or one.draining
        )
        if is_pod
        else None,
        slices=tuple(one for one in rows.slice_rows(twin, fabric) if one.state in WAITS_OR_AILS)
        if is_pod
        else None,
        blocks=None if is_pod else _blocks_down(twin, fabric),
        trunks=None if is_pod else _trunks_down(twin, fabric),
        rewirings=None if is_pod else _open_rewirings(twin, fabric),
        faults=faults_in(twin, fabric, fabric),
        verdicts=verdicts_in(twin, fabric, fabric) if is_pod else None,
        repairs=repairs_in(twin, fabric, fabric),
        parameters=changed_parameters(twin, fabric),
    )


def _blocks_down(twin: TwinPorts, fabric: str) -> tuple[BlockRow, ...]:
    found = network_rows.block_rows(twin, fabric)
    return tuple([row for row in found if row.state != "up" or row.bundles_down])


def _trunks_down(twin: TwinPorts, fabric: str) -> tuple[TrunkRow, ...]:
    return tuple([row for row in network_rows.trunk_rows(twin, fabric) if row.state == "down"])


def _open_rewirings(twin: TwinPorts, fabric: str) -> tuple[RewiringRow, ...]:
    return tuple([row for row in network_rows.rewiring_rows(twin, fabric) if row.state != "ended"])


def around_block(twin: TwinPorts, fabric: str, row: BlockRow) -> BlockRelated:
    return BlockRelated(
        trunks=tuple(network_rows.trunks_of(twin, fabric, row)),
        faults=faults_in(twin, fabric, row.name),
        repairs=repairs_in(twin, fabric, row.name),
    )


def around_trunk(twin: TwinPorts, fabric: str, row: TrunkRow) -> TrunkRelated:
    """Both blocks, and what they want to send each other."""
    one, other = row.blocks
    pairs = [f"{one}/demand-{number_of(other)}", f"{other}/demand-{number_of(one)}"]
    return TrunkRelated(
        blocks=present(network_rows.find_block, twin, fabric, row.blocks),
        demands=present(network_rows.find_demand, twin, fabric, pairs),
        faults=tuple([fault for end in row.blocks for fault in faults_in(twin, fabric, end)]),
        repairs=tuple([repair for end in row.blocks for repair in repairs_in(twin, fabric, end)]),
    )


def around_demand(twin: TwinPorts, fabric: str, row: DemandRow) -> DemandRelated:
    name = f"{row.source}/trunk-{number_of(row.target)}"
    return DemandRelated(trunks=present(network_rows.find_trunk, twin, fabric, [name]))


def around_rewiring(twin: TwinPorts, fabric: str, row: RewiringRow) -> RewiringRelated:
    """What may hold it up, while it has not ended."""
    found = network_rows.domain_rows(twin, fabric) if row.state != "ended" else []
    return RewiringRelated(domains=tuple([domain for domain in found if domain.state != "up"]))


def around_rack(twin: TwinPorts, fabric: str, row: RackRow) -> RackRelated:
    return _around_ocses(twin, fabric, row.name, "rack")


def around_domain(twin: TwinPorts, fabric: str, row: DomainRow) -> RackRelated:
    return _around_ocses(twin, fabric, row.name, row.kind)


def _around_ocses(twin: TwinPorts, fabric: str, name: str, kind: str) -> RackRelated:
    """The OCSes of a rack or domain, with the faults of both: those of an OCS stand beside, not in it."""
    network = network_at(twin, fabric)
    inside = ocses_of(network, kind, number_of(name)) if network is not None else ()
    ocses = present(rows.find_ocs, twin, fabric, [f"{fabric}/ocs-{number}" for number in inside])
    names = [name, *(ocs.name for ocs in ocses)]
    found = _suffered(twin, fabric, names, ())
    return RackRelated(ocs=tuple([brief(ocs) for ocs in ocses]), faults=found.faults, repairs=found.repairs)


def around_ocs(twin: TwinPorts, fabric: str, row: OcsRow) -> OcsRelated:
    """What an OCS reads of itself, and what it suffers from."""
    found = _suffered_by_ocs(twin, fabric, row)
    readings = ocs_field_readings(twin, fabric, number_of(row.name))
    return OcsRelated(faults=found.faults, verdicts=found.verdicts, repairs=found.repairs, readings=readings)


def _suffered_by_ocs(twin: TwinPorts, fabric: str, row: OcsRow) -> PartRelated:
    """In a network also what its rack and domains do."""
    network = network_at(twin, fabric)
    if network is None:
        return around_part(twin, fabric, row)
    number = number_of(row.name)
    holders = [
        f"{fabric}/{kind}-{holder}"
        for kind in ("rack", "power", "control")
        for holder in range(network.racks if kind == "rack" else DOMAINS)
        if number in ocses_of(network, kind, holder)
    ]
    return _suffered(twin, fabric, (row.name,), holders)


def around_bundle(twin: TwinPorts, fabric: str, row: BundleRow) -> PartRelated:
    """What a bundle suffers from: cuts, and what takes the light from either end."""
    network, number = network_at(twin, fabric), number_of(row.rack)
    inside = ocses_of(network, "rack", number) if network is not None else ()
    powers = sorted({int(network.domains[ocs]) for ocs in inside}) if network is not None else []
    ends = [row.block, row.rack, *(f"{fabric}/power-{domain}" for domain in powers)]
    return _suffered(twin, fabric, (row.name,), [*ends, *(f"{fabric}/ocs-{ocs}" for ocs in inside)])


def _suffered(twin: TwinPorts, fabric: str, within: Sequence[str], beside: Sequence[str]) -> PartRelated:
    """Active faults and open repairs of some parts and of all in them, and of others `beside`, of what is in
    which nothing counts; in the order of the parts."""
    faults = [row for row in rows.fault_rows(twin, fabric) if row.state == "active"]
    repairs = [row for row in rows.repair_rows(twin, fabric) if row.state in ("queued", "begun")]

    def place(target: str) -> int | None:
        """Of which of the parts a target is, None of none."""
        holders = [name for name in within if f"{target}/".startswith(f"{name}/")]
        found = holders[0] if holders else target
        return next((n for n, name in enumerate((*within, *beside)) if name == found), None)

    def of_them(found: Iterable[OpenT]) -> tuple[OpenT, ...]:
        """Those of them that are of the parts."""
        placed = [(at, row) for row in found if (at := place(row.target)) is not None]
        return tuple([row for _, row in sorted(placed, key=lambda pair: pair[0])])

    return PartRelated(faults=of_them(faults), repairs=of_them(repairs))
