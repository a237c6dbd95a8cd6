"""The light path from one link end: through the circuits of its OCS, or along fixed fibres."""

from collections.abc import Mapping, Sequence

from schemas.api.rows import ChipLocation, LightPath, LinkRow, StrandPath
from schemas.documents.pods import EndImpairment, LinkGroupDocument, OcsDocument
from services.gateway.fabrics import fabric_graph
from services.gateway.resources.pod_rows import find_link
from services.gateway.resources.status_documents import read_one
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import OperationFailed
from shared.models.network.wiring import NO_PORT
from shared.models.plant.plant_format import IntArray, Part, Plant
from shared.models.superpod.superpod_plant import switched_circuits
from shared.models.superpod.wiring import link_end


def light_path(twin: TwinPorts, fabric: str, row: LinkRow) -> LightPath:
    """The light path from a link end: chip, face, fibre, both strands to the far end, far chip.

    Through an OCS, the path follows the circuits that are made; `wanted_end` is where it would lead if all
    wanted circuits were made. Fixed fibres always lead to the same end, and their strands have no OCS and no
    ports. `far_condition` is the condition of the far module.
    """
    graph = fabric_graph(twin, fabric)
    plant = graph.plant
    end = plant.parse(row.name)
    ocs = _ocs(twin, fabric, row)
    made, wanted = _circuits(plant, ocs)
    spares = {patch.port: int(patch.spare[1:]) for patch in ocs.patches} if ocs else {}
    paths = graph.light_path(end, made)
    far_end, wanted_end = graph.far_end(paths), graph.far_end(graph.light_path(end, wanted))
    partner = far_end or wanted_end
    far_row = find_link(twin, fabric, partner.name) if partner else None
    return LightPath(
        end=row.name,
        chip=_chip(end),
        far_end=far_end.name if far_end else None,
        far_chip=_chip(far_end) if far_end else None,
        wanted_end=wanted_end.name if wanted_end else None,
        state=row.state,
        condition=row.condition,
        far_condition=far_row.condition if far_row else None,
        loss_db=row.loss_db,
        ber=row.ber,
        slice=row.slice,
        strands=tuple(
            _strand(strand, [part for part in path if part.kind != end.kind], row.ocs, spares)
            for strand, path in enumerate(paths)
        ),
        impairment=_impairment(twin, end),
        far_impairment=_impairment(twin, partner) if partner else None,
        generation=row.generation or None,
        far_generation=(far_row.generation or None) if far_row else None,
    )


def _impairment(twin: TwinPorts, end: Part) -> EndImpairment | None:
    """The impairment of a link end's light; None if there is none."""
    cube = end.name.rsplit("/", 2)[0]
    group = read_one(twin, end.fabric, "links", cube, LinkGroupDocument)
    impaired = group.impaired if group else ()
    return next((impairment for impairment in impaired if impairment.end == end.number), None)


def _ocs(twin: TwinPorts, fabric: str, row: LinkRow) -> OcsDocument | None:
    """The OCS of a link end; None if fixed fibres lead from end to end."""
    if row.ocs is None:
        return None
    document = read_one(twin, fabric, "ocs", row.ocs, OcsDocument)
    if document is None:
        raise OperationFailed(f"{row.ocs}: not in the store")
    return document


def _circuits(plant: Plant, document: OcsDocument | None) -> tuple[IntArray | None, IntArray | None]:
    """The (made, wanted) circuits of an OCS, as `Plant.far_ends` takes them; (None, None) without an OCS."""
    if document is None:
        return None, None
    wanted = [*document.wanted]
    for circuit in document.manual_circuits:
        wanted[circuit.north] = NO_PORT  # no module is trained for a manual circuit, so it carries no light
    made = [south if is_made else NO_PORT for south, is_made in zip(wanted, document.made, strict=True)]
    return switched_circuits(plant, {document.name: made}), switched_circuits(plant, {document.name: wanted})


def _strand(strand: int, ports: Sequence[Part], ocs: str | None, spares: Mapping[str, int]) -> StrandPath:
    """One strand through these ports, or through their spare ports. The port of the other side is None if no
    circuit is made."""
    north, south = (next((port["port"] for port in ports if port["side"] == n), None) for n in (0, 1))
    return StrandPath(
        strand=strand,
        ocs=ocs,
        north=north,
        south=south,
        north_spare=spares.get(f"N{north}"),
        south_spare=spares.get(f"S{south}"),
    )


def _chip(end: Part) -> ChipLocation:
    place = link_end(end.number)
    x, y, z = place.chip
    return ChipLocation(cube=f"{end.fabric}/cube-{place.cube}", x=x, y=y, z=z)
