"""Routes of operators' requests: each goes into the inbox, and is answered with what became of it."""

from typing import Annotated, Any, Unpack
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Query, Response

from schemas.api_requests import (
    CrossConnectsRequest,
    FabricRequest,
    FaultRequest,
    ParametersRequest,
    PlanRequest,
    RefusalReceipt,
    RequestReceipt,
    SliceRequest,
)
from schemas.asked import AskedBody
from schemas.bounds import COMMENT_MAX
from schemas.sequencer import FabricRetired
from services.gateway import requests, rewirings
from services.gateway.commission import commission_fabric
from services.gateway.http.caller import Asking
from services.gateway.http.common import Common
from services.gateway.http.json_body import JsonRoute
from services.gateway.http.responses import answer
from services.gateway.parameters import set_request
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.words import short

Key = Annotated[str | None, Header(alias="Idempotency-Key", description="the same key is the same request")]
Wait = Annotated[
    float,
    Query(
        ge=0,
        le=requests.WAIT_S_MAX,
        allow_inf_nan=False,
        description="seconds to wait until the request is on the log",
    ),
]
Comment = Annotated[
    str | None, Query(max_length=COMMENT_MAX, description="why, for whoever reads the log later")
]


def terms_of(caller: Asking, key: Key = None, comment: Comment = None, wait: Wait = 0.0) -> requests.Terms:
    """On what terms somebody asks. A replay's key is the gateway's own: InvalidInput."""
    text = _text(key)
    if text is not None and text.startswith(requests.REPLAYED):
        raise InvalidInput(
            f"Idempotency-Key {short(text)!r}: allowed are keys that do not begin with {requests.REPLAYED!r}"
        )
    return requests.Terms(text, caller.name, comment, wait)


OnTerms = Annotated[requests.Terms, Depends(terms_of)]
LOOK_THERE = {"Location": {"description": "what has come of it so far", "schema": {"type": "string"}}}
OUTCOMES: dict[int | str, dict[str, Any]] = {
    202: {
        "model": RequestReceipt,
        "description": "received, and not yet on the log, or what follows from it is not all known yet",
        "headers": LOOK_THERE,
    },
    409: {"model": RefusalReceipt, "description": "on the log, and refused there"},
}


def routes(twin: TwinPorts, **common: Unpack[Common]) -> APIRouter:
    """Fabrics commissioned and retired, their parameters changed, slices asked for and released, faults
    injected and cleared, cubes drained and taken into use again, link ends tested, cross-connects made and
    removed, topologies planned, approved and dropped."""
    common["responses"] = common.get("responses", {}) | OUTCOMES
    router = APIRouter(prefix="/v1", tags=["requests"], route_class=JsonRoute, **common)

    async def ask(request: tuple[str, AskedBody], terms: requests.Terms) -> Response:
        return received(await requests.submit(twin, *request, terms))

    @router.post("/fabrics", summary="Let a new fabric join a site", response_model=RequestReceipt)
    async def commission(asked: FabricRequest, terms: OnTerms) -> Response:
        return received(await commission_fabric(twin, asked, terms))

    @router.post("/fabrics/{name}/retire", summary="End a fabric for good", response_model=RequestReceipt)
    async def retire(name: str, terms: OnTerms) -> Response:
        return received(await requests.submit(twin, name, FabricRetired(), terms))

    @router.post(
        "/fabrics/{name}/parameters", summary="Change parameters of a fabric", response_model=RequestReceipt
    )
    async def set_parameters(name: str, asked: ParametersRequest, terms: OnTerms) -> Response:
        return await ask(set_request(twin, name, asked), terms)

    @router.post("/slices", summary="Ask for a slice", response_model=RequestReceipt)
    async def request_slice(asked: SliceRequest, terms: OnTerms) -> Response:
        return await ask(requests.slice_request(twin, asked), terms)

    @router.post("/slices/{name:path}/release", summary="Release a slice", response_model=RequestReceipt)
    async def release(name: str, terms: OnTerms) -> Response:
        return await ask(requests.release_request(twin, name), terms)

    @router.post("/faults", summary="Inject a fault", response_model=RequestReceipt)
    async def inject(asked: FaultRequest, terms: OnTerms) -> Response:
        return await ask(requests.fault_request(twin, asked), terms)

    @router.post("/faults/{name:path}/clear", summary="Clear a fault", response_model=RequestReceipt)
    async def clear(name: str, terms: OnTerms) -> Response:
        return await ask(requests.clear_request(twin, name), terms)

    @router.post("/cubes/{name:path}/drain", summary="Drain a cube", response_model=RequestReceipt)
    async def drain(name: str, terms: OnTerms) -> Response:
        return await ask(requests.drain_request(twin, name, drain=True), terms)

    @router.post(
        "/cubes/{name:path}/undrain",
        summary="Take a drained cube into use again",
        response_model=RequestReceipt,
    )
    async def undrain(name: str, terms: OnTerms) -> Response:
        return await ask(requests.drain_request(twin, name, drain=False), terms)

    @router.post(
        "/links/{name:path}/test",
        summary="Test a dark link end by its own light",
        response_model=RequestReceipt,
    )
    async def test_link(name: str, terms: OnTerms) -> Response:
        return await ask(requests.link_test_request(twin, name), terms)

    @router.post(
        "/ocs/{name:path}/restart", summary="Restart the software of an OCS", response_model=RequestReceipt
    )
    async def restart(name: str, terms: OnTerms) -> Response:
        return await ask(requests.restart_request(twin, name), terms)

    _add_cross_connects(router, twin)
    _add_rewirings(router, twin)
    return router


