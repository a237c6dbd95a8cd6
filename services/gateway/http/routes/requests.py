"""Routes of operators' requests: each request goes into the inbox and is answered with its receipt."""

from typing import Annotated, Unpack
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Query, Response

from schemas.api.requests import (
    CrossConnectsRequest,
    DrainRequest,
    FabricRequest,
    FaultRequest,
    ParametersRequest,
    PlanRequest,
    RefusalReceipt,
    RequestReceipt,
    RequestReport,
    SliceRequest,
)
from schemas.limits import COMMENT_MAX
from schemas.messages.sequencer import FabricRetired
from schemas.request_metadata import RequestBody
from services.gateway.admin.commission import commission_fabric
from services.gateway.http.access.caller import CurrentCaller, cancel_denial
from services.gateway.http.responses import error_doc, error_response, json_response
from services.gateway.http.route_options import ResponseDoc, ResponseDocs, RouteOptions, StrictJsonRoute
from services.gateway.requests import operator_requests, request_status, rewiring_requests
from services.gateway.resources.parameters import parameters_request
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

Key = Annotated[
    str | None, Header(alias="Idempotency-Key", description="requests with the same key are accepted once")
]
Wait = Annotated[
    float,
    Query(
        ge=0,
        le=operator_requests.WAIT_S_MAX,
        allow_inf_nan=False,
        description="seconds to wait until the request is on the log",
    ),
]
Comment = Annotated[str | None, Query(max_length=COMMENT_MAX, description="reason, recorded on the log")]


def request_terms(
    caller: CurrentCaller, key: Key = None, comment: Comment = None, wait: Wait = 0.0
) -> operator_requests.RequestTerms:
    """The terms of a request. Raise InvalidInput for a key that is reserved for replays."""
    text = _text(key)
    if text is not None and text.startswith(operator_requests.REPLAY_KEY_PREFIX):
        raise InvalidInput(
            f"Idempotency-Key {truncated(text)!r}: must not start with "
            f"{operator_requests.REPLAY_KEY_PREFIX!r}"
        )
    return operator_requests.RequestTerms(text, caller.name, comment, wait)


TOO_LATE_DOC = ResponseDocs({409: error_doc("the request is already on the log, or about to be appended")})
TermsParam = Annotated[operator_requests.RequestTerms, Depends(request_terms)]
OUTCOMES = ResponseDocs(
    {
        202: ResponseDoc(
            "received, but not yet on the log, or its outcome is not complete yet",
            model=RequestReceipt,
            headers={"Location": "URL of the request's status"},
        ),
        409: ResponseDoc("on the log, but refused by a service", model=RefusalReceipt),
    }
)


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of requests: fabrics, parameters, slices, faults, drains, link tests, OCSes and rewirings;
    and those of earlier requests."""
    status_options: RouteOptions = {**common}
    common["responses"] = common.get("responses", ResponseDocs({})).also(OUTCOMES)
    router = APIRouter(prefix="/v1", tags=["requests"], route_class=StrictJsonRoute, **common)

    @router.post("/fabrics", summary="Commission a new fabric in a site", response_model=RequestReceipt)
    async def commission(requested: FabricRequest, terms: TermsParam) -> Response:
        return receipt_response(await commission_fabric(twin, requested, terms))

    @router.post(
        "/fabrics/{name}/retire", summary="Retire a fabric permanently", response_model=RequestReceipt
    )
    async def retire(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, (name, FabricRetired()), terms)

    @router.post(
        "/fabrics/{name}/parameters", summary="Change parameters of a fabric", response_model=RequestReceipt
    )
    async def set_parameters(name: str, requested: ParametersRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, parameters_request(twin, name, requested), terms)

    @router.post("/slices", summary="Request a slice", response_model=RequestReceipt)
    async def request_slice(requested: SliceRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.slice_request(twin, requested), terms)

    @router.post("/slices/{name:path}/release", summary="Release a slice", response_model=RequestReceipt)
    async def release(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.release_request(twin, name), terms)

    @router.post("/faults", summary="Inject a fault", response_model=RequestReceipt)
    async def inject(requested: FaultRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.fault_request(twin, requested), terms)

    @router.post("/faults/{name:path}/clear", summary="Clear a fault", response_model=RequestReceipt)
    async def clear(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.clear_request(twin, name), terms)

    @router.post(
        "/cubes/{name:path}/drain",
        summary="Drain a cube, now or at a planned time",
        response_model=RequestReceipt,
    )
    async def drain(name: str, terms: TermsParam, requested: DrainRequest | None = None) -> Response:
        """Without a body, at once and until the cube is undrained."""
        return await submit_request(twin, operator_requests.drain_request(twin, name, requested), terms)

    @router.post(
        "/cubes/{name:path}/undrain",
        summary="Undrain a cube, or cancel its planned drain",
        response_model=RequestReceipt,
    )
    async def undrain(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.undrain_request(twin, name), terms)

    @router.post(
        "/links/{name:path}/test",
        summary="Test a dark link end by its own light",
        response_model=RequestReceipt,
    )
    async def test_link(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.link_test_request(twin, name), terms)

    @router.post(
        "/ocs/{name:path}/restart", summary="Restart the software of an OCS", response_model=RequestReceipt
    )
    async def restart(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, operator_requests.restart_request(twin, name), terms)

    _add_cross_connects(router, twin)
    _add_rewirings(router, twin)
    router.routes += _status_routes(twin, **status_options).routes
    return router


def _status_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of requests, by idempotency key or message id; either may contain a slash."""
    router = APIRouter(prefix="/v1/requests", tags=["requests"], **common)

    @router.get("", summary="The pending requests", response_model=list[RequestReport])
    def waiting() -> Response:
        return json_response(request_status.waiting_requests(twin))

    @router.get("/{name:path}", summary="The status of a request", response_model=RequestReport)
    def report(name: str) -> Response:
        return json_response(request_status.request_report(twin, name))

    @router.delete(
        "/{name:path}",
        summary="Cancel a pending request",
        response_model=RequestReport,
        responses=TOO_LATE_DOC,
    )
    def cancel(name: str, caller: CurrentCaller) -> Response:
        asked_by = request_status.request_report(twin, name).asked_by
        if (why := cancel_denial(caller, asked_by)) is not None:
            return error_response(f"request {truncated(repr(name))}: {why}", 403)
        return json_response(request_status.cancel_request(twin, name))

    return router


