"""Describes one resource with its related resources and last messages."""

from schemas.api.descriptions import Description
from schemas.api.rows import RelatedT, RowT
from services.gateway.fabrics import fabric_of
from services.gateway.log import history
from services.gateway.resources import lookup
from services.gateway.resources.selection import name_of
from services.gateway.runtime_ports import KindView, TwinPorts
from services.gateway.text.messages import log_message

EVENTS_MAX = 20


def describe(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> Description[RowT, RelatedT]:
    """One resource by name, its related resources, and the last messages about it or its parts, however old;
    for a fabric, the last messages without Ticks."""
    row = lookup.find_resource(twin, view, name)
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
