"""The states of a site, for who works with a copy of them elsewhere."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Path, Response

from services.gateway.fabrics import sites
from services.gateway.http.responses import StatesFile, non_json_doc
from services.gateway.http.route_options import RouteOptions
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated

Site = Annotated[str, Path(description="such as pod-0, as `GET /v1/fabrics` has it")]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """Of now, or of the moment that is asked about."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/snapshots/{site}",
        summary="All that the services of a site hold, to be driven on elsewhere",
        response_class=Response,
        responses=non_json_doc(StatesFile, "a snapshot, compressed, under its digest"),
    )
    def snapshot(site: Site) -> Response:
        if twin.past is None:
            raise InvalidInput("snapshots: not allowed; this twin keeps none")
        known = sites(twin)
        if site not in known:
            raise NotFound(f"site {truncated(repr(site))}: no such site; there is {', '.join(known)}")
        return StatesFile(twin.past.site(site, twin.log.end(site)).snapshot())

    return router