def _add_cross_connects(router: APIRouter, twin: TwinPorts) -> None:
    """What is asked of an OCS as a device."""

    async def ask(name: str, asked: CrossConnectsRequest, terms: requests.Terms, *, create: bool) -> Response:
        request = requests.cross_connect_request(twin, name, asked, create=create)
        return received(await requests.submit(twin, *request, terms))

    @router.post(
        "/ocs/{name:path}/cross-connects",
        summary="Make cross-connects of an OCS by hand",
        response_model=RequestReceipt,
    )
    async def connect(name: str, asked: CrossConnectsRequest, terms: OnTerms) -> Response:
        return await ask(name, asked, terms, create=True)

    @router.post(
        "/ocs/{name:path}/cross-connects/remove",
        summary="Take away cross-connects that were made by hand",
        response_model=RequestReceipt,
    )
    async def disconnect(name: str, asked: CrossConnectsRequest, terms: OnTerms) -> Response:
        return await ask(name, asked, terms, create=False)


def _add_rewirings(router: APIRouter, twin: TwinPorts) -> None:
    """What is asked of the topology of a network."""

    async def ask(request: tuple[str, AskedBody], terms: requests.Terms) -> Response:
        return received(await requests.submit(twin, *request, terms))

    @router.post(
        "/rewirings", summary="Look for better trunks of a network now", response_model=RequestReceipt
    )
    async def plan(asked: PlanRequest, terms: OnTerms) -> Response:
        return await ask(rewirings.plan_request(twin, asked.dcn), terms)

    @router.post(
        "/rewirings/{name:path}/approve",
        summary="Carry out a planned rewiring",
        response_model=RequestReceipt,
    )
    async def approve(name: str, terms: OnTerms) -> Response:
        return await ask(rewirings.approve_request(twin, name), terms)

    @router.post(
        "/rewirings/{name:path}/abort",
        summary="Drop a planned rewiring, or end one after its stage",
        response_model=RequestReceipt,
    )
    async def abort(name: str, terms: OnTerms) -> Response:
        return await ask(rewirings.abort_request(twin, name), terms)


def received(receipt: RequestReceipt) -> Response:
    """The answer to a request, as far as is known what became of it."""
    if receipt.status == "refused":
        return answer(receipt, 409)
    if receipt.complete:
        return answer(receipt)
    return answer(receipt, 202, {"Location": f"/v1/requests/{quote(receipt.id)}"})


def _text(header: str | None) -> str | None:
    """A header as its sender meant it: servers read headers as Latin-1, and most clients write UTF-8."""
    if header is None:
        return None
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header
