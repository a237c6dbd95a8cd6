"""What people look at: all things of a kind, one thing by its name, a light path."""

import re

from schemas.api import LightPath, LinkRow, RelatedT, RowT
from schemas.api_network import TrunkPath, TrunkRow
from schemas.kinds import DEMANDS, FABRICS, LINKS, TRUNKS, Kind, kind_of_name
from schemas.names import FABRIC_PATTERN
from services.gateway.fabrics import (
    commissioned,
    config_of,
    fabric_of,
    is_commissioned,
    living,
    meant,
    network_at,
    plant,
)
from services.gateway.kinds import VIEWS, KindView
from services.gateway.light_path import light_path
from services.gateway.not_found import missing, nobody
from services.gateway.ports import TwinPorts
from services.gateway.trunk_path import trunk_path


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
    if kind is not FABRICS and not looks_like_a_fabric(twin, fabric):
        first = _with_such(twin, kind)
        raise nobody(kind, name, first, plant(twin, first))
    config_of(twin, fabric)
    row = view.find(twin, fabric, name)
    if row is None:
        raise missing(twin, kind, name, fabric)
    return row


def _with_such(twin: TwinPorts, kind: Kind) -> str:
    """The fabric whose names are the example for a kind: the one that is meant where none is said, or the
    first that has such things at all."""
    first = meant(twin, None)
    part = kind.parts[0] if kind.parts else ("block" if kind in (TRUNKS, DEMANDS) else None)
    fabrics = [first, *commissioned(twin)]
    return next((f for f in fabrics if part is None or plant(twin, f).population(part)), first)


def looks_like_a_fabric(twin: TwinPorts, word: str) -> bool:
    """Whether somebody meant a fabric by this word, be there one of this name or not: fabrics are numbered
    behind words like `pod`."""
    words = {fabric.rpartition("-")[0] for fabric in twin.documents.fabrics()}
    return re.fullmatch(FABRIC_PATTERN, word) is not None and word.rpartition("-")[0] in words


def trace(twin: TwinPorts, name: str) -> LightPath | TrunkPath:
    """The light path from the link end of this name, or all circuits of the trunk; NotFound if there is
    none."""
    if kind_of_name(name) is TRUNKS or network_named(twin, name):
        trunk: TrunkRow = one(twin, VIEWS[TRUNKS.word], name)
        return trunk_path(twin, fabric_of(twin, name), trunk)
    row: LinkRow = one(twin, VIEWS[LINKS.word], name)
    return light_path(twin, fabric_of(twin, name), row)


def network_named(twin: TwinPorts, name: str) -> bool:
    """Whether a name begins with that of a network, where what can be traced are trunks."""
    fabric = name.partition("/")[0]
    return is_commissioned(twin, fabric) and network_at(twin, fabric) is not None
