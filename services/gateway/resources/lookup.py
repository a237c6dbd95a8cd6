"""Look-up of resources: all of a kind, one by name, one with what is related to it, and light paths."""

from collections.abc import Sequence
from typing import Any

from schemas.api.descriptions import Description
from schemas.api.network_rows import TrunkPath, TrunkRow
from schemas.api.rows import LightPath, LinkRow, RelatedT, RowT
from schemas.body import Model
from schemas.name_parts import fabric_part
from schemas.resource_kinds import DEMANDS, FABRICS, TRUNKS, ResourceKind, kind_by_name_form
from services.gateway.fabrics import (
    commissioned_fabrics,
    config_of,
    example_fabric,
    fabric_of,
    fabric_plant,
    fabric_view,
    has_resource,
    is_commissioned,
    is_fabric_like,
    living_fabrics,
)
from services.gateway.log import history
from services.gateway.resources import kind_views
from services.gateway.resources.light_path import light_path
from services.gateway.resources.missing_object import missing_error
from services.gateway.resources.selection import name_of
from services.gateway.resources.trunk_path import trunk_path
from services.gateway.runtime_ports import KindView, TwinPorts
from services.gateway.text.messages import log_message
from services.gateway.text.not_found import no_such_name_error

EVENTS_MAX = 20
"""Maximum number of messages in a description."""


def list_resources(
    twin: TwinPorts, view: KindView[RowT, RelatedT], fabric: str | None, names: Sequence[str] | None = None
) -> list[RowT]:
    """All resources of a kind, in one fabric or in all that have not retired; raise NotFound if there is no
    such fabric. The list of fabrics includes retired ones; resources of a retired fabric are listed only if
    it is named. With `names` only those: if they are full names, no others are read."""
    if names is not None and fabric is None and len(names) == 1:
        (name,) = names
        if fabric_part(name) in living_fabrics(twin):
            row = view.find(twin, fabric_part(name), name)
            return [] if row is None else [row]
    if fabric is not None:
        config_of(twin, fabric)
        return list(view.listing(twin, fabric))
    fabrics = commissioned_fabrics(twin) if view.kind is FABRICS else living_fabrics(twin)
    return [row for name in fabrics for row in view.listing(twin, name)]


def empty_reason(twin: TwinPorts, kind: ResourceKind[Any], fabric: str | None) -> str | None:
    """Why there can be no resources of this kind in this fabric, or in any fabric that has not retired, as a
    clause; None if there can be some."""
    if kind is FABRICS:
        return None
    fabrics = living_fabrics(twin) if fabric is None else [fabric]
    if not fabrics:
        return "there are no fabrics"
    having = [name for name in fabrics if has_resource(twin, name, kind)]
    if not having:
        nouns = dict.fromkeys([f"{fabric_view(twin, name).noun}s" for name in fabrics])
        return f"{' and '.join(nouns)} have none"
    plants = [fabric_plant(twin, name) for name in having]
    if kind.parts and not any(plant.population(part) for plant in plants for part in kind.parts):
        return "this kind of fabric has none"
    return None


def find_resource(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> RowT:
    """One resource by name; raise NotFound if there is none."""
    fabric, kind = fabric_part(name), view.kind
    if kind is not FABRICS and not is_fabric_like(twin, fabric):
        first = _example_fabric(twin, kind)
        raise no_such_name_error(kind, name, first, fabric_plant(twin, first))
    config_of(twin, fabric)
    row = view.find(twin, fabric, name)
    if row is None:
        raise missing_error(twin, kind, name, fabric)
    return row


def _example_fabric(twin: TwinPorts, kind: ResourceKind[Any]) -> str:
    """The fabric for examples of names of a kind: the default fabric, or the first one that has such
    resources."""
    first = example_fabric(twin)
    part = kind.parts[0] if kind.parts else ("block" if kind in (TRUNKS, DEMANDS) else None)
    fabrics = [first, *commissioned_fabrics(twin)]
    return next((f for f in fabrics if part is None or fabric_plant(twin, f).population(part)), first)


def trace(twin: TwinPorts, name: str) -> Model:
    """The path of the light from the resource of this name, as its kind of fabric traces it: from a link end
    of a pod, or all circuits of a trunk. Raise NotFound if there is none."""
    fabric = fabric_part(name)
    if kind_by_name_form(name) is TRUNKS:
        return trace_trunk(twin, name)
    return (
        fabric_view(twin, fabric).trace(twin, name)
        if is_commissioned(twin, fabric)
        else trace_link(twin, name)
    )


def trace_link(twin: TwinPorts, name: str) -> LightPath:
    """The light path from the link end of this name."""
    row: LinkRow = find_resource(twin, kind_views.LINKS, name)
    return light_path(twin, fabric_of(twin, name), row)


def trace_trunk(twin: TwinPorts, name: str) -> TrunkPath:
    """All circuits of the trunk of this name."""
    row: TrunkRow = find_resource(twin, kind_views.TRUNKS, name)
    return trunk_path(twin, fabric_of(twin, name), row)


def describe(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> Description[RowT, RelatedT]:
    """One resource by name, its related resources, and the last messages about it or its parts, however old;
    for a fabric, the last messages without Ticks."""
    row = find_resource(twin, view, name)
    fabric = fabric_of(twin, name)
    related = view.related_to(twin, fabric, row)
    name = name_of(row)  # a trunk has two names; messages are found under the row's
    site, query = history.query_about(twin, fabric, name)
    page = history.last_page(twin, site, query, EVENTS_MAX)
    return view.description(
        object=row,
        related=related,
        events=tuple(log_message(twin, message, name) for _, message in page.found),
        events_in_all=twin.log.count(site, query),
    )
