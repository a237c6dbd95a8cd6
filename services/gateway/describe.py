"""One thing with what stands around it, and the last messages about it."""

from schemas.api import RelatedT, RowT
from schemas.api_descriptions import Description
from services.gateway import history, views
from services.gateway.fabrics import fabric_of
from services.gateway.kinds import KindView
from services.gateway.ports import TwinPorts
from services.gateway.selection import name_of
from services.gateway.telling import told

EVENTS_MAX = 20


def describe(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> Description[RowT, RelatedT]:
    """One thing by its name, what stands around it, and the last messages about it or something in it,
    however old; of a fabric, the last but Ticks."""
    row = views.one(twin, view, name)
    fabric = fabric_of(twin, name)
    related = view.around(twin, fabric, row)
    name = name_of(row)  # a trunk has two, of which the row has the one that messages are found under
    site, query = history.about_a_thing(twin, fabric, name)
    page = history.last(twin, site, query, EVENTS_MAX)
    return view.description(
        object=row,
        related=related,
        events=tuple(told(twin, message, name) for _, message in page.found),
        events_in_all=twin.log.count(site, query),
    )
