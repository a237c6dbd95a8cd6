"""What stands around a thing: what an operator would look up next."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from schemas.api import (
    CubeRow,
    FaultRow,
    HostRow,
    LinkRow,
    OcsBrief,
    OcsRow,
    RepairRow,
    SliceRow,
    VerdictRow,
)
from schemas.api_descriptions import (
    CubeRelated,
    LinkRelated,
    OcsBlame,
    PartRelated,
    SliceRelated,
    VerdictRelated,
)
from services.gateway import rows
from services.gateway.documents import natural
from services.gateway.fabrics import network_at, part_of, plant
from services.gateway.light_path import light_path
from services.gateway.ports import TwinPorts
from services.gateway.readings import field_readings
from services.gateway.verdict_rows import verdict_rows
from shared.models.struck_ends import struck_ends

RowT = TypeVar("RowT")
OPEN = ("queued", "begun", "tested")
"""States of repairs that have not ended."""
BAD_LINKS = ("degraded", "down")

WAITS_OR_AILS = ("queued", "waiting-for-pods", "degraded", "recovering")
"""States of slices that are not as they should be."""


def around_part(twin: TwinPorts, fabric: str, row: OcsRow | HostRow) -> PartRelated:
    return _around_name(twin, fabric, row.name)


def around_target(twin: TwinPorts, fabric: str, row: FaultRow | RepairRow) -> PartRelated:
    """What is so at a part; of a batch, what is held of its modules and done to them."""
    made_of = plant(twin, fabric)
    if made_of.population("batch") and made_of.parse(row.target).kind == "batch":
        ends = {
            made_of.part(made_of.ends.kind, end, fabric).name
            for end in struck_ends(made_of, "batch", row.target)
        }
        return PartRelated(
            faults=faults_in(twin, fabric, row.target),
            verdicts=tuple(
                one for one in verdict_rows(twin, fabric) if one.state == "open" and one.target in ends
            ),
            repairs=tuple(
                one for one in rows.repair_rows(twin, fabric) if one.state in OPEN and one.target in ends
            ),
        )
    return _around_name(twin, fabric, row.target)


def around_cube(twin: TwinPorts, fabric: str, row: CubeRow) -> CubeRelated:
    """Hosts and links of the cube that are not well, and who uses it."""
    return CubeRelated(
        hosts=tuple(host for host in rows.hosts_of(twin, fabric, row.name) if host.state != "up"),
        links=tuple(
            link
            for link in rows.links_of(twin, fabric, row.name)
            if link.state in BAD_LINKS or link.condition != "ok"
        ),
        slices=present(rows.find_slice, twin, fabric, row.slices),
        faults=faults_in(twin, fabric, row.name),
        verdicts=verdicts_in(twin, fabric, row.name),
        repairs=repairs_in(twin, fabric, row.name),
    )


def around_link(twin: TwinPorts, fabric: str, row: LinkRow) -> LinkRelated:
    """Both strands, and the end to which they lead or should."""
    path = light_path(twin, fabric, row)
    partner = path.far_end or path.wanted_end
    return LinkRelated(
        strands=path.strands,
        partner=present(rows.find_link, twin, fabric, [partner] if partner else []),
        readings=tuple(field_readings(twin, fabric, part_of(twin, row.name).number)),
        faults=faults_in(twin, fabric, row.name),
        verdicts=verdicts_in(twin, fabric, row.name),
        repairs=repairs_in(twin, fabric, row.name),
    )


def around_verdict(twin: TwinPorts, fabric: str, row: VerdictRow) -> VerdictRelated:
    """The ends that it is about, with what is so in truth and what was done."""
    return VerdictRelated(
        links=present(rows.find_link, twin, fabric, row.ends),
        faults=faults_in(twin, fabric, row.target),
        repairs=tuple(one for one in rows.repair_rows(twin, fabric) if one.verdict == row.name),
    )


def around_slice(twin: TwinPorts, fabric: str, row: SliceRow) -> SliceRelated:
    """The slice's cubes, its link ends that are not well, and the OCSes that those have in common."""
    links = [
        link
        for cube in row.cubes
        for link in rows.links_of(twin, fabric, cube)
        if link.state in BAD_LINKS and link.slice == row.name
    ]
    blamed = sorted({link.ocs for link in links if link.ocs is not None}, key=natural)
    return SliceRelated(
        cubes=present(rows.find_cube, twin, fabric, row.cubes),
        links=tuple(links),
        ocs=tuple(OcsBlame(name=name, links=sum(link.ocs == name for link in links)) for name in blamed),
    )


def _around_name(twin: TwinPorts, fabric: str, name: str) -> PartRelated:
    return PartRelated(
        faults=faults_in(twin, fabric, name),
        verdicts=verdicts_in(twin, fabric, name) if network_at(twin, fabric) is None else None,
        repairs=repairs_in(twin, fabric, name),
    )


def faults_in(twin: TwinPorts, fabric: str, name: str) -> tuple[FaultRow, ...]:
    """Active faults of a part or anything in it."""
    found = rows.fault_rows(twin, fabric)
    return tuple(row for row in found if row.state == "active" and _is_within(row.target, name))


def verdicts_in(twin: TwinPorts, fabric: str, name: str) -> tuple[VerdictRow, ...]:
    """Open verdicts on a part or anything in it, or on link ends of which it is one, or that are in it."""
    found = [row for row in verdict_rows(twin, fabric) if row.state == "open"]
    return tuple(row for row in found if any(_is_within(one, name) for one in (row.target, *row.ends)))


def repairs_in(twin: TwinPorts, fabric: str, name: str) -> tuple[RepairRow, ...]:
    """Open repairs of a part or anything in it."""
    found = rows.repair_rows(twin, fabric)
    return tuple(row for row in found if row.state in OPEN and _is_within(row.target, name))


def _is_within(target: str, name: str) -> bool:
    return target == name or target.startswith(f"{name}/")


def present(
    find: Callable[[TwinPorts, str, str], RowT | None], twin: TwinPorts, fabric: str, names: Iterable[str]
) -> tuple[RowT, ...]:
    """The things of these names, but for those that have gone since their names were read."""
    found = [find(twin, fabric, name) for name in names]
    return tuple(row for row in found if row is not None)


def brief(row: OcsRow) -> OcsBrief:
    return OcsBrief(**{name: getattr(row, name) for name in OcsBrief.model_fields})
