"""How the gateway reads each kind of resource of `schemas.kinds`: lists them, finds one by name, and finds
related resources.

All three functions take the twin and a fabric. Finding one resource reads only the documents that it needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from schemas import kinds
from schemas.api.descriptions import (
    BlockDescription,
    BundleDescription,
    CubeDescription,
    DemandDescription,
    Description,
    DomainDescription,
    FabricDescription,
    FaultDescription,
    HostDescription,
    LinkDescription,
    OcsDescription,
    RackDescription,
    RepairDescription,
    RewiringDescription,
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
    FabricRow,
    FaultRow,
    HostRow,
    LinkRow,
    OcsRow,
    RelatedT,
    RepairRow,
    RowT,
    SliceRow,
    VerdictRow,
)
from services.gateway.ports import TwinPorts
from services.gateway.resources import fabric_rows, network_rows, pod_rows, related


@dataclass(frozen=True, slots=True)
class KindView(Generic[RowT, RelatedT]):
    """How resources of one kind are read."""

    kind: kinds.ResourceKind
    row: type[RowT]
    description: type[Description[RowT, RelatedT]]
    listing: Callable[[TwinPorts, str], Sequence[RowT]]
    find: Callable[[TwinPorts, str, str], RowT | None]
    related_to: Callable[[TwinPorts, str, RowT], RelatedT]


_VIEWS: tuple[KindView[Any, Any], ...] = (
    KindView(
        kinds.FABRICS,
        FabricRow,
        FabricDescription,
        fabric_rows.fabric_rows,
        fabric_rows.find_fabric,
        related.related_to_fabric,
    ),
    KindView(
        kinds.OCS,
        OcsRow,
        OcsDescription,
        pod_rows.ocs_rows,
        pod_rows.find_ocs,
        related.related_to_ocs,
    ),
    KindView(
        kinds.CUBES,
        CubeRow,
        CubeDescription,
        pod_rows.cube_rows,
        pod_rows.find_cube,
        related.related_to_cube,
    ),
    KindView(
        kinds.HOSTS,
        HostRow,
        HostDescription,
        pod_rows.host_rows,
        pod_rows.find_host,
        related.related_to_part,
    ),
    KindView(
        kinds.LINKS,
        LinkRow,
        LinkDescription,
        pod_rows.link_rows,
        pod_rows.find_link,
        related.related_to_link,
    ),
    KindView(
        kinds.SLICES,
        SliceRow,
        SliceDescription,
        pod_rows.slice_rows,
        pod_rows.find_slice,
        related.related_to_slice,
    ),
    KindView(
        kinds.BLOCKS,
        BlockRow,
        BlockDescription,
        network_rows.block_rows,
        network_rows.find_block,
        related.related_to_block,
    ),
    KindView(
        kinds.TRUNKS,
        TrunkRow,
        TrunkDescription,
        network_rows.trunk_rows,
        network_rows.find_trunk,
        related.related_to_trunk,
    ),
    KindView(
        kinds.DEMANDS,
        DemandRow,
        DemandDescription,
        network_rows.demand_rows,
        network_rows.find_demand,
        related.related_to_demand,
    ),
    KindView(
        kinds.REWIRINGS,
        RewiringRow,
        RewiringDescription,
        network_rows.rewiring_rows,
        network_rows.find_rewiring,
        related.related_to_rewiring,
    ),
    KindView(
        kinds.RACKS,
        RackRow,
        RackDescription,
        network_rows.rack_rows,
        network_rows.find_rack,
        related.related_to_rack,
    ),
    KindView(
        kinds.BUNDLES,
        BundleRow,
        BundleDescription,
        network_rows.bundle_rows,
        network_rows.find_bundle,
        related.related_to_bundle,
    ),
    KindView(
        kinds.DOMAINS,
        DomainRow,
        DomainDescription,
        network_rows.domain_rows,
        network_rows.find_domain,
        related.related_to_domain,
    ),
    KindView(
        kinds.FAULTS,
        FaultRow,
        FaultDescription,
        pod_rows.fault_rows,
        pod_rows.find_fault,
        related.related_to_target,
    ),
    KindView(
        kinds.VERDICTS,
        VerdictRow,
        VerdictDescription,
        pod_rows.verdict_rows,
        pod_rows.find_verdict,
        related.related_to_verdict,
    ),
    KindView(
        kinds.REPAIRS,
        RepairRow,
        RepairDescription,
        pod_rows.repair_rows,
        pod_rows.find_repair,
        related.related_to_target,
    ),
)

VIEWS: dict[str, KindView[Any, Any]] = {view.kind.word: view for view in _VIEWS}
"""The word of a kind → how its resources are read."""
