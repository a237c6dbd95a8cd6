"""Routes of forecasts: start one, follow its progress, read its result, cancel it."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Body, Header, Path, Response
from fastapi.openapi.models import Example

from schemas.api.forecast import (
    EXAMPLE,
    ForecastReport,
    ForecastRequest,
    ForecastSummary,
    InevitabilityRequest,
)
from services.gateway.explain.forecasts import forecasts_of, start_forecast
from services.gateway.explain.inevitability import start_inevitability
from services.gateway.http.access.caller import CurrentCaller, removal_denial
from services.gateway.http.responses import error_response, json_response
from services.gateway.http.route_options import ResponseDoc, ResponseDocs, RouteOptions, StrictJsonRoute
from services.gateway.runtime_ports import TwinPorts

Key = Annotated[
    str | None, Header(alias="Idempotency-Key", description="forecasts with the same key start once")
]
Name = Annotated[str, Path(description="such as forecast-3f9a1c0b7d42, from `POST /v1/forecasts`")]
EXAMPLES: dict[str, Example] = {
    "drain": {"summary": "drain a cube in three hours", "value": EXAMPLE},
    "fault": {
        "summary": "an OCS fails for six hours while a slice is requested",
        "value": {
            "days": 1,
            "changes": [
                {
                    "change": "inject",
                    "kind": "ocs",
                    "target": "pod-0/ocs-17",
                    "duration_s": 21_600,
                    "after_s": 3_600,
                },
                {"change": "request", "shape": "4x4x8", "duration_s": 43_200, "tier": "research"},
            ],
        },
    },
    "parameters": {
        "summary": "more technicians",
        "value": {
            "days": 30,
            "futures": 40,
            "changes": [{"change": "set", "parameters": {"repairs.technicians": 4}}],
        },
    },
    "own": {"summary": "the twin's own future, event by event", "value": {"days": 2, "own_draws": True}},
}
STARTED = ResponseDocs({202: ResponseDoc("queued", headers={"Location": "URL of the forecast"})})


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of forecasts. A forecast changes nothing in the twin."""
    router = APIRouter(prefix="/v1", tags=["questions"], route_class=StrictJsonRoute, **common)

    @router.post(
        "/forecasts",
        summary="Forecast the effect of changes over many random futures, in the background",
        status_code=202,
        response_model=ForecastReport,
        responses=STARTED,
    )
    def start(
        requested: Annotated[ForecastRequest, Body(openapi_examples=EXAMPLES)],
        caller: CurrentCaller,
        key: Key = None,
    ) -> Response:
        report = start_forecast(twin, requested, caller.name, key)
        return json_response(report, 202, {"Location": f"/v1/forecasts/{report.id}"})

    @router.post(
        "/forecasts/inevitable",
        summary="Find out from when on a past event was likely, over many random futures, in the background",
        status_code=202,
        response_model=ForecastReport,
        responses=STARTED,
    )
    def start_search(requested: InevitabilityRequest, caller: CurrentCaller, key: Key = None) -> Response:
        report = start_inevitability(twin, requested, caller.name, key)
        return json_response(report, 202, {"Location": f"/v1/forecasts/{report.id}"})

    @router.get(
        "/forecasts",
        summary="The forecasts that are kept, oldest first",
        response_model=list[ForecastSummary],
    )
    def forecasts() -> Response:
        return json_response(forecasts_of(twin).list())

    @router.get(
        "/forecasts/{name}",
        summary="A forecast: its progress, and its result once it is done",
        response_model=ForecastReport,
    )
    def forecast(name: Name) -> Response:
        return json_response(forecasts_of(twin).report(name))

    @router.delete(
        "/forecasts/{name}",
        summary="Cancel a forecast that has not finished, or delete one that has",
        response_model=ForecastReport,
    )
    def remove(name: Name, caller: CurrentCaller) -> Response:
        forecasts = forecasts_of(twin)
        if (why := removal_denial(caller, forecasts.report(name).requested_by)) is not None:
            return error_response(f"forecast {name}: {why}", 403)
        return json_response(forecasts.remove(name))

    return router
