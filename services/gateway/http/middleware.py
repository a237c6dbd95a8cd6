"""Middleware for all responses and for the size of request bodies."""

import asyncio
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.config.workload import TraceRow
from schemas.limits import TRACE_ROWS_MAX
from services.gateway.http.responses import error_response

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Default headers for browsers: the response is data, not a page, and must not be stored."""


class SecurityHeaders:
    """ASGI middleware: adds the security headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class ShutdownResponse:
    """ASGI middleware: answers requests that still wait when the server shuts down."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def send_noted(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if has_started or scope["type"] != "http":
                raise
            sentence = (
                "the gateway is shutting down; the request may have been accepted: "
                "retry with the same idempotency key"
            )
            await error_response(sentence, 503, {"Retry-After": "5"})(scope, receive, send)


class HeadAsGet:
    """ASGI middleware: answers HEAD like GET, without the body. A stream ends before it starts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        disconnect = {"type": "http.disconnect"}

        async def receive_disconnect() -> dict[str, str]:
            return disconnect

        async def head(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                await send(message)

        await self._app({**scope, "method": "GET"}, receive_disconnect, head)  # type: ignore[arg-type]  # narrower than ASGI's
        await send({"type": "http.response.body", "body": b""})


_PLUS_OF_FACE = re.compile(rb"((?:/|%2[Ff]))\+(?=[a-z](?:/|%2[Ff]|[&. ]|%20|\+|$))")
"""A plus between a slash and the letter of a face, as in `pod-0/cube-3/+y/7`."""
FREE_TEXT = b"comment="
"""The parameter whose value is text, in which a plus is a blank."""


_FIRST_PLUS = re.compile(rb"^((?!condition=)[^=]*=)\+(?=[0-9A-Za-z])")


class PlusInNames:
    """ASGI middleware: keeps the plus of link ends in queries. In a query string it means a blank, which no
    name has, so `?for=pod-0/cube-3/+y/7` means the same as with `%2B`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and b"+" in scope["query_string"]:
            scope = {**scope, "query_string": with_plus_of_faces(scope["query_string"])}
        await self._app(scope, receive, send)


def with_plus_of_faces(query: bytes) -> bytes:
    """A query string in which the plus of a face, and one before a value (`at=+3h`), is written `%2B`."""
    return b"&".join(
        part if part.startswith(FREE_TEXT) else _PLUS_OF_FACE.sub(rb"\1%2B", _FIRST_PLUS.sub(rb"\1%2B", part))
        for part in query.split(b"&")
    )


BODY_MAX = 64 * 1024
"""Maximum size of a request body in bytes. Valid requests stay below 1,000, except one."""
TRACE_BODY_MAX = 8 * 1024 * 1024
"""Maximum size of a body that commissions a fabric: it may have a recorded trace of 29,000 rows."""
COMMISSION = ("POST", "/v1/fabrics")
"""The guard has already refused clients that may not commission."""
TRACE_VALUES_MAX = 2 * len(TraceRow.model_fields) * TRACE_ROWS_MAX
"""Maximum number of values in such a body. A body of 8 MiB could have millions of empty lists, each of which
takes a hundred times its size once it is parsed."""


class BodyLimit:
    """ASGI middleware: reads the whole body, and answers 413 as soon as it is known to be too large."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(headers := Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        length = headers.get("content-length", "0")
        most = TRACE_BODY_MAX if (scope["method"], scope["path"]) == COMMISSION else BODY_MAX
        body = None if int(length) > most else await _read(receive, most)
        if body is None:
            sentence = f"body: must be at most {most} bytes"
            await error_response(sentence, 413)(scope, receive, send)
            return
        if most > BODY_MAX and (values := body.count(b",") + 1) > TRACE_VALUES_MAX:
            sentence = f"body: has {values:,} values; must have at most {TRACE_VALUES_MAX:,}"
            await error_response(sentence, 413)(scope, receive, send)
            return
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, receive_body, send)


def may_be_large(headers: Headers) -> bool:
    """Whether the body of a request may be larger than those of most requests."""
    length = headers.get("content-length", "0")
    return "transfer-encoding" in headers or not length.isdecimal() or int(length) > BODY_MAX


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body; None if it is too large. Of an aborted body, the part that was received."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            return None
        more = message.get("more_body", False)
    return bytes(body)
