"""The route to the twin itself: which one it is."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.api import TwinAbout
from services.gateway.http.common import Common
from services.gateway.http.responses import answer
from services.gateway.ports import TwinPorts


def routes(twin: TwinPorts, **common: Unpack[Common]) -> APIRouter:
    """What it runs on, of which version, and where it is kept."""
    router = APIRouter(prefix="/v1", tags=["twin"], **common)

    @router.get("/twin", summary="Which twin this is", response_model=TwinAbout)
    def about() -> Response:
        return answer(twin.about)

    return router
