"""Routes that explain slices and plan requests."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.requests import DurationS, SliceRequest
from schemas.names import Tier
from schemas.request_terms import Priority
from services.gateway.explain import slice_answers
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import TwinPorts


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of explanations and plans. They change nothing."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/explain/slices/{name:path}",
        summary="Why a slice waits, was refused, moved, or recovers",
        response_model=SliceExplanation,
    )
    def slice_explained(name: str) -> Response:
        return json_response(slice_answers.explain_slice(twin, name))

    @router.get(
        "/explain/requests/{name:path}",
        summary="Why the slice of a request waits, was refused, moved, or recovers",
        response_model=SliceExplanation,
    )
    def request_explained(name: str) -> Response:
        return json_response(slice_answers.explain_request(twin, name))

    @router.get(
        "/plan/slices",
        summary="What the scheduler would do with a request for a slice; nothing is requested",
        response_model=SlicePlan,
    )
    def plan(
        shape: Annotated[str, Query(description="in chips, such as 4x4x8")],
        twisted: bool = False,
        owner: str = "operator",
        tier: Tier = "production",
        priority: Annotated[Priority, Query()] = 0,
        duration_s: Annotated[DurationS | None, Query()] = None,
        recovery: str | None = None,
        fabric: str | None = None,
    ) -> Response:
        request = SliceRequest(
            fabric=fabric,
            shape=shape,
            twisted=twisted,
            owner=owner,
            tier=tier,
            priority=priority,
            duration_s=duration_s,
            recovery=recovery,
        )
        return json_response(slice_answers.plan_slice(twin, request))

    return router
