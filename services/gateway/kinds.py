"""The kinds of things as the gateway reads them: beside each row of `schemas.kinds`, how all things of the
kind are listed, how one is found by its name, and what stands around it.

All three take the twin and a fabric; finding reads no more documents than the one thing needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from schemas import kinds
from schemas.api import (
    CubeDescription,
    CubeRow,
    Description,
    FabricDescription,
    FabricRow,
    FaultDescription,
    FaultRow,
    HostDescription,
    HostRow,
    LinkDescription,
    LinkRow,
    OcsDescription,
    OcsRow,
    RelatedT,
    RepairDescription,
    RepairRow,
    RowT,
    SliceDescription,
    SliceRow,
)
from services.gateway import around, rows
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
        rows.fabric_rows,
        rows.find_fabric,
        around.around_fabric,
    ),
    KindView(
        kinds.OCS,
        OcsRow,
        OcsDescription,
        rows.ocs_rows,
        rows.find_ocs,
        around.around_part,
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
        kinds.FAULTS,
        FaultRow,
        FaultDescription,
        rows.fault_rows,
        rows.find_fault,
        around.around_target,
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
