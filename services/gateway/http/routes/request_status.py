"""Routes of earlier requests: list the waiting ones, show one, and cancel one."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.api.requests import RequestReport
from services.gateway.http.responses import error_doc, json_response
from services.gateway.http.route_options import ResponseDocs, RouteOptions
from services.gateway.requests import request_status
from services.gateway.runtime_ports import TwinPorts

TOO_LATE_DOC = ResponseDocs({409: error_doc("the request is already on the log, or about to be appended")})


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of requests, by idempotency key or message id; either may contain a slash."""
    router = APIRouter(prefix="/v1/requests", tags=["requests"], **common)

    @router.get("", summary="The waiting requests", response_model=list[RequestReport])
    def waiting() -> Response:
        return json_response(request_status.waiting_requests(twin))

    @router.get("/{name:path}", summary="The status of a request", response_model=RequestReport)
    def report(name: str) -> Response:
        return json_response(request_status.request_report(twin, name))

    @router.delete(
        "/{name:path}",
        summary="Cancel a waiting request",
        response_model=RequestReport,
        responses=TOO_LATE_DOC,
    )
    def cancel(name: str) -> Response:
        return json_response(request_status.cancel_request(twin, name))

    return router
