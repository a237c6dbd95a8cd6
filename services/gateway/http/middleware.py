"""What every answer passes through, whatever route gives it."""

import asyncio

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.http.responses import refused

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What browsers are told with every answer that says nothing else: it is data, not a page, and not to be
kept."""


class SafeHeaders:
    """ASGI middleware: tells browsers how carefully to take an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, told)


class GoodEnd:
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
            await refused(sentence, 503, {"Retry-After": "5"})(scope, receive, send)


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
