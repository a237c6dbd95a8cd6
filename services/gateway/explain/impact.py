"""Blast radius: the links, cubes and slices that depend on a part of a pod now, and the loss of a network if
a part fails."""

from collections.abc import Sequence

from schemas.api.rows import ImpactLink, ImpactReport
from schemas.api.whatif import LossReport
from schemas.documents.pods import LinkGroupDocument, OcsDocument
from services.gateway.fabrics import check_living, config_of, fabric_graph, fabric_plant, part_of
from services.gateway.resources.pod_rows import find_cube, slice_rows
from services.gateway.resources.status_documents import dead_port_text, read_all, read_one
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time
from shared.models.faults.fault_kinds import FAULTS
from shared.models.ocs.parts import PART
from shared.models.ocs_technologies import ocs_technology
from shared.models.plant.plant_format import Part, Plant

NO_ENDS: tuple[int, ...] = ()


def impact_of(twin: TwinPorts, target: str) -> ImpactReport:
    """What depends on the part of this name. Raise NotFound if there is none, and InvalidInput for a part of
    an OCS's chassis."""
    part = part_of(twin, target)
    if part.kind in PART and part.kind != "ocs":
        raise InvalidInput(
            f"target {target!r}: must not be a part of an OCS; use "
            f"`lightwave what-if inject {part.kind} {target}`"
        )
    fabric = part.fabric
    plant = fabric_plant(twin, fabric)
    own, note = _own_ends(twin, plant, part)
    slices = {row.name: row for row in slice_rows(twin, fabric) if row.ended_us is None}
    impact = fabric_graph(twin, fabric).impact_by_name(
        target,
        far_ends={group.name: group.far_ends for group in read_all(twin, fabric, "links", LinkGroupDocument)},
        slices={name: row.cubes for name, row in slices.items()},
        own=own,
    )
    return ImpactReport(
        target=impact.target,
        domain=impact.domain,
        cubes=impact.parts["cube"],
        hosts=impact.parts["host"],
        chips=impact.parts["chip"],
        link_ends=impact.parts["end"],
        links=tuple(ImpactLink(end=end, far_end=far_end) for end, far_end in impact.links),
        slices=tuple(slices[name] for name in impact.slices),
        note="; ".join([text for text in (note, _planned_drains_text(twin, part)) if text]) or None,
    )


def _planned_drains_text(twin: TwinPorts, part: Part) -> str | None:
    """The planned drain of the cube that a part is in; None without one."""
    name = "/".join(part.name.split("/")[:2])
    cube = find_cube(twin, part.fabric, name) if "/cube-" in name else None
    if cube is None:
        return None
    plan = cube.drain_from_us, cube.drain_until_us
    from_us, until_us = plan if plan[0] is not None else (cube.next_drain_from_us, cube.next_drain_until_us)
    if from_us is None:
        return None
    end = "" if until_us is None else f" to {format_time(until_us)}"
    return f"{cube.name} will be drained from {format_time(from_us)}{end}"


def _own_ends(twin: TwinPorts, plant: Plant, part: Part) -> tuple[Sequence[int] | None, str | None]:
    """(link ends of a part, None if its plant knows them; note about the part)."""
    ocs = config_of(twin, part.fabric).pod_ocs
    if part.kind == "batch":
        ends = fabric_graph(twin, part.fabric).dependents(part, plant.ends.kind)
        return ends, f"{part.name} is {len(ends)} modules of one production batch"
    if part.kind == "port":
        return _ends_at(twin, plant, part)
    if part.kind != "ocs" or ocs is None:
        return None, None
    if not ocs_technology(ocs.technology).latching:
        return None, None
    circuits_text = f"{part.name} keeps its circuits without power ({ocs.technology}), but takes no commands"
    return NO_ENDS, f"{circuits_text} until it is back"


def _ends_at(twin: TwinPorts, plant: Plant, part: Part) -> tuple[Sequence[int] | None, str | None]:
    """The link ends of an OCS port by the fibre that is connected now: some fibres have moved to
    spare ports."""
    ocs, _, label = part.name.rpartition("/")
    document = read_one(twin, part.fabric, "ocs", ocs, OcsDocument)
    for patch in document.patches if document is not None else ():
        if patch.spare == label:
            fibre = plant.parse(f"{ocs}/{patch.port}")
            return plant.ends_on(fibre).tolist(), f"the fibre of {patch.port} is connected to this spare port"
    if (dead := dead_port_text(twin, part.fabric, part.name)) is not None:
        return NO_ENDS, f"{part.name} {dead}: nothing depends on it any more"
    return None, None


def loss_of(twin: TwinPorts, target: str) -> LossReport:
    """The loss of a network if the part of this name fails by the fault of its kind. Raise NotFound if there
    is no such part, and InvalidInput if it is not a part of a network, or the network has retired."""
    part = part_of(twin, target)
    kind = next((kind for kind, row in FAULTS.items() if row.strikes == part.kind), None)
    if kind is None:
        raise InvalidInput(f"target {target!r}: must be a part of a datacenter network that can fail")
    check_living(twin, part.fabric)
    return twin.queries.loss(part.fabric, kind, part.name, twin.clock.show().now_us)
