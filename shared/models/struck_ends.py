"""Which link ends a fault strikes."""

from typing import TYPE_CHECKING

from shared.models.link_faults import LINK_FAULTS, PATH_FAULTS
from shared.models.superpod.wiring import strand_at

if TYPE_CHECKING:
    from schemas.names import FaultKind
    from shared.models.plant import Plant

STRANDS_STRUCK = ("transmitter",)
"""Kinds that strike one strand of an end, whichever it is."""


def struck_ends(plant: "Plant", kind: "FaultKind", target: str) -> tuple[int, ...]:
    """Numbers of the link ends whose light or readings a fault of this kind changes, in order; none for kinds
    that strike something else, and for parts without a link. Modules of a batch are dealt out in turn."""
    if kind not in ("link", "cube-power", *LINK_FAULTS, *PATH_FAULTS):
        return ()
    part = plant.parse(target)
    if part.kind == "batch":
        return tuple(range(part.number, plant.population(plant.ends.kind), plant.population("batch")))
    return tuple(plant.ends_on(part).tolist())


def strand_of(kind: "FaultKind", target: str) -> int | None:
    """The strand of the end at a port that a fault of the port strikes; None for faults of all of an end."""
    if kind != "mirror":
        return None
    label = target.rpartition("/")[2]
    return strand_at(label[0], int(label[1:]))
