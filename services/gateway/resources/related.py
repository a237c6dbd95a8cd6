"""Related resources: what an operator would look up next, for the parts of a pod or a network, and for whole
fabrics."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from schemas.api.descriptions import (
    BlockRelated,
    CubeRelated,
    DemandRelated,
    DrillRelated,
    FabricRelated,
    LinkRelated,
    OcsFaultyLinks,
    OcsRelated,
    PartRelated,
    RackRelated,
    RewiringRelated,
    ScheduleRelated,
    SliceRelated,
    TrunkRelated,
    VerdictRelated,
)
from schemas.api.network_rows import (
    BlockRow,
    BundleRow,
    DemandRow,
    DomainRow,
    RackRow,
    RewiringRow,
    TrunkRow,
)
from schemas.api.rows import (
    CubeRow,
    DrillRow,
    FabricRow,
    FaultRow,
    HostRow,
    LinkRow,
    OcsRow,
    OcsSummaryRow,
    RepairRow,
    ScheduleRow,
    SliceRow,
    VerdictRow,
)
from schemas.name_parts import is_within
from schemas.names import number_of
from schemas.resource_kinds import VERDICTS
from services.gateway.fabrics import (
    fabric_graph,
    fabric_network,
    fabric_plant,
    fabric_view,
    has_resource,
    part_of,
    site_fabrics,
    site_of,
)
from services.gateway.resources import network_rows, pod_rows
from services.gateway.resources.drain_requests import drain_requests
from services.gateway.resources.light_path import light_path
from services.gateway.resources.parameters import changed_parameters
from services.gateway.resources.pod_rows import verdict_rows
from services.gateway.resources.status_documents import natural_sort_key
from services.gateway.runtime_ports import TwinPorts
from services.gateway.telemetry.module_readings import field_readings
from services.gateway.telemetry.ocs_readings import ocs_field_readings

RowT = TypeVar("RowT")
OPEN_REPAIRS = ("queued", "begun", "tested")
"""States of repairs that have not ended."""
BAD_LINKS = ("degraded", "down")

IMPAIRED_SLICE_STATES = ("queued", "waiting-for-pods", "degraded", "recovering")
"""States of slices that do not run normally."""


def related_to_part(twin: TwinPorts, fabric: str, row: OcsRow | HostRow) -> PartRelated:
    return _related_to_name(twin, fabric, row.name)


def related_to_drill(twin: TwinPorts, fabric: str, row: DrillRow) -> DrillRelated:
    """The faults that a drill injected in its own fabric, and in the others of its site."""
    fabrics = site_fabrics(twin, site_of(twin, fabric))
    faults = [fault for name in fabrics for fault in pod_rows.fault_rows(twin, name)]
    return DrillRelated(faults=tuple([fault for fault in faults if fault.drill == row.name]))


def related_to_schedule(twin: TwinPorts, fabric: str, row: ScheduleRow) -> ScheduleRelated:
    """The runs of a schedule, oldest first."""
    runs = [run for run in pod_rows.drill_rows(twin, fabric) if run.schedule == row.name]
    return ScheduleRelated(drills=tuple(runs))


def related_to_target(twin: TwinPorts, fabric: str, row: FaultRow | RepairRow) -> PartRelated:
    """The faults, verdicts and repairs of a target; for a batch, the verdicts on its modules and their
    repairs."""
    plant = fabric_plant(twin, fabric)
    if plant.population("batch") and plant.parse(row.target).kind == "batch":
        ends = {
            plant.part(plant.ends.kind, end, fabric).name
            for end in fabric_graph(twin, fabric).dependents(plant.parse(row.target), plant.ends.kind)
        }
        return PartRelated(
            faults=faults_in(twin, fabric, row.target),
            verdicts=tuple(
                verdict
                for verdict in verdict_rows(twin, fabric)
                if verdict.state == "open" and verdict.target in ends
            ),
            repairs=tuple(
                repair
                for repair in pod_rows.repair_rows(twin, fabric)
                if repair.state in OPEN_REPAIRS and repair.target in ends
            ),
        )
    return _related_to_name(twin, fabric, row.target)


def related_to_cube(twin: TwinPorts, fabric: str, row: CubeRow) -> CubeRelated:
    """The hosts and links of the cube that are not healthy, and the slices on it."""
    return CubeRelated(
        drain_requests=drain_requests(twin, fabric, row),
        hosts=tuple(host for host in pod_rows.hosts_of(twin, fabric, row.name) if host.state != "up"),
        links=tuple(
            link
            for link in pod_rows.links_of(twin, fabric, row.name)
            if link.state in BAD_LINKS or link.condition != "ok"
        ),
        slices=found_rows(pod_rows.find_slice, twin, fabric, row.slices),
        faults=faults_in(twin, fabric, row.name),
        verdicts=verdicts_in(twin, fabric, row.name),
        repairs=repairs_in(twin, fabric, row.name),
    )


def related_to_link(twin: TwinPorts, fabric: str, row: LinkRow) -> LinkRelated:
    """Both strands, and the actual or wanted far end."""
    path = light_path(twin, fabric, row)
    partner = path.far_end or path.wanted_end
    return LinkRelated(
        strands=path.strands,
        partner=found_rows(pod_rows.find_link, twin, fabric, [partner] if partner else []),
        readings=tuple(field_readings(twin, fabric, part_of(twin, row.name).number)),
        faults=faults_in(twin, fabric, row.name),
        verdicts=verdicts_in(twin, fabric, row.name),
        repairs=repairs_in(twin, fabric, row.name),
    )


def related_to_verdict(twin: TwinPorts, fabric: str, row: VerdictRow) -> VerdictRelated:
    """The link ends of the verdict, their actual faults, and the repairs."""
    return VerdictRelated(
        links=found_rows(pod_rows.find_link, twin, fabric, row.ends),
        faults=faults_in(twin, fabric, row.target),
        repairs=tuple(repair for repair in pod_rows.repair_rows(twin, fabric) if repair.verdict == row.name),
    )


def related_to_slice(twin: TwinPorts, fabric: str, row: SliceRow) -> SliceRelated:
    """The slice's cubes, its bad link ends, and the OCSes that these share."""
    links = [
        link
        for cube in row.cubes
        for link in pod_rows.links_of(twin, fabric, cube)
        if link.state in BAD_LINKS and link.slice == row.name
    ]
    blamed = sorted({link.ocs for link in links if link.ocs is not None}, key=natural_sort_key)
    return SliceRelated(
        cubes=found_rows(pod_rows.find_cube, twin, fabric, row.cubes),
        links=tuple(links),
        ocs=tuple(
            OcsFaultyLinks(name=name, links=sum(link.ocs == name for link in links)) for name in blamed
        ),
    )


