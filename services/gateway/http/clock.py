"""Routes to the simulated clock: looked at, stopped, let go on, set to another speed."""

from fastapi import APIRouter, Response

from schemas.api import ClockReport
from schemas.api_requests import SpeedRequest
from services.gateway.http.json_body import JsonRoute
from services.gateway.http.responses import answer
from services.gateway.ports import TwinPorts


def routes(twin: TwinPorts) -> APIRouter:
    """Every one answers with the clock as it then is."""
    router = APIRouter(prefix="/v1/clock", tags=["clock"], route_class=JsonRoute)

    def shown() -> Response:
        state = twin.clock.show()
        report = ClockReport(
            now_us=state.now_us,
            speed=state.speed,
            paused=state.paused,
            achieved_speed=state.achieved_speed,
            lag_us=state.lag_us,
        )
        return answer(report)

    @router.get("", summary="The simulated clock", response_model=ClockReport)
    def show() -> Response:
        return shown()

    @router.post("/pause", summary="Let simulated time stand still", response_model=ClockReport)
    def pause() -> Response:
        twin.clock.pause()
        return shown()

    @router.post("/resume", summary="Let it go on", response_model=ClockReport)
    def resume() -> Response:
        twin.clock.resume()
        return shown()

    @router.put("/speed", summary="Simulated over wall time", response_model=ClockReport)
    def speed(asked: SpeedRequest) -> Response:
        twin.clock.set_speed(asked.speed)
        return shown()

    return router
