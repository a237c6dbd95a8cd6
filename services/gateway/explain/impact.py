"""Blast radius: which links, cubes and slices hang on a part of a pod now, and what a network loses with one
of its parts."""

import numpy as np

from schemas.api.rows import ImpactLink, ImpactReport
from schemas.api.whatif import LossReport
from schemas.config.pods import SuperpodConfig
from schemas.documents.pods import LinkGroupDocument, OcsDocument
from services.gateway.fabrics import config_of, fabric_plant, part_of, retired_us
from services.gateway.ports import TwinPorts
from services.gateway.requests.rewiring_requests import is_network
from services.gateway.resources.pod_rows import slice_rows
from services.gateway.resources.status_documents import dead_port_text, read_all, read_one
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.models.faults.fault_kinds import FAULTS
from shared.models.faults.fault_reach import affected_ends
from shared.models.ocs.parts import PART
from shared.models.ocs_technologies import ocs_technology
from shared.models.plant.impact import impact_by_name
from shared.models.plant.plant import IntArray, Part, Plant

NO_ENDS: IntArray = np.array([], dtype=np.int64)


def impact_of(twin: TwinPorts, target: str) -> ImpactReport:
    """What hangs on the part of this name; NotFound if there is none, InvalidInput for one of an OCS's
    chassis."""
    part = part_of(twin, target)
    if part.kind in PART and part.kind != "ocs":
        raise InvalidInput(
            f"target {target!r}: what hangs on a part of an OCS is told by what a fault of it would do: "
            f"`lightwave what-if inject {part.kind} {target}`"
        )
    fabric = part.fabric
    made_of = fabric_plant(twin, fabric)
    own, note = _own_ends(twin, made_of, part)
    slices = {row.name: row for row in slice_rows(twin, fabric) if row.ended_us is None}
    found = impact_by_name(
        made_of,
        target,
        far_ends={group.name: group.far_ends for group in read_all(twin, fabric, "links", LinkGroupDocument)},
        slices={name: row.cubes for name, row in slices.items()},
        own=own,
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
        note=note,
    )


def _own_ends(twin: TwinPorts, made_of: Plant, part: Part) -> tuple[IntArray | None, str | None]:
    """(link ends of a part, None where its plant tells them; what else is to be said of it)."""
    config = config_of(twin, part.fabric)
    if part.kind == "batch":
        ends = affected_ends(made_of, "batch", part.name)
        return np.array(ends), f"{part.name} is {len(ends)} modules that were made together"
    if part.kind == "port":
        return _ends_at(twin, made_of, part)
    if part.kind != "ocs" or not isinstance(config, SuperpodConfig):
        return None, None
    if not ocs_technology(config.ocs.technology).latching:
        return None, None
    keeps = f"{part.name} keeps its circuits without power ({config.ocs.technology}), and takes no command"
    return NO_ENDS, f"{keeps} until it is back"


def _ends_at(twin: TwinPorts, made_of: Plant, part: Part) -> tuple[IntArray | None, str | None]:
    """Of a port of an OCS by the fibre that is there now: some were moved to spare ports."""
    ocs, _, label = part.name.rpartition("/")
    document = read_one(twin, part.fabric, "ocs", ocs, OcsDocument)
    for patch in document.patches if document is not None else ():
        if patch.spare == label:
            fibre = made_of.parse(f"{ocs}/{patch.port}")
            return made_of.ends_on(fibre), f"the fibre of {patch.port} is at this spare port"
    if (dead := dead_port_text(twin, part.fabric, part.name)) is not None:
        return NO_ENDS, f"{part.name} {dead}: nothing hangs on it any more"
    return None, None


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
            f"fabric {part.fabric}: retired at {format_time(ended_us)}; nothing happens there any more"
        )
    return twin.queries.loss(part.fabric, kind, part.name, twin.clock.show().now_us)