def _related_to_name(twin: TwinPorts, fabric: str, name: str) -> PartRelated:
    return PartRelated(
        faults=faults_in(twin, fabric, name),
        verdicts=verdicts_in(twin, fabric, name) if has_resource(twin, fabric, VERDICTS) else None,
        repairs=repairs_in(twin, fabric, name),
    )


def faults_in(twin: TwinPorts, fabric: str, name: str) -> tuple[FaultRow, ...]:
    """Active faults of a part or its parts."""
    found = pod_rows.fault_rows(twin, fabric)
    return tuple(row for row in found if row.state == "active" and _is_within(row.target, name))


def verdicts_in(twin: TwinPorts, fabric: str, name: str) -> tuple[VerdictRow, ...]:
    """Open verdicts on a part or its parts, or on a set of link ends with one of these."""
    found = [row for row in verdict_rows(twin, fabric) if row.state == "open"]
    return tuple(row for row in found if any(_is_within(target, name) for target in (row.target, *row.ends)))


def repairs_in(twin: TwinPorts, fabric: str, name: str) -> tuple[RepairRow, ...]:
    """Open repairs of a part or its parts."""
    found = pod_rows.repair_rows(twin, fabric)
    return tuple(row for row in found if row.state in OPEN_REPAIRS and _is_within(row.target, name))


def _is_within(target: str, name: str) -> bool:
    return is_within(target, name)


