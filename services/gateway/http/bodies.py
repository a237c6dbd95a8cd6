"""Bodies of requests: no larger than a request can be, whatever their length is said to be."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.http.responses import refused

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
            await refused(sentence, 413)(scope, receive, send)
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
