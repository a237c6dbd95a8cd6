"""Routes of what-if queries: the impact of a part, and the effect of a fault, a drain or a repair."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.changes import Change, DrainChange, InjectChange, RepairChange
from schemas.api.requests import DurationS
from schemas.api.rows import ImpactReport
from schemas.api.whatif import LossReport, WhatIfReport
from schemas.names import FaultKind
from services.gateway.explain import what_if
from services.gateway.fabrics import fabric_of, fabric_view
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import TwinPorts

Within = Annotated[
    int,
    Query(ge=1, le=what_if.HORIZON_S_MAX, description="simulated seconds to look ahead"),
]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of what-if queries. They change nothing."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    def predict(change: Change, within_s: int) -> Response:
        return json_response(what_if.predict(twin, change, within_s))

    @router.get(
        "/impact/{target:path}",
        summary="What depends on a part of a pod, or what a network loses if a part fails",
        response_model=ImpactReport | LossReport,
    )
    def impact(target: str) -> Response:
        view = fabric_view(twin, fabric_of(twin, target))
        return json_response(view.impact(twin, target))

    @router.get(
        "/what-if/inject",
        summary="The effect of a fault; nothing is injected",
        response_model=WhatIfReport,
    )
    def inject(
        kind: FaultKind,
        target: Annotated[str, Query(description="such as pod-0/ocs-17")],
        duration_s: Annotated[DurationS | None, Query()] = None,
        within_s: Within = what_if.HORIZON_S,
    ) -> Response:
        return predict(
            InjectChange(change="inject", kind=kind, target=target, duration_s=duration_s), within_s
        )

    @router.get(
        "/what-if/drain",
        summary="The effect of draining a cube; nothing is drained",
        response_model=WhatIfReport,
    )
    def drain(
        target: Annotated[str, Query(description="such as pod-0/cube-12")],
        within_s: Within = what_if.HORIZON_S,
    ) -> Response:
        return predict(DrainChange(change="drain", target=target), within_s)

    @router.get(
        "/what-if/repair",
        summary="The effect of repairing all faults of a part now; nothing is repaired",
        response_model=WhatIfReport,
    )
    def repair(
        target: Annotated[str, Query(description="such as pod-0/cube-12")],
        within_s: Within = what_if.HORIZON_S,
    ) -> Response:
        return predict(RepairChange(change="repair", target=target), within_s)

    return router