def found_rows(
    find: Callable[[TwinPorts, str, str], RowT | None], twin: TwinPorts, fabric: str, names: Iterable[str]
) -> tuple[RowT, ...]:
    """The resources of these names, without those that have gone since the names were read."""
    found = [find(twin, fabric, name) for name in names]
    return tuple(row for row in found if row is not None)


def ocs_brief(row: OcsRow) -> OcsSummaryRow:
    return OcsSummaryRow(**{name: getattr(row, name) for name in OcsSummaryRow.model_fields})


OpenT = TypeVar("OpenT", FaultRow, RepairRow)


def related_to_fabric(twin: TwinPorts, fabric: str, row: FabricRow) -> FabricRelated:
    """The resources of a fabric that are not healthy, as its kind has them."""
    return fabric_view(twin, fabric).related(twin, fabric, row)


def related_to_pod(twin: TwinPorts, fabric: str, _row: FabricRow) -> FabricRelated:
    """The resources of a pod that are not healthy."""
    return FabricRelated(
        ocs=_ocses_down(twin, fabric),
        cubes=tuple(
            cube
            for cube in pod_rows.cube_rows(twin, fabric)
            if cube.health != "healthy" or cube.drained or cube.draining
        ),
        slices=tuple(row for row in pod_rows.slice_rows(twin, fabric) if row.state in IMPAIRED_SLICE_STATES),
        blocks=None,
        trunks=None,
        rewirings=None,
        faults=faults_in(twin, fabric, fabric),
        verdicts=verdicts_in(twin, fabric, fabric),
        repairs=repairs_in(twin, fabric, fabric),
        parameters=changed_parameters(twin, fabric),
    )


def related_to_network(twin: TwinPorts, fabric: str, _row: FabricRow) -> FabricRelated:
    """The resources of a datacenter network that are not healthy."""
    return FabricRelated(
        ocs=_ocses_down(twin, fabric),
        cubes=None,
        slices=None,
        blocks=_blocks_down(twin, fabric),
        trunks=_trunks_down(twin, fabric),
        rewirings=_open_rewirings(twin, fabric),
        faults=faults_in(twin, fabric, fabric),
        verdicts=None,
        repairs=repairs_in(twin, fabric, fabric),
        parameters=changed_parameters(twin, fabric),
    )


def _ocses_down(twin: TwinPorts, fabric: str) -> tuple[OcsSummaryRow, ...]:
    return tuple(ocs_brief(ocs) for ocs in pod_rows.ocs_rows(twin, fabric) if ocs.state != "up")


def _blocks_down(twin: TwinPorts, fabric: str) -> tuple[BlockRow, ...]:
    found = network_rows.block_rows(twin, fabric)
    return tuple([row for row in found if row.state != "up" or row.bundles_down])


def _trunks_down(twin: TwinPorts, fabric: str) -> tuple[TrunkRow, ...]:
    return tuple([row for row in network_rows.trunk_rows(twin, fabric) if row.state == "down"])


def _open_rewirings(twin: TwinPorts, fabric: str) -> tuple[RewiringRow, ...]:
    return tuple([row for row in network_rows.rewiring_rows(twin, fabric) if row.state != "ended"])


def related_to_block(twin: TwinPorts, fabric: str, row: BlockRow) -> BlockRelated:
    return BlockRelated(
        trunks=tuple(network_rows.trunks_of(twin, fabric, row)),
        faults=faults_in(twin, fabric, row.name),
        repairs=repairs_in(twin, fabric, row.name),
    )


def related_to_trunk(twin: TwinPorts, fabric: str, row: TrunkRow) -> TrunkRelated:
    """Both blocks, and the demand between them."""
    one, other = row.blocks
    pairs = [f"{one}/demand-{number_of(other)}", f"{other}/demand-{number_of(one)}"]
    return TrunkRelated(
        blocks=found_rows(network_rows.find_block, twin, fabric, row.blocks),
        demands=found_rows(network_rows.find_demand, twin, fabric, pairs),
        faults=tuple([fault for end in row.blocks for fault in faults_in(twin, fabric, end)]),
        repairs=tuple([repair for end in row.blocks for repair in repairs_in(twin, fabric, end)]),
    )


