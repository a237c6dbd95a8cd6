"""The HTTP API: which path meets which view or request."""

from typing import Annotated, Literal

import anyio
from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from sse_starlette import EventSourceResponse

from schemas.body import Body, Model
from schemas.envelope import Envelope
from schemas.registry import encode
from services.gateway import history, requests, views
from services.gateway.describe import describe
from services.gateway.http import metrics, responses, stream
from services.gateway.http.access import HeadAsGet, TokenGuard
from services.gateway.http.responses import answer, refused
from services.gateway.ports import TwinPorts
from services.gateway.requests import FaultRequest, SliceRequest, submit
from shared.basics.errors import InvalidInput

Kind = Literal["fabrics", "ocs", "cubes", "hosts", "links", "slices", "faults", "repairs"]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="the same key is the same request")]
Wait = Annotated[float, Query(description="seconds to wait until the request is on the log, at most 30")]
Limit = Annotated[int | None, Query(ge=1, le=history.EVENTS_MAX, description="messages at most")]
Since = Annotated[str | None, Query(description="simulated time back from now: 30s, 15m, 2h, 1d12h")]
Type = Annotated[str | None, Query(description="only this message type")]


class Speed(Model):
    """Simulated over wall time."""

    speed: float


def create_app(twin: TwinPorts, *, token: str | None) -> FastAPI:
    """The gateway over a living twin; with a token, /v1 and /metrics demand it."""
    app = FastAPI(
        title="Lightwave Twin", version="1", description="A living twin of optically switched superpods."
    )
    responses.install(app)
    # The last one added stands outermost: what the guard turns away is counted, too.
    app.add_middleware(HeadAsGet)
    app.add_middleware(TokenGuard, token=token)
    metrics.install(app, twin)
    for router in (_things(twin), _history(twin), _requests(twin), _clock(twin)):
        app.include_router(router, dependencies=[Depends(check_query)])

    @app.get("/healthz", summary="200 while all is well, otherwise 503 with the reasons", tags=["twin"])
    def healthz() -> Response:
        problems = twin.health()
        return answer({"healthy": not problems, "problems": problems}, 503 if problems else 200)

    return app


