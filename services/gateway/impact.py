"""Blast radius: which links, cubes and slices hang on a part of a pod now, and what a network loses with one
of its parts."""

from schemas.api import ImpactLink, ImpactReport
from schemas.api_loss import LossReport
from schemas.documents import LinkGroupDocument
from services.gateway.documents import read_all
from services.gateway.fabrics import part_of, plant, retired_us
from services.gateway.ports import TwinPorts
from services.gateway.rewirings import is_network
from services.gateway.rows import slice_rows
from shared.basics.errors import InvalidInput
from shared.basics.times import moment
from shared.models.faults import FAULTS
from shared.models.impact import impact_by_name
from shared.models.ocs.parts import PART


def impact_of(twin: TwinPorts, target: str) -> ImpactReport:
    """What hangs on the part of this name; NotFound if there is none, InvalidInput for one of an OCS's
    chassis."""
    part = part_of(twin, target)
    if part.kind in PART and part.kind != "ocs":
        raise InvalidInput(
            f"target {target!r}: which links hang on a part of an OCS is known to those who make them; "
            f"`lightwave impact inject {part.kind} {target}` asks them"
        )
    fabric = part.fabric
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


def loss_of(twin: TwinPorts, target: str) -> LossReport:
    """What a network would lose with the part of this name, by the fault that strikes such parts; NotFound if
    there is none, InvalidInput where it is a part of something else, or the network has retired."""
    part = part_of(twin, target)
    kind = next((kind for kind, row in FAULTS.items() if row.strikes == part.kind), None)
    if kind is None or not is_network(twin, part.fabric):
        raise InvalidInput(f"target {target!r}: is no part of a datacenter network that can break")
    ended_us = retired_us(twin, part.fabric)
    if ended_us is not None:
        raise InvalidInput(
            f"fabric {part.fabric}: retired at {moment(ended_us)}; nothing happens there any more"
        )
    return twin.questions.loss(part.fabric, kind, part.name, twin.clock.show().now_us)
