"""The route that lets a site's log file start later: earlier messages are in its archive."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.files.log_archive import ArchiveRequest, ArchiveResult
from services.gateway.admin.dead_letters import ANONYMOUS
from services.gateway.http.access.caller import CurrentCaller
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions, StrictJsonRoute
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import NotFound


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The archive route, for administrators. Readers of the log see no change."""
    router = APIRouter(prefix="/v1", tags=["twin"], route_class=StrictJsonRoute, **common)

    @router.post(
        "/archive",
        summary="Drop from a site's log file what its archive holds, as `lightwave archive` does",
        response_model=ArchiveResult,
    )
    def archive(request: ArchiveRequest, caller: CurrentCaller) -> Response:
        if twin.archive is None:
            raise NotFound("archive: this twin has no data folder; its log is stored in Kafka")
        return json_response(twin.archive(request.site, request.offset, caller.name or ANONYMOUS))

    return router
