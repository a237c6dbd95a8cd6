"""The route by which a log's file begins later: what lies before that is in its archive."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.files.log_archive import ArchiveRequest, ArchiveResult
from services.gateway.admin.dead_letters import ANONYMOUS
from services.gateway.http.access.caller import CurrentCaller
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions, StrictJsonRoute
from services.gateway.ports import TwinPorts
from shared.basics.errors import NotFound


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """An administrator's. Nothing that anybody reads changes."""
    router = APIRouter(prefix="/v1", tags=["twin"], route_class=StrictJsonRoute, **common)

    @router.post(
        "/archive",
        summary="Let a site's log file begin behind what its archive holds, as `lightwave archive` asks for",
        response_model=ArchiveResult,
    )
    def take(asked: ArchiveRequest, caller: CurrentCaller) -> Response:
        if twin.archive is None:
            raise NotFound("archive: this twin has no data folder; Kafka keeps all of its log")
        return json_response(twin.archive(asked.site, asked.offset, caller.name or ANONYMOUS))

    return router
