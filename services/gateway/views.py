"""What people look at: all things of a kind, one thing by its name, a light path."""

import re

from schemas.api import LightPath, LinkRow, RelatedT, RowT
from schemas.kinds import FABRICS, LINKS
from schemas.names import FABRIC_PATTERN
from services.gateway.fabrics import commissioned, config_of, fabric_of, living, meant, plant
from services.gateway.kinds import VIEWS, KindView
from services.gateway.light_path import light_path
from services.gateway.not_found import missing, nobody
from services.gateway.ports import TwinPorts


def listing(twin: TwinPorts, view: KindView[RowT, RelatedT], fabric: str | None) -> list[RowT]:
    """Every thing of a kind, in one fabric or in all that live; NotFound if there is no such fabric. Those
    that have retired are among the fabrics; what stood in one is told to who names it."""
    if fabric is not None:
        config_of(twin, fabric)
        return list(view.listing(twin, fabric))
    fabrics = commissioned(twin) if view.kind is FABRICS else living(twin)
    return [row for name in fabrics for row in view.listing(twin, name)]


def one(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> RowT:
    """One thing by its name; NotFound if there is none."""
    fabric, kind = name.split("/", 1)[0], view.kind
    if kind is not FABRICS and not _looks_like_a_fabric(twin, fabric):
        first = meant(twin, None)
        raise nobody(kind, name, first, plant(twin, first))
    config_of(twin, fabric)
    row = view.find(twin, fabric, name)
    if row is None:
        raise missing(twin, kind, name, fabric)
    return row


def _looks_like_a_fabric(twin: TwinPorts, word: str) -> bool:
    """Whether somebody meant a fabric by this word, be there one of this name or not: fabrics are numbered
    behind words like `pod`."""
    words = {fabric.rpartition("-")[0] for fabric in twin.documents.fabrics()}
    return re.fullmatch(FABRIC_PATTERN, word) is not None and word.rpartition("-")[0] in words


def trace(twin: TwinPorts, name: str) -> LightPath:
    """The light path from the link end of this name; NotFound if there is none."""
    row: LinkRow = one(twin, VIEWS[LINKS.word], name)
    return light_path(twin, fabric_of(twin, name), row)
