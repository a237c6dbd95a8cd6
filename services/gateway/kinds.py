"""The kinds of things as the gateway reads them: beside each row of `schemas.kinds`, how all things of the
kind are listed, how one is found by its name, and what stands around it.

All three take the twin and a fabric; finding reads no more documents than the one thing needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from schemas import kinds
from schemas.api import (
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
from schemas.api_descriptions import (
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
from schemas.api_network import BlockRow, BundleRow, DemandRow, DomainRow, RackRow, RewiringRow, TrunkRow
from services.gateway import around, around_network, fabric_rows, network_rows, rows, verdict_rows
from services.gateway.ports import TwinPorts


@dataclass(frozen=True, slots=True)
class KindView(Generic[RowT, RelatedT]):
    """How things of one kind are read."""

    kind: kinds.Kind
    row: type[RowT]
    description: type[Description[RowT, RelatedT]]
    listing: Callable[[TwinPorts, str], Sequence[RowT]]
    find: Callable[[TwinPorts, str, str], RowT | None]
    around: Callable[[TwinPorts, str, RowT], RelatedT]


_VIEWS: tuple[KindView[Any, Any], ...] = (
    KindView(
        kinds.FABRICS,
        FabricRow,
        FabricDescription,
        fabric_rows.fabric_rows,
        fabric_rows.find_fabric,
        around_network.around_fabric,
    ),
    KindView(
        kinds.OCS,
        OcsRow,
        OcsDescription,
        rows.ocs_rows,
        rows.find_ocs,
        around_network.around_ocs,
    ),
    KindView(
        kinds.CUBES,
        CubeRow,
        CubeDescription,
        rows.cube_rows,
        rows.find_cube,
        around.around_cube,
    ),
    KindView(
        kinds.HOSTS,
        HostRow,
        HostDescription,
        rows.host_rows,
        rows.find_host,
        around.around_part,
    ),
    KindView(
        kinds.LINKS,
        LinkRow,
        LinkDescription,
        rows.link_rows,
        rows.find_link,
        around.around_link,
    ),
    KindView(
        kinds.SLICES,
        SliceRow,
        SliceDescription,
        rows.slice_rows,
        rows.find_slice,
        around.around_slice,
    ),
    KindView(
        kinds.BLOCKS,
        BlockRow,
        BlockDescription,
        network_rows.block_rows,
        network_rows.find_block,
        around_network.around_block,
    ),
    KindView(
        kinds.TRUNKS,
        TrunkRow,
        TrunkDescription,
        network_rows.trunk_rows,
        network_rows.find_trunk,
        around_network.around_trunk,
    ),
    KindView(
        kinds.DEMANDS,
        DemandRow,
        DemandDescription,
        network_rows.demand_rows,
        network_rows.find_demand,
        around_network.around_demand,
    ),
    KindView(
        kinds.REWIRINGS,
        RewiringRow,
        RewiringDescription,
        network_rows.rewiring_rows,
        network_rows.find_rewiring,
        around_network.around_rewiring,
    ),
    KindView(
        kinds.RACKS,
        RackRow,
        RackDescription,
        network_rows.rack_rows,
        network_rows.find_rack,
        around_network.around_rack,
    ),
    KindView(
        kinds.BUNDLES,
        BundleRow,
        BundleDescription,
        network_rows.bundle_rows,
        network_rows.find_bundle,
        around_network.around_bundle,
    ),
    KindView(
        kinds.DOMAINS,
        DomainRow,
        DomainDescription,
        network_rows.domain_rows,
        network_rows.find_domain,
        around_network.around_domain,
    ),
    KindView(
        kinds.FAULTS,
        FaultRow,
        FaultDescription,
        rows.fault_rows,
        rows.find_fault,
        around.around_target,
    ),
    KindView(
        kinds.VERDICTS,
        VerdictRow,
        VerdictDescription,
        verdict_rows.verdict_rows,
        verdict_rows.find_verdict,
        around.around_verdict,
    ),
    KindView(
        kinds.REPAIRS,
        RepairRow,
        RepairDescription,
        rows.repair_rows,
        rows.find_repair,
        around.around_target,
    ),
)

VIEWS: dict[str, KindView[Any, Any]] = {view.kind.word: view for view in _VIEWS}
"""The word of a kind → how its things are read."""
