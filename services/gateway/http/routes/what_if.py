"""Routes of questions about what is not done: what hangs on a part, what a fault, a drain or a repair would
touch."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.requests import DurationS, FaultRequest
from schemas.api.rows import ImpactReport
from schemas.api.whatif import LossReport, WhatIfReport
from schemas.names import FaultKind
from services.gateway.explain import what_if
from services.gateway.explain.impact import impact_of, loss_of
from services.gateway.fabrics import fabric_of
from services.gateway.http.concurrency_limit import ConcurrencyLimit
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.ports import TwinPorts
from services.gateway.requests.rewiring_requests import is_network

Cube = Annotated[str, Query(description="such as pod-0/cube-12")]
Within = Annotated[
    int,
    Query(ge=1, le=what_if.HORIZON_S_MAX, description="so many simulated seconds are looked ahead"),
]


def routes(twin: TwinPorts, limit: ConcurrencyLimit, **common: Unpack[RouteOptions]) -> APIRouter:
    """Nothing happens by asking."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/impact/{target:path}",
        summary="What hangs on a part of a pod, or what a network loses with one of its parts",
        response_model=ImpactReport | LossReport,
    )
    def impact(target: str) -> Response:
        if not is_network(twin, fabric_of(twin, target)):
            return json_response(impact_of(twin, target))
        with limit.slot():
            return json_response(loss_of(twin, target))

    @router.get(
        "/foresee/fault",
        summary="What a fault would touch, which is not injected",
        response_model=WhatIfReport,
    )
    def fault(
        kind: FaultKind,
        target: Annotated[str, Query(description="such as pod-0/ocs-17")],
        duration_s: Annotated[DurationS | None, Query()] = None,
        within_s: Within = what_if.HORIZON_S,
    ) -> Response:
        asked = FaultRequest(kind=kind, target=target, duration_s=duration_s)
        with limit.slot():
            return json_response(what_if.predict_fault(twin, asked, within_s))

    @router.get(
        "/foresee/drain",
        summary="What draining a cube would touch, which is not done",
        response_model=WhatIfReport,
    )
    def drain(
        target: Annotated[str, Query(description="such as pod-0/cube-12")],
        within_s: Within = what_if.HORIZON_S,
    ) -> Response:
        with limit.slot():
            return json_response(what_if.predict_drain(twin, target, within_s))

    @router.get(
        "/foresee/repair",
        summary="What comes back if all that is broken in a part is repaired now, which is not done",
        response_model=WhatIfReport,
    )
    def repair(
        target: Annotated[str, Query(description="such as pod-0/cube-12")],
        within_s: Within = what_if.HORIZON_S,
    ) -> Response:
        with limit.slot():
            return json_response(what_if.predict_repair(twin, target, within_s))

    return router
