"""The whole light path from one link end: through the circuits of its OCS, or along fixed fibres."""

from schemas.api import ChipPlace, LightPath, LinkRow, StrandPath
from schemas.documents import OcsDocument
from services.gateway.documents import read_one
from services.gateway.fabrics import plant
from services.gateway.ports import TwinPorts
from services.gateway.rows import find_link
from shared.basics.errors import OperationFailed
from shared.models.superpod.wiring import STRANDS, LinkEnd, end_at, link_end


def light_path(twin: TwinPorts, fabric: str, row: LinkRow) -> LightPath:
    """From a link end: chip, face, fibre, both strands to the far end, far chip.

    Through an OCS, the path is the one that the light takes, by the circuits that it has made; `wanted_end`
    is where it would lead if all that are wanted were. Fixed fibres always lead to the same end, and their
    strands have no OCS and no ports. `far_condition` is that of the module there.
    """
    made_of = plant(twin, fabric)
    part = made_of.parse(row.name)
    end = link_end(part.number)
    if row.ocs is None:
        fixed = link_end(made_of.joined(part)[0].number)
        far_end: LinkEnd | None = fixed
        wanted_end: LinkEnd | None = fixed
        strands = [StrandPath(strand=n, ocs=None, north=None, south=None) for n in range(STRANDS)]
    else:
        document = read_one(twin, fabric, "ocs", row.ocs, OcsDocument)
        if document is None:
            raise OperationFailed(f"{row.ocs}: the store has no document of it")
        strands = [_strand(document, end, strand) for strand in range(STRANDS)]
        far_end, wanted_end = _far_end(end, strands), _wanted_end(document, end)
    partner = far_end or wanted_end
    far_row = find_link(twin, fabric, partner.name(fabric)) if partner else None
    return LightPath(
        end=row.name,
        chip=_chip(fabric, end),
        far_end=far_end.name(fabric) if far_end else None,
        far_chip=_chip(fabric, far_end) if far_end else None,
        wanted_end=wanted_end.name(fabric) if wanted_end else None,
        state=row.state,
        condition=row.condition,
        far_condition=far_row.condition if far_row else None,
        loss_db=row.loss_db,
        ber=row.ber,
        slice=row.slice,
        strands=tuple(strands),
    )


def _chip(fabric: str, end: LinkEnd) -> ChipPlace:
    x, y, z = end.chip
    return ChipPlace(cube=f"{fabric}/cube-{end.cube}", x=x, y=y, z=z)


def _strand(document: OcsDocument, end: LinkEnd, strand: int) -> StrandPath:
    """One strand on the end's OCS: an end on a + face enters at the North, on a − face at the South. The
    port of the other side is null when no circuit is made."""
    port, (north, south) = end.port(strand), _wanted(document, end, strand)
    made = north >= 0 and document.made[north]
    far = (south if end.is_north else north) if made else None
    ports = (port, far) if end.is_north else (far, port)
    return StrandPath(strand=strand, ocs=document.name, north=ports[0], south=ports[1])


def _wanted(document: OcsDocument, end: LinkEnd, strand: int) -> tuple[int, int]:
    """(North port, South port) of the circuit commanded for a strand of the end, the other side −1 if none
    is."""
    port, wanted = end.port(strand), document.wanted
    if end.is_north:
        return port, wanted[port]
    return next((n for n, south in enumerate(wanted) if south == port), -1), port


def _wanted_end(document: OcsDocument, end: LinkEnd) -> LinkEnd | None:
    """Where the circuits commanded for the end lead, made or not: those of both strands to the same end."""
    north, south = _wanted(document, end, 0)
    far_side, port = ("S", south) if end.is_north else ("N", north)
    return end_at(end.ocs, far_side, port) if port >= 0 else None


def _far_end(end: LinkEnd, strands: list[StrandPath]) -> LinkEnd | None:
    """Where both strands lead; None unless both are made."""
    ports = [strand.south if end.is_north else strand.north for strand in strands]
    if ports[0] is None or None in ports:
        return None
    return end_at(end.ocs, "S" if end.is_north else "N", ports[0])