def related_to_demand(twin: TwinPorts, fabric: str, row: DemandRow) -> DemandRelated:
    name = f"{row.source}/trunk-{number_of(row.target)}"
    return DemandRelated(trunks=found_rows(network_rows.find_trunk, twin, fabric, [name]))


def related_to_rewiring(twin: TwinPorts, fabric: str, row: RewiringRow) -> RewiringRelated:
    """The domains that may delay the rewiring; empty if it has ended."""
    found = network_rows.domain_rows(twin, fabric) if row.state != "ended" else []
    return RewiringRelated(domains=tuple([domain for domain in found if domain.state != "up"]))


def related_to_rack(twin: TwinPorts, fabric: str, row: RackRow) -> RackRelated:
    return _related_to_ocses(twin, fabric, row.name)


def related_to_domain(twin: TwinPorts, fabric: str, row: DomainRow) -> RackRelated:
    return _related_to_ocses(twin, fabric, row.name)


def _related_to_ocses(twin: TwinPorts, fabric: str, name: str) -> RackRelated:
    """The OCSes of a rack or domain, with the faults of all of them."""
    inside = fabric_graph(twin, fabric).dependents(part_of(twin, name), "ocs")
    ocses = found_rows(pod_rows.find_ocs, twin, fabric, [f"{fabric}/ocs-{number}" for number in inside])
    names = [name, *(ocs.name for ocs in ocses)]
    found = _impairments(twin, fabric, names, ())
    return RackRelated(
        ocs=tuple([ocs_brief(ocs) for ocs in ocses]), faults=found.faults, repairs=found.repairs
    )


def related_to_ocs(twin: TwinPorts, fabric: str, row: OcsRow) -> OcsRelated:
    """The readings and impairments of an OCS."""
    found = _impairments_of_ocs(twin, fabric, row)
    readings = ocs_field_readings(twin, fabric, number_of(row.name))
    return OcsRelated(faults=found.faults, verdicts=found.verdicts, repairs=found.repairs, readings=readings)


def _impairments_of_ocs(twin: TwinPorts, fabric: str, row: OcsRow) -> PartRelated:
    """The impairments of an OCS; in a network also those of its rack and domains."""
    if fabric_network(twin, fabric) is None:
        return related_to_part(twin, fabric, row)
    found = fabric_graph(twin, fabric).depends_on(part_of(twin, row.name), ("rack", "power", "control"))
    holders = [part.name for part in found]
    return _impairments(twin, fabric, (row.name,), holders)


def related_to_bundle(twin: TwinPorts, fabric: str, row: BundleRow) -> PartRelated:
    """The impairments of a bundle: cuts, and faults that take the light from either end."""
    found = fabric_graph(twin, fabric).depends_on(part_of(twin, row.name), ("block", "rack", "power", "ocs"))
    return _impairments(twin, fabric, (row.name,), [part.name for part in found])


def _impairments(twin: TwinPorts, fabric: str, within: Sequence[str], beside: Sequence[str]) -> PartRelated:
    """Active faults and open repairs of the parts `within` and their parts, and of the parts `beside` alone,
    in the order of the parts."""
    faults = [row for row in pod_rows.fault_rows(twin, fabric) if row.state == "active"]
    repairs = [row for row in pod_rows.repair_rows(twin, fabric) if row.state in ("queued", "begun")]

    def place(target: str) -> int | None:
        """The index of the part that a target belongs to; None if it belongs to none."""
        holders = [name for name in within if is_within(target, name)]
        found = holders[0] if holders else target
        return next((n for n, name in enumerate((*within, *beside)) if name == found), None)

    def select_rows(found: Iterable[OpenT]) -> tuple[OpenT, ...]:
        """The rows that belong to the parts."""
        placed = [(at, row) for row in found if (at := place(row.target)) is not None]
        return tuple([row for _, row in sorted(placed, key=lambda pair: pair[0])])

    return PartRelated(faults=select_rows(faults), repairs=select_rows(repairs))
