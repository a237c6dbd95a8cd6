"""What people look at: all things of a kind, one thing by its name, a light path."""

import re

from schemas.api import LightPath, LinkRow, RelatedT, RowT
from schemas.kinds import FABRICS, LINKS
from services.gateway.fabrics import cubes_of, fabric_of
from services.gateway.kinds import VIEWS, KindView
from services.gateway.light_path import light_path
from services.gateway.not_found import nobody
from services.gateway.ports import TwinPorts


def listing(twin: TwinPorts, view: KindView[RowT, RelatedT], fabric: str | None) -> list[RowT]:
    """Every thing of a kind, in one fabric or in all; NotFound if there is no such fabric."""
    if fabric is not None:
        cubes_of(twin, fabric)
    fabrics = [fabric] if fabric else twin.documents.fabrics()
    return [row for name in fabrics for row in view.listing(twin, name)]


def one(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> RowT:
    """One thing by its name; NotFound if there is none."""
    fabric, kind = name.split("/", 1)[0], view.kind
    if kind is not FABRICS and not re.fullmatch("pod-[0-9]+", fabric):
        first = next(iter(twin.documents.fabrics()), "pod-0")
        raise nobody(kind, name, first, cubes_of(twin, first))
    cubes = cubes_of(twin, fabric)
    row = view.find(twin, fabric, name)
    if row is None:
        raise nobody(kind, name, fabric, cubes)
    return row


def trace(twin: TwinPorts, name: str) -> LightPath:
    """The light path from the link end of this name; NotFound if there is none."""
    row: LinkRow = one(twin, VIEWS[LINKS.word], name)
    return light_path(twin, fabric_of(twin, name), row)
