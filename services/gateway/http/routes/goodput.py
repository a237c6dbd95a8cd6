"""The route to goodput: where chip-time went."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.goodput_report import GoodputReport, GroupBy
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.metrics.goodput_report import SPANS_MAX, goodput_report
from services.gateway.ports import TwinPorts

Fabric = Annotated[
    str | None,
    Query(description="of this fabric; without one pod-0, or the first where there is none; by pod, of all"),
]
Since = Annotated[
    str | None,
    Query(
        description="from the full hour before this, by owner and slice from the full day: simulated "
        "time back from now, 30s, 15m, 2h, 1d12h, or a moment like 3d02:15:04; without it since the beginning"
    ),
]
Spans = Annotated[
    int,
    Query(ge=0, le=SPANS_MAX, description="so many spans of whole hours as well, or fewer; of one fabric"),
]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """Every chip-microsecond in one place."""
    router = APIRouter(prefix="/v1", tags=["goodput"], **common)

    @router.get(
        "/goodput", summary="Where chip-time went, every chip-microsecond once", response_model=GoodputReport
    )
    def report(by: GroupBy = "pod", fabric: Fabric = None, since: Since = None, spans: Spans = 0) -> Response:
        return json_response(goodput_report(twin, by, fabric, since, spans))

    return router
