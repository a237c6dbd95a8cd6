"""The route that describes the twin itself."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.api.rows import TwinInfo
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import TwinPorts


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The route with the twin's runtime, version and data folder."""
    router = APIRouter(prefix="/v1", tags=["twin"], **common)

    @router.get("/twin", summary="Which twin this is", response_model=TwinInfo)
    def about() -> Response:
        return json_response(twin.about)

    return router
