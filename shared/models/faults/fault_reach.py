"""The link ends and mirrors that a fault affects."""

from typing import TYPE_CHECKING

from shared.models.faults.link_faults import LINK_FAULTS, PATH_FAULTS
from shared.models.ocs.patched_fibres import SIDES, port_place

if TYPE_CHECKING:
    from schemas.names import FaultKind
    from shared.models.plant.plant_format import Plant

ONE_STRAND_KINDS = ("transmitter",)
"""Kinds that affect one strand of an end, either one."""


def affected_ends(plant: "Plant", kind: "FaultKind", target: str) -> tuple[int, ...]:
    """Numbers of the link ends whose light or readings a fault of this kind changes, in order.

    Empty for kinds that strike other parts, and for parts without a link. Modules of a batch are distributed
    in turn.
    """
    if kind not in ("link", "cube-power", *LINK_FAULTS, *PATH_FAULTS):
        return ()
    part = plant.parse(target)
    if part.kind == "batch":
        return tuple(range(part.number, plant.population(plant.ends.kind), plant.population("batch")))
    return tuple(plant.ends_on(part).tolist())


def affected_mirror(kind: "FaultKind", target: str) -> int | None:
    """The place of the mirror that a fault affects (`patches.port_place`); None for faults of other parts."""
    if kind != "mirror":
        return None
    _, ocs, label = target.split("/")
    return port_place(SIDES.index(label[0]), int(ocs.rpartition("-")[2]), int(label[1:]))
