"""Routes to the simulated clock: looked at, stopped, let go on, set to another speed, let run to a moment."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.api.requests import ClockRequest, RunRequest, SpeedRequest
from schemas.api.rows import ClockReport
from services.gateway.http.access.caller import Caller, CurrentCaller
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions, StrictJsonRoute
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_S
from shared.runtimes.simulated_clock import DEFAULT_OPERATOR, ClockChange


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """Every one answers with the clock as it then is."""
    router = APIRouter(prefix="/v1/clock", tags=["clock"], route_class=StrictJsonRoute, **common)

    def shown() -> Response:
        state = twin.clock.show()
        report = ClockReport(
            now_us=state.now_us,
            speed=state.speed,
            paused=state.paused,
            achieved_speed=state.achieved_speed,
            lag_us=state.lag_us,
            until_us=state.until_us,
        )
        return json_response(report)

    def change(asked: ClockChange, caller: Caller) -> Response:
        twin.clock.change(asked, caller.name or DEFAULT_OPERATOR)
        return shown()

    @router.get("", summary="The simulated clock", response_model=ClockReport)
    def show() -> Response:
        return shown()

    @router.put("", summary="Its speed and whether it is paused, as one change", response_model=ClockReport)
    def put(asked: ClockRequest, caller: CurrentCaller) -> Response:
        if asked.speed is None and asked.paused is None:
            raise InvalidInput("speed, paused: none is given; allowed: one of them or both")
        return change(ClockChange(speed=asked.speed, paused=asked.paused), caller)

    @router.post("/pause", summary="Let simulated time stand still", response_model=ClockReport)
    def pause(caller: CurrentCaller) -> Response:
        return change(ClockChange(paused=True), caller)

    @router.post("/resume", summary="Let it go on", response_model=ClockReport)
    def resume(caller: CurrentCaller) -> Response:
        return change(ClockChange(paused=False), caller)

    @router.put("/speed", summary="Simulated over wall time", response_model=ClockReport)
    def speed(asked: SpeedRequest, caller: CurrentCaller) -> Response:
        return change(ClockChange(speed=asked.speed), caller)

    @router.put("/run", summary="Let it run to a moment and stand still there", response_model=ClockReport)
    def run(asked: RunRequest, caller: CurrentCaller) -> Response:
        if (asked.until_us is None) == (asked.for_s is None):
            raise InvalidInput("until_us, for_s: one of them is needed, and not both")
        for_us = None if asked.for_s is None else round(asked.for_s * US_PER_S)
        return change(ClockChange(until_us=asked.until_us, for_us=for_us, run_speed=asked.speed), caller)

    return router
