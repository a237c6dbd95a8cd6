"""`?at=`: answers any query about the twin as of a past time."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.fabrics import sites
from services.gateway.http.responses import error_response, status_of
from services.gateway.log.past_twin import parse_point_in_time
from services.gateway.requested_time import REQUESTED_TIME, PointInTime
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, LightwaveError
from shared.basics.spelling import truncated

API_PREFIX = "/v1/"
PRESENT_ONLY = (
    "events/stream",
    "requests",
    "operations",
    "dead-letters",
    "telemetry/stream",
    "backup",
    "bisect",
    "forecasts",
)
"""Paths below `/v1/` that are about the running twin at any simulated time."""
AT_HEADER = "Lightwave-At-Us"
"""Response header with the time of the answer, in microseconds of simulated time."""


class TimeTravel:
    """ASGI middleware: takes `at` out of the query and has the request answered as of that time."""

    def __init__(self, app: ASGIApp, twin: TwinPorts) -> None:
        self._app = app
        self._twin = twin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given, rest = _split_at(scope)
        if not given:
            await self._app(scope, receive, send)
            return
        try:
            point = await run_in_threadpool(self._requested_time, given, scope)
        except LightwaveError as error:
            await error_response(str(error), status_of(error))(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[AT_HEADER] = str(point.at_us)
                if "link" in headers:  # the next page is of the same time
                    headers["link"] = headers["link"].replace("?", f"?{urlencode({'at': given[0]})}&", 1)
            await send(message)

        before = REQUESTED_TIME.set(point)
        try:
            await self._app({**scope, "query_string": urlencode(rest).encode()}, receive, send_with_headers)
        finally:
            REQUESTED_TIME.reset(before)

    def _requested_time(self, given: Sequence[str], scope: Scope) -> PointInTime:
        """The requested time; raise InvalidInput or NotFound if it is invalid, or not supported for this
        request."""
        path = scope["path"].removeprefix(API_PREFIX)
        if scope["method"] not in ("GET", "HEAD"):
            raise InvalidInput("at: must not be used with writes; only GET and HEAD requests can use ?at=")
        if path.startswith(PRESENT_ONLY):
            raise InvalidInput(
                f"at: must not be used with {truncated(path)}, which is about the running twin"
            )
        if len(given) > 1:
            raise InvalidInput(f"query 'at': given {len(given)} times; must be given once")
        if self._twin.past is None:
            raise InvalidInput("at: must not be used; this twin keeps no snapshots of the past")
        return requested_point(self._twin, given[0])


def requested_point(twin: TwinPorts, text: str, word: str = "at") -> PointInTime:
    """The time of a twin that a client names, as in `parse_point_in_time`."""
    return parse_point_in_time(text, twin.clock.show().now_us, sites(twin), twin.log, word)


def has_requested_time(scope: Scope) -> bool:
    """Whether the query of a request has `at`."""
    return bool(_split_at(scope)[0])


def _split_at(scope: Scope) -> tuple[list[str], list[tuple[str, str]]]:
    """The values of `at`, and the rest of the query."""
    if (
        scope["type"] != "http"
        or b"at=" not in scope["query_string"]
        or not scope["path"].startswith(API_PREFIX)
    ):
        return [], []
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return [value for name, value in pairs if name == "at"], [pair for pair in pairs if pair[0] != "at"]
