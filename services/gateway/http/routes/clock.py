"""Routes of the simulated clock: show, pause, resume, set the speed, and run to a time."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.api.requests import ClockRequest, RunRequest, SpeedRequest
from schemas.api.rows import ClockReport
from services.gateway.http.access.caller import Caller, CurrentCaller
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions, StrictJsonRoute
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S
from shared.runtimes.simulated_clock import ANONYMOUS, ClockChange, Epoch


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The clock routes. Each answers with the new state of the clock."""
    router = APIRouter(prefix="/v1/clock", tags=["clock"], route_class=StrictJsonRoute, **common)

    def report_response(set_to: Epoch | None = None) -> Response:
        """The clock now. Right after a change, the time to run to is that of this change, even if the clock
        has reached it or another client has changed the clock."""
        state = twin.clock.show()
        report = ClockReport(
            now_us=state.now_us,
            speed=state.speed,
            paused=state.paused,
            achieved_speed=state.achieved_speed,
            lag_us=state.lag_us,
            until_us=state.until_us,
            run_until_us=state.run_until_us if set_to is None else set_to.until_us,
        )
        return json_response(report)

    def change(request: ClockChange, caller: Caller) -> Response:
        return report_response(twin.clock.change(request, caller.name or ANONYMOUS))

    @router.get("", summary="The simulated clock", response_model=ClockReport)
    def show() -> Response:
        return report_response()

    @router.put("", summary="Set the clock's speed and pause in one change", response_model=ClockReport)
    def put(request: ClockRequest, caller: CurrentCaller) -> Response:
        if request.speed is None and request.paused is None:
            raise InvalidInput("speed, paused: must be given, one of them or both")
        return change(ClockChange(speed=request.speed, paused=request.paused), caller)

    @router.post("/pause", summary="Pause simulated time", response_model=ClockReport)
    def pause(caller: CurrentCaller) -> Response:
        return change(ClockChange(paused=True), caller)

    @router.post("/resume", summary="Resume simulated time", response_model=ClockReport)
    def resume(caller: CurrentCaller) -> Response:
        return change(ClockChange(paused=False), caller)

    @router.put("/speed", summary="Set simulated over wall time", response_model=ClockReport)
    def speed(request: SpeedRequest, caller: CurrentCaller) -> Response:
        return change(ClockChange(speed=request.speed), caller)

    @router.put("/run", summary="Run to a time and pause there", response_model=ClockReport)
    def run(request: RunRequest, caller: CurrentCaller) -> Response:
        if (request.until_us is None) == (request.for_s is None):
            raise InvalidInput("until_us, for_s: must be given, exactly one of them")
        for_us = None if request.for_s is None else round(request.for_s * US_PER_S)
        return change(ClockChange(until_us=request.until_us, for_us=for_us, run_speed=request.speed), caller)

    return router
