"""Routes about requests that were made before: what waits, what became of one, taking one back."""

from typing import Any, Unpack

from fastapi import APIRouter, Response

from schemas.api_requests import RequestReport
from services.gateway import request_status
from services.gateway.http.common import Common
from services.gateway.http.responses import answer, error
from services.gateway.ports import TwinPorts

TOO_LATE: dict[int | str, dict[str, Any]] = {409: error("on the log, or on its way there")}


def routes(twin: TwinPorts, **common: Unpack[Common]) -> APIRouter:
    """By idempotency key or message id: either may hold a slash."""
    router = APIRouter(prefix="/v1/requests", tags=["requests"], **common)

    @router.get("", summary="The requests that wait", response_model=list[RequestReport])
    def waiting() -> Response:
        return answer(request_status.waiting_requests(twin))

    @router.get("/{name:path}", summary="What became of a request", response_model=RequestReport)
    def report(name: str) -> Response:
        return answer(request_status.request_report(twin, name))

    @router.delete(
        "/{name:path}",
        summary="Take back a request that waits",
        response_model=RequestReport,
        responses=TOO_LATE,
    )
    def cancel(name: str) -> Response:
        return answer(request_status.cancel_request(twin, name))

    return router
