"""The route by which a log's file begins later: what lies before that is in its archive."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.archive import ArchiveAsked, ArchiveTaken
from services.gateway.dead_letters import SOMEBODY
from services.gateway.http.caller import Asking
from services.gateway.http.common import Common
from services.gateway.http.json_body import JsonRoute
from services.gateway.http.responses import answer
from services.gateway.ports import TwinPorts
from shared.basics.errors import NotFound


def routes(twin: TwinPorts, **common: Unpack[Common]) -> APIRouter:
    """An administrator's. Nothing that anybody reads changes."""
    router = APIRouter(prefix="/v1", tags=["twin"], route_class=JsonRoute, **common)

    @router.post(
        "/archive",
        summary="Let a site's log file begin behind what its archive holds, as `lightwave archive` asks for",
        response_model=ArchiveTaken,
    )
    def take(asked: ArchiveAsked, caller: Asking) -> Response:
        if twin.archive is None:
            raise NotFound("archive: this twin has no data folder; Kafka keeps all of its log")
        return answer(twin.archive(asked.site, asked.offset, caller.name or SOMEBODY))

    return router
