"""Routes about requests that were made before: what waits, what became of one, taking one back."""

from typing import Any, Unpack

from fastapi import APIRouter, Response

from schemas.api.requests import RequestReport
from services.gateway.http.responses import error_doc, json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.ports import TwinPorts
from services.gateway.requests import request_status

TOO_LATE_DOC: dict[int | str, dict[str, Any]] = {409: error_doc("on the log, or on its way there")}


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """By idempotency key or message id: either may hold a slash."""
    router = APIRouter(prefix="/v1/requests", tags=["requests"], **common)

    @router.get("", summary="The requests that wait", response_model=list[RequestReport])
    def waiting() -> Response:
        return json_response(request_status.waiting_requests(twin))

    @router.get("/{name:path}", summary="What became of a request", response_model=RequestReport)
    def report(name: str) -> Response:
        return json_response(request_status.request_report(twin, name))

    @router.delete(
        "/{name:path}",
        summary="Take back a request that waits",
        response_model=RequestReport,
        responses=TOO_LATE_DOC,
    )
    def cancel(name: str) -> Response:
        return json_response(request_status.cancel_request(twin, name))

    return router