def check_query(request: Request) -> None:
    """InvalidInput for a query parameter that the route does not know: a slip would else change nothing and
    say nothing."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known:
            allowed = f"allowed are {', '.join(known)}" if known else "none is allowed here"
            raise InvalidInput(f"query {name[:80]!r}: no such parameter; {allowed}")


def _things(twin: TwinPorts) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["things"])

    @router.get("/trace/{end:path}", summary="The whole light path from a link end")
    def trace(end: str) -> Response:
        return answer(views.trace(twin, end))

    @router.get("/describe/{kind}/{name:path}", summary="One thing with what stands around it")
    def described(kind: Kind, name: str) -> Response:
        return answer(describe(twin, kind, name))

    @router.get("/telemetry/{fabric}", summary="The newest telemetry frame, an Arrow IPC stream")
    def telemetry(fabric: str) -> Response:
        views.cubes_of(twin, fabric)
        frame = twin.telemetry(fabric)
        if frame is None:
            return refused(f"{fabric}: no telemetry frame yet", 404)
        return Response(frame, media_type="application/vnd.apache.arrow.stream")

    @router.get("/config/{fabric}", summary="The configuration that a fabric was commissioned with")
    def config(fabric: str) -> Response:
        views.cubes_of(twin, fabric)
        return answer(twin.config(fabric).model_dump(mode="json", exclude={"trace"}))

    kinds: tuple[Kind, ...] = ("fabrics", "ocs", "cubes", "hosts", "links", "slices", "faults", "repairs")
    for kind in kinds:
        _add_kind(router, twin, kind)
    return router


def _add_kind(router: APIRouter, twin: TwinPorts, kind: Kind) -> None:
    @router.get(f"/{kind}/", include_in_schema=False)
    @router.get(f"/{kind}", summary=f"All {kind}", name=f"list_{kind}")
    def listing(fabric: str | None = None) -> Response:
        if fabric is not None:
            views.cubes_of(twin, fabric)
        fabrics = [fabric] if fabric else twin.documents.fabrics()
        return answer([row for name in fabrics for row in views.listing(twin, kind, name)])

    @router.get(f"/{kind}/{{name:path}}", summary=f"One of the {kind}", name=f"get_{kind}")
    def one(name: str) -> Response:
        return answer(views.one(twin, kind, name))


def _history(twin: TwinPorts) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["log"])

    def start_us_of(since: str | None, since_us: int | None) -> int | None:
        if since is None:
            return since_us
        if since_us is not None:
            raise InvalidInput(f"since {since!r}, since_us {since_us}: only one of them is allowed")
        return history.since_us(twin, since)

    def dumped(messages: list[Envelope]) -> Response:
        # As they stand on the log: making dicts of ten thousand first takes longer than reading them.
        rows = b",".join([encode(message) for message in messages])
        return Response(b"[%b]" % rows, media_type="application/json")

    @router.get("/events", summary="Messages of the log, oldest first")
    def events(
        fabric: str = "pod-0",
        since: Since = None,
        since_us: Annotated[int | None, Query(ge=0, le=2**63 - 1)] = None,
        type: Type = None,  # noqa: A002 -- the word that people type
        cause: Annotated[str | None, Query(description="only what followed from this message")] = None,
        limit: Limit = None,
    ) -> Response:
        """With a moment, the first messages from there on; without one, the last before now. With a cause,
        the first that followed from it, whatever its fabric."""
        views.cubes_of(twin, fabric)
        start_us = start_us_of(since, since_us)
        if cause is not None:
            most = limit or history.CAUSE_DEFAULT
            found = history.consequences(twin, cause, start_us=start_us or 0, kind=type, limit=most)
            return dumped(found)
        start = None if start_us is None else twin.log.position_at(fabric, start_us)
        most = limit or (history.EVENTS_DEFAULT if start is None else history.EVENTS_MAX)
        return dumped(history.events(twin, fabric, start=start, kind=type, limit=most))

    @router.get("/events/stream", summary="Messages as they come, as server-sent events")
    def follow(
        fabric: str = "pod-0",
        since: Since = None,
        type: Type = None,  # noqa: A002 -- the word that people type
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        views.cubes_of(twin, fabric)
        history.check_type(type)
        end = twin.log.end(fabric)
        place = stream.resume_at(last_event_id, fabric, end)
        if place is None:
            place = end if since is None else twin.log.position_at(fabric, history.since_us(twin, since))
        ended = anyio.Event()
        return EventSourceResponse(
            stream.events(twin, fabric, place, type, ended),
            shutdown_event=ended,
            shutdown_grace_period=stream.STREAM_END_S,
        )

    @router.get("/why/{message_id:path}", summary="The chain of causes back to the root")
    def why(message_id: str) -> Response:
        return dumped(history.why(twin, message_id))

    return router


def _requests(twin: TwinPorts) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["requests"])

    async def ask(request: tuple[str, Body], key: str | None, wait: float) -> Response:
        said = await submit(twin, *request, key, wait)
        return answer(said, 200 if said["status"] == "accepted" else 202)

    @router.post("/slices", summary="Ask for a slice")
    async def request_slice(asked: SliceRequest, key: Key = None, wait: Wait = 0.0) -> Response:
        return await ask(requests.slice_request(twin, asked), key, wait)

    @router.post("/slices/{name:path}/release", summary="Release a slice")
    async def release(name: str, key: Key = None, wait: Wait = 0.0) -> Response:
        return await ask(requests.release_request(twin, name), key, wait)

    @router.post("/faults", summary="Inject a fault")
    async def inject(asked: FaultRequest, key: Key = None, wait: Wait = 0.0) -> Response:
        return await ask(requests.fault_request(twin, asked), key, wait)

    @router.post("/faults/{name:path}/clear", summary="Clear a fault")
    async def clear(name: str, key: Key = None, wait: Wait = 0.0) -> Response:
        return await ask(requests.clear_request(twin, name), key, wait)

    @router.post("/cubes/{name:path}/drain", summary="Drain a cube")
    async def drain(name: str, key: Key = None, wait: Wait = 0.0) -> Response:
        return await ask(requests.drain_request(twin, name, drain=True), key, wait)

    @router.post("/cubes/{name:path}/undrain", summary="Take a drained cube into use again")
    async def undrain(name: str, key: Key = None, wait: Wait = 0.0) -> Response:
        return await ask(requests.drain_request(twin, name, drain=False), key, wait)

    return router


def _clock(twin: TwinPorts) -> APIRouter:
    router = APIRouter(prefix="/v1/clock", tags=["clock"])

    def shown() -> Response:
        state = twin.clock.show()
        fields = ("now_us", "speed", "paused", "achieved_speed", "lag_us")
        return answer({field: getattr(state, field) for field in fields})

    @router.get("", summary="The simulated clock")
    def show() -> Response:
        return shown()

    @router.post("/pause", summary="Let simulated time stand still")
    def pause() -> Response:
        twin.clock.pause()
        return shown()

    @router.post("/resume", summary="Let it go on")
    def resume() -> Response:
        twin.clock.resume()
        return shown()

    @router.put("/speed", summary="Simulated over wall time")
    def speed(asked: Speed) -> Response:
        twin.clock.set_speed(asked.speed)
        return shown()

    return router
