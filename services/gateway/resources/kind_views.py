"""How the gateway reads each kind of resource of `schemas.resource_kinds`: lists them, finds one by name, and
finds related resources.
"""

from collections.abc import Callable, Sequence
from typing import Any

from schemas import resource_kinds
from schemas.api.descriptions import (
    BlockDescription,
    BundleDescription,
    CubeDescription,
    DemandDescription,
    DomainDescription,
    DrillDescription,
    FabricDescription,
    FaultDescription,
    HostDescription,
    LinkDescription,
    OcsDescription,
    RackDescription,
    RepairDescription,
    RewiringDescription,
    ScheduleDescription,
    SliceDescription,
    TrunkDescription,
    VerdictDescription,
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
    RepairRow,
    RowT,
    ScheduleRow,
    SliceRow,
    VerdictRow,
)
from services.gateway.resources import fabric_rows, network_rows, pod_rows, related
from services.gateway.runtime_ports import KindView, RowsOfName, TwinPorts


def _one_row(find: Callable[[TwinPorts, str, str], RowT | None]) -> Callable[..., RowsOfName[RowT]]:
    """How the row is made of a kind whose resources have the name of their documents."""

    def rows_of_name(twin: TwinPorts, fabric: str, _is_short: bool) -> RowsOfName[RowT]:
        def rows(name: str) -> Sequence[RowT]:
            row = find(twin, fabric, name)
            return () if row is None else (row,)

        return rows

    return rows_of_name


FABRICS = KindView(
    resource_kinds.FABRICS,
    FabricRow,
    FabricDescription,
    fabric_rows.fabric_rows,
    fabric_rows.find_fabric,
    related.related_to_fabric,
)
OCS = KindView(
    resource_kinds.OCS,
    OcsRow,
    OcsDescription,
    pod_rows.ocs_rows,
    pod_rows.find_ocs,
    related.related_to_ocs,
    frozenset({"circuits"}),
    pod_rows.ocs_rows_without_circuits,
    rows_of_name=pod_rows.ocs_rows_of_name,
)
CUBES = KindView(
    resource_kinds.CUBES,
    CubeRow,
    CubeDescription,
    pod_rows.cube_rows,
    pod_rows.find_cube,
    related.related_to_cube,
    rows_of_name=_one_row(pod_rows.find_cube),
)
HOSTS = KindView(
    resource_kinds.HOSTS,
    HostRow,
    HostDescription,
    pod_rows.host_rows,
    pod_rows.find_host,
    related.related_to_part,
    rows_of_name=pod_rows.host_rows_of_name,
)
LINKS = KindView(
    resource_kinds.LINKS,
    LinkRow,
    LinkDescription,
    pod_rows.link_rows,
    pod_rows.find_link,
    related.related_to_link,
    rows_of_name=pod_rows.link_rows_of_name,
)
SLICES = KindView(
    resource_kinds.SLICES,
    SliceRow,
    SliceDescription,
    pod_rows.slice_rows,
    pod_rows.find_slice,
    related.related_to_slice,
    rows_of_name=_one_row(pod_rows.find_slice),
)
BLOCKS = KindView(
    resource_kinds.BLOCKS,
    BlockRow,
    BlockDescription,
    network_rows.block_rows,
    network_rows.find_block,
    related.related_to_block,
    rows_of_name=_one_row(network_rows.find_block),
)
TRUNKS = KindView(
    resource_kinds.TRUNKS,
    TrunkRow,
    TrunkDescription,
    network_rows.trunk_rows,
    network_rows.find_trunk,
    related.related_to_trunk,
)
DEMANDS = KindView(
    resource_kinds.DEMANDS,
    DemandRow,
    DemandDescription,
    network_rows.demand_rows,
    network_rows.find_demand,
    related.related_to_demand,
)
REWIRINGS = KindView(
    resource_kinds.REWIRINGS,
    RewiringRow,
    RewiringDescription,
    network_rows.rewiring_rows,
    network_rows.find_rewiring,
    related.related_to_rewiring,
    rows_of_name=_one_row(network_rows.find_rewiring),
)
RACKS = KindView(
    resource_kinds.RACKS,
    RackRow,
    RackDescription,
    network_rows.rack_rows,
    network_rows.find_rack,
    related.related_to_rack,
)
BUNDLES = KindView(
    resource_kinds.BUNDLES,
    BundleRow,
    BundleDescription,
    network_rows.bundle_rows,
    network_rows.find_bundle,
    related.related_to_bundle,
)
DOMAINS = KindView(
    resource_kinds.DOMAINS,
    DomainRow,
    DomainDescription,
    network_rows.domain_rows,
    network_rows.find_domain,
    related.related_to_domain,
)
FAULTS = KindView(
    resource_kinds.FAULTS,
    FaultRow,
    FaultDescription,
    pod_rows.fault_rows,
    pod_rows.find_fault,
    related.related_to_target,
    rows_of_name=_one_row(pod_rows.find_fault),
)
VERDICTS = KindView(
    resource_kinds.VERDICTS,
    VerdictRow,
    VerdictDescription,
    pod_rows.verdict_rows,
    pod_rows.find_verdict,
    related.related_to_verdict,
)
REPAIRS = KindView(
    resource_kinds.REPAIRS,
    RepairRow,
    RepairDescription,
    pod_rows.repair_rows,
    pod_rows.find_repair,
    related.related_to_target,
    rows_of_name=_one_row(pod_rows.find_repair),
)

DRILLS = KindView(
    resource_kinds.DRILLS,
    DrillRow,
    DrillDescription,
    pod_rows.drill_rows,
    pod_rows.find_drill,
    related.related_to_drill,
    rows_of_name=_one_row(pod_rows.find_drill),
)

SCHEDULES = KindView(
    resource_kinds.SCHEDULES,
    ScheduleRow,
    ScheduleDescription,
    pod_rows.schedule_rows,
    pod_rows.find_schedule,
    related.related_to_schedule,
    rows_of_name=_one_row(pod_rows.find_schedule),
)

COMMON: tuple[KindView[Any, Any], ...] = (FAULTS, REPAIRS, DRILLS, SCHEDULES)
"""Resources of every fabric in which parts fail and are repaired."""
OF_PODS: tuple[KindView[Any, Any], ...] = (OCS, CUBES, HOSTS, LINKS, SLICES, VERDICTS, *COMMON)
OF_NETWORKS: tuple[KindView[Any, Any], ...] = (
    *(OCS, BLOCKS, TRUNKS, DEMANDS, REWIRINGS, RACKS, BUNDLES, DOMAINS),
    *COMMON,
)


def views_of(twin: TwinPorts) -> dict[str, KindView[Any, Any]]:
    """The word of a kind → how its resources are read: fabrics, and the resources of every kind of fabric, in
    the order of `schemas.resource_kinds`."""
    found = {view.kind.word: view for kind in twin.views.values() for view in kind.resources}
    found[FABRICS.kind.word] = FABRICS
    return {word: found[word] for word in resource_kinds.KINDS if word in found}