def _add_cross_connects(router: APIRouter, twin: TwinPorts) -> None:
    """Add the routes for cross-connects of an OCS."""

    async def submit_cross_connects(
        name: str, requested: CrossConnectsRequest, terms: operator_requests.RequestTerms, *, create: bool
    ) -> Response:
        request = operator_requests.cross_connect_request(twin, name, requested, create=create)
        return await submit_request(twin, request, terms)

    @router.post(
        "/ocs/{name:path}/cross-connects",
        summary="Make manual cross-connects of an OCS",
        response_model=RequestReceipt,
    )
    async def connect(name: str, requested: CrossConnectsRequest, terms: TermsParam) -> Response:
        return await submit_cross_connects(name, requested, terms, create=True)

    @router.post(
        "/ocs/{name:path}/cross-connects/remove",
        summary="Remove manual cross-connects of an OCS",
        response_model=RequestReceipt,
    )
    async def disconnect(name: str, requested: CrossConnectsRequest, terms: TermsParam) -> Response:
        return await submit_cross_connects(name, requested, terms, create=False)


def _add_rewirings(router: APIRouter, twin: TwinPorts) -> None:
    """Add the routes for the topology of a network."""

    @router.post(
        "/rewirings", summary="Plan a better topology of a network now", response_model=RequestReceipt
    )
    async def plan(requested: PlanRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, rewiring_requests.rewiring_plan_request(twin, requested.dcn), terms)

    @router.post(
        "/rewirings/{name:path}/approve",
        summary="Carry out a planned rewiring",
        response_model=RequestReceipt,
    )
    async def approve(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, rewiring_requests.approve_request(twin, name), terms)

    @router.post(
        "/rewirings/{name:path}/abort",
        summary="Drop a planned rewiring, or abort one after its current stage",
        response_model=RequestReceipt,
    )
    async def abort(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, rewiring_requests.abort_request(twin, name), terms)


async def submit_request(
    twin: TwinPorts, request: tuple[str, RequestBody], terms: operator_requests.RequestTerms
) -> Response:
    """Submit a request, given as (fabric, request body), and return the response with its receipt."""
    return receipt_response(await operator_requests.submit(twin, *request, terms))


def receipt_response(receipt: RequestReceipt) -> Response:
    """The response to a request, by its status so far."""
    if receipt.status == "refused":
        return json_response(receipt, 409)
    if receipt.complete:
        return json_response(receipt)
    return json_response(receipt, 202, {"Location": f"/v1/requests/{quote(receipt.id)}"})


def _text(header: str | None) -> str | None:
    """A header as its sender meant it: servers decode headers as Latin-1, but most clients send UTF-8."""
    if header is None:
        return None
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header
