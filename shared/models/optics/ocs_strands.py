"""The OCS path between two joined link ends, strand by strand.

[LF] 3.1, 4.1.1, Figure A.1. The ends of a link are on the same OCS, each at its own duplex port: a strand
that enters North at one of them leaves South at the other.
"""

import numpy as np

from shared.basics.errors import InvalidInput
from shared.models.ocs.patched_fibres import NOT_PATCHED, Patches, physical_ports
from shared.models.optics.link_design import OcsPath
from shared.models.optics.palomar import insertion_loss_db, return_loss_db
from shared.models.superpod.wiring import (
    ENDS_PER_CUBE,
    FACE_LINKS,
    FACES,
    PALOMAR_RADIX,
    STRANDS,
    IntArray,
    LinkEnd,
    link_end,
    port_of_face,
    side_of,
)


def strands_of(
    seed: int,
    fabric: str,
    end: int | IntArray,
    peer: int | IntArray,
    ports: int = PALOMAR_RADIX,
    technology: str = "palomar",
    patched: Patches = NOT_PATCHED,
) -> OcsPath:
    """The path as seen from the end, of shape (…, strands), for end and peer numbers of shape (…).

    The peer must be valid (`check_peer`); `ports` are of one side, as in `ocs_radix`. Fibres are at the ports
    where they were wired, except those `patched` to spare ports.
    """
    near, far = (np.asarray(number, dtype=np.int64)[..., None] for number in (end, peer))
    strand = np.arange(STRANDS)
    face, index = np.divmod(near % ENDS_PER_CUBE, FACE_LINKS)
    ocs, near_is_north = face // 2 * FACE_LINKS + index, side_of(face, strand) == 0
    near_port, far_port = (
        port_of_face(near // ENDS_PER_CUBE, face),
        port_of_face(far // ENDS_PER_CUBE, face ^ 1),
    )
    north = np.where(near_is_north, near_port, far_port)
    south = np.where(near_is_north, far_port, near_port)
    north, south = physical_ports(patched, 0, ocs, north), physical_ports(patched, 1, ocs, south)
    north_db = return_loss_db(seed, fabric, ocs, "N", north, ports)
    south_db = return_loss_db(seed, fabric, ocs, "S", south, ports)
    return OcsPath(
        insertion_loss_db(seed, fabric, ocs, north, south, ports, technology),
        np.where(near_is_north, north_db, south_db),
        np.where(near_is_north, south_db, north_db),
    )


def strands_looped(
    seed: int,
    fabric: str,
    end: int,
    ports: int = PALOMAR_RADIX,
    technology: str = "palomar",
    patched: Patches = NOT_PATCHED,
) -> OcsPath:
    """The path of an end's own light that its OCS loops from North to South at its duplex port, of shape
    (strands,)."""
    own = link_end(end)
    ocs, port = np.array(own.ocs), np.array(own.port)
    north, south = physical_ports(patched, 0, ocs, port), physical_ports(patched, 1, ocs, port)
    loss_db = insertion_loss_db(seed, fabric, ocs, north, south, ports, technology)
    north_db = return_loss_db(seed, fabric, ocs, "N", north, ports)
    south_db = return_loss_db(seed, fabric, ocs, "S", south, ports)
    at_north = np.array([own.side(strand) == "N" for strand in range(STRANDS)])
    return OcsPath(
        np.broadcast_to(loss_db, (STRANDS,)),
        np.where(at_north, north_db, south_db),
        np.where(at_north, south_db, north_db),
    )


def check_peer(fabric: str, end: int, peer: int) -> None:
    """InvalidInput unless the ends are on the same OCS, on opposite faces; a cube may be joined to itself."""
    near, far = link_end(end), link_end(peer)
    wanted = LinkEnd(far.cube, near.face ^ 1, near.index)
    if far != wanted:
        raise InvalidInput(
            f"link: {far.name(fabric)} cannot be joined with {near.name(fabric)}; OCS {near.ocs} joins that "
            f"with {FACES[wanted.face]}/{wanted.index} of any cube; the nearest is {wanted.name(fabric)}"
        )
