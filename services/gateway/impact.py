"""Blast radius: which links, cubes and slices hang on a part now."""

from schemas.api import ImpactLink, ImpactReport
from schemas.documents import LinkGroupDocument
from services.gateway.documents import read_all
from services.gateway.fabrics import part_of, plant
from services.gateway.ports import TwinPorts
from services.gateway.rows import slice_rows
from shared.models.impact import impact_by_name


def impact_of(twin: TwinPorts, target: str) -> ImpactReport:
    """What hangs on the part of this name; NotFound if there is none."""
    fabric = part_of(twin, target).fabric
    made_of = plant(twin, fabric)
    slices = {row.name: row for row in slice_rows(twin, fabric) if row.ended_us is None}
    found = impact_by_name(
        made_of,
        target,
        far_ends={group.name: group.far_ends for group in read_all(twin, fabric, "links", LinkGroupDocument)},
        slices={name: row.cubes for name, row in slices.items()},
    )
    return ImpactReport(
        target=found.target,
        domain=found.domain,
        cubes=found.parts["cube"],
        hosts=found.parts["host"],
        chips=found.parts["chip"],
        link_ends=found.parts["end"],
        links=tuple(ImpactLink(end=end, far_end=far_end) for end, far_end in found.links),
        slices=tuple(slices[name] for name in found.slices),
    )
