"""The fabrics that there are, and the one that a name begins with."""

from schemas.config import pod_of
from services.gateway.ports import TwinPorts
from shared.basics.errors import NotFound


def cubes_of(twin: TwinPorts, fabric: str) -> int:
    """Cubes of a fabric; NotFound if there is no such fabric."""
    try:
        return pod_of(twin.config(fabric)).cubes
    except KeyError:
        known = ", ".join(twin.documents.fabrics())
        raise NotFound(f"fabric {fabric[:80]!r}: no such fabric; there is {known}") from None


def fabric_of(twin: TwinPorts, name: str) -> str:
    """The fabric that a name begins with; NotFound if there is none."""
    fabric = name.split("/", 1)[0]
    cubes_of(twin, fabric)
    return fabric
