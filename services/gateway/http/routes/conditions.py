"""The route that tests a condition now. Commands that wait poll it."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.conditions import ConditionReport
from services.gateway.explain.present_condition import report_condition
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import TwinPorts


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The route of conditions."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/conditions",
        summary="Whether a condition is true, and whether it still can become true",
        response_model=ConditionReport,
    )
    def conditions(
        condition: Annotated[
            str, Query(description="as for bisect, such as slices.pod-0/slice-42.state == running")
        ],
        fabric: Annotated[str | None, Query(description="fabric of names without one, and of counts")] = None,
    ) -> Response:
        return json_response(report_condition(twin, condition, fabric))

    return router
