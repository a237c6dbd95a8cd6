"""The route of snapshots: all states of a site, to run a copy of it elsewhere."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Path, Response

from services.gateway.fabrics import sites
from services.gateway.http.responses import StatesFile, non_json_doc
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated

Site = Annotated[str, Path(description="a site such as pod-0, as in `GET /v1/fabrics`")]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The snapshot route, for now or the requested time."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/snapshots/{site}",
        summary="All states of a site's services, to run a copy elsewhere",
        response_class=Response,
        responses=non_json_doc(StatesFile, "a compressed snapshot with its digest"),
    )
    def snapshot(site: Site) -> Response:
        if twin.past is None:
            raise InvalidInput("snapshots: must not be used; this twin keeps none")
        known = sites(twin)
        if site not in known:
            raise NotFound(f"site {truncated(repr(site))}: no such site; must be one of {', '.join(known)}")
        return StatesFile(twin.past.site(site, twin.log.end(site)).snapshot())

    return router
