"""Routes of the trainee's desk: the brief, requests at the desk, and the debrief."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.api.drills import CulpritRequest, Debrief, DeskRow
from schemas.api.requests import RequestReceipt
from services.gateway.explain.debrief import debrief
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import ResponseDocs, RouteOptions, StrictJsonRoute
from services.gateway.http.routes.requests import OUTCOMES, TermsParam, submit_request
from services.gateway.requests import desk_requests
from services.gateway.runtime_ports import TwinPorts


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of the desk. A drill's debrief comes before its desk: a name may have slashes."""
    router = APIRouter(prefix="/v1/desk", tags=["desk"], **common)

    @router.get("", summary="The desks of drills with a game for a trainee", response_model=list[DeskRow])
    def desks() -> Response:
        return json_response(desk_requests.desks_of(twin))

    @router.get(
        "/{name:path}/debrief",
        summary="What the trainee did in a drill that has ended, and the truth",
        response_model=Debrief,
    )
    def report(name: str) -> Response:
        return json_response(debrief(twin, name))

    @router.get("/{name:path}", summary="The desk of a drill", response_model=DeskRow)
    def desk(name: str) -> Response:
        return json_response(desk_requests.find_desk(twin, name))

    router.routes += _request_routes(twin, **common).routes
    return router


def _request_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    common["responses"] = common.get("responses", ResponseDocs({})).also(OUTCOMES)
    router = APIRouter(prefix="/v1/desk", tags=["desk"], route_class=StrictJsonRoute, **common)

    @router.post("/{name:path}/acknowledge", summary="Acknowledge the alerts", response_model=RequestReceipt)
    async def acknowledge(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, desk_requests.acknowledge_request(twin, name), terms)

    @router.post("/{name:path}/culprit", summary="Name the broken part", response_model=RequestReceipt)
    async def culprit(name: str, requested: CulpritRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, desk_requests.culprit_request(twin, name, requested.culprit), terms)

    @router.post("/{name:path}/hint", summary="Take the next hint", response_model=RequestReceipt)
    async def hint(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, desk_requests.hint_request(twin, name), terms)

    return router
