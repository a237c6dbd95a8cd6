"""The route of goodput reports."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.goodput_report import GoodputReport, GroupBy
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.metrics.goodput_report import SPANS_MAX, goodput_report
from services.gateway.runtime_ports import TwinPorts
from shared.basics.time_grammar import POINTS_ALLOWED

Fabric = Annotated[
    str | None,
    Query(
        description="the fabric; default the first pod or, if that has retired, the only one that lives; "
        "by pod, all of them"
    ),
]
Since = Annotated[
    str | None,
    Query(
        description=f"start, rounded down to the hour, by owner and slice to the day: {POINTS_ALLOWED}; "
        "default the start of the twin"
    ),
]
Spans = Annotated[
    int,
    Query(
        ge=0,
        le=SPANS_MAX,
        description="also divide the report of one fabric into at most this many spans of whole hours",
    ),
]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The goodput route."""
    router = APIRouter(prefix="/v1", tags=["goodput"], **common)

    @router.get(
        "/goodput",
        summary="Where chip-time went; every chip-microsecond is counted once",
        response_model=GoodputReport,
    )
    def report(by: GroupBy = "pod", fabric: Fabric = None, since: Since = None, spans: Spans = 0) -> Response:
        return json_response(goodput_report(twin, by, fabric, since, spans))

    return router
