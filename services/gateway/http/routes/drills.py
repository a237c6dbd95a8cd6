"""Routes of drills: start, stop and journal, and the kill switch. Lists and rows are those of every kind."""

from typing import Unpack

from fastapi import APIRouter, Response
from pydantic_core import to_json

from schemas.api.chaos_journal import ChaosJournal
from schemas.api.drills import (
    DrillRequest,
    DrillStopRequest,
    SafetyReceipt,
    SafetyRequest,
    SafetyRow,
    ScheduleRequest,
)
from schemas.api.requests import RequestReceipt
from services.gateway.explain.chaos_journal import chaos_journal
from services.gateway.explain.drill_reader import read_drill
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import ResponseDocs, RouteOptions, StrictJsonRoute
from services.gateway.http.routes.requests import OUTCOMES, TermsParam, submit_request
from services.gateway.requests import drill_requests
from services.gateway.runtime_ports import TwinPorts


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of drills and of the kill switch."""
    router = _journal_routes(twin, **common)
    router.routes += _safety_routes(twin, **common).routes
    common["responses"] = common.get("responses", ResponseDocs({})).also(OUTCOMES)
    requests = APIRouter(prefix="/v1/drills", tags=["drills"], route_class=StrictJsonRoute, **common)

    @requests.post("", summary="Start a drill", response_model=RequestReceipt)
    async def run(requested: DrillRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, drill_requests.run_request(twin, requested), terms)

    @requests.post("/{name:path}/stop", summary="Stop a drill and undo it", response_model=RequestReceipt)
    async def stop(name: str, requested: DrillStopRequest, terms: TermsParam) -> Response:
        request = drill_requests.stop_request(twin, name, requested.reason)
        await drill_requests.end_process_orders(twin, name)
        return await submit_request(twin, request, terms)

    router.routes += requests.routes
    router.routes += _schedule_routes(twin, **common).routes
    return router


def _schedule_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    router = APIRouter(prefix="/v1/schedules", tags=["drills"], route_class=StrictJsonRoute, **common)

    @router.post("", summary="Run a drill again and again", response_model=RequestReceipt)
    async def schedule(requested: ScheduleRequest, terms: TermsParam) -> Response:
        return await submit_request(twin, drill_requests.schedule_request(twin, requested), terms)

    @router.post("/{name:path}/cancel", summary="End a schedule", response_model=RequestReceipt)
    async def unschedule(name: str, terms: TermsParam) -> Response:
        return await submit_request(twin, drill_requests.unschedule_request(twin, name), terms)

    return router


def _journal_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    router = APIRouter(prefix="/v1/drills", tags=["drills"], **common)

    @router.get(
        "/{name:path}/journal",
        summary="The journal of a drill, in the form of the Chaos Toolkit",
        response_model=ChaosJournal,
    )
    def journal(name: str) -> Response:
        return Response(to_json(chaos_journal(read_drill(twin, name))), media_type="application/json")

    return router


def _safety_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The kill switch: one request to each site."""
    router = APIRouter(prefix="/v1/safety", tags=["drills"], route_class=StrictJsonRoute, **common)

    @router.get("", summary="Which fabrics may start drills", response_model=list[SafetyRow])
    def show() -> Response:
        return json_response(drill_requests.safety_rows(twin))

    @router.post("", summary="Stop all drills, or let drills start again", response_model=list[SafetyReceipt])
    async def change(requested: SafetyRequest, terms: TermsParam) -> Response:
        """Status 200 if every site has done it, otherwise 202."""
        receipts = await drill_requests.submit_safety(twin, requested, terms)
        done = all(row.receipt.complete for row in receipts)
        return json_response(receipts, 200 if done else 202)

    return router
