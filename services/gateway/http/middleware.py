"""What every answer passes through, whatever route gives it."""

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.http.responses import error_response

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What browsers are told with every answer that says nothing else: it is data, not a page, and not to be
kept."""


class SecurityHeaders:
    """ASGI middleware: tells browsers how carefully to take an answer."""

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
    """ASGI middleware: whoever still waits for an answer when the server ends gets one sentence."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:
            if begun or scope["type"] != "http":
                raise
            sentence = "the gateway ends; what was asked may be received: ask again under the same key"
            await error_response(sentence, 503, {"Retry-After": "5"})(scope, receive, send)


class HeadAsGet:
    """ASGI middleware: answers HEAD as GET, without the body. A stream ends before it begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        gone = {"type": "http.disconnect"}

        async def nothing() -> dict[str, str]:
            return gone

        async def head(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                await send(message)

        await self._app({**scope, "method": "GET"}, nothing, head)  # type: ignore[arg-type]  # narrower than ASGI's
        await send({"type": "http.response.body", "body": b""})


# Bodies of requests: no larger than a request can be, whatever their length is said to be.

BODY_MAX = 64 * 1024
"""Bytes of a body; no request that is allowed has more than a thousand, but for one."""
TRACE_BODY_MAX = 8 * 1024 * 1024
"""Bytes of a body that commissions a fabric: it may bring a recorded trace of 29,000 rows."""
COMMISSION = ("POST", "/v1/fabrics")
"""Whoever may not commission is turned away before, by the guard."""


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
            sentence = f"body of more than {most} bytes: not allowed; no request has so many"
            await error_response(sentence, 413)(scope, receive, send)
            return
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body; None if it is too large. What was sent of one that broke off."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            return None
        more = message.get("more_body", False)
    return bytes(body)
