"""One thing with what stands around it, and the last messages about it."""

from schemas.api import Description, RelatedT, RowT
from services.gateway import history, views
from services.gateway.fabrics import fabric_of
from services.gateway.history import Asked
from services.gateway.kinds import KindView
from services.gateway.ports import TwinPorts
from services.gateway.telling import told

EVENTS_MAX = 20


def describe(twin: TwinPorts, view: KindView[RowT, RelatedT], name: str) -> Description[RowT, RelatedT]:
    """One thing by its name, what stands around it, and the last messages about it or something in it,
    however old; of a fabric, the last but Ticks."""
    row = views.one(twin, view, name)
    fabric = fabric_of(twin, name)
    related = view.around(twin, fabric, row)
    site, query = history.query_of(twin, Asked(fabric, name=name, ticks=False))
    page = history.last(twin, site, query, EVENTS_MAX)
    return view.description(
        object=row,
        related=related,
        events=tuple(told(twin, message, name) for _, message in page.found),
        events_in_all=twin.log.count(site, query),
    )
