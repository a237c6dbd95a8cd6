"""Who may reach the gateway: everybody on this machine; on any other address, who brings the token."""

import hmac
import ipaddress
from typing import Any

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.http.caller import NAMELESS, Caller, Role, introduce
from services.gateway.http.responses import refused
from shared.basics.errors import InvalidInput

OPEN_PATHS = frozenset({"/healthz", "/openapi.json", "/docs", "/redoc"})
"""What needs no token: whether the twin is well, and what its API is."""


def check_bind(host: str, token: str | None) -> None:
    """InvalidInput unless the address is a loopback one, or a bearer token guards it."""
    if not token and not is_loopback(host):
        raise InvalidInput(
            f"--host {host}: not a loopback address; allowed without a token are 127.0.0.1, ::1 and "
            "localhost (give --token or LIGHTWAVE_TOKEN)"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_allowed(authorization: str | None, token: str | None) -> bool:
    """Whether a request with this Authorization header may pass."""
    if not token:
        return True
    scheme, _, given = (authorization or "").partition(" ")
    # Headers are read as Latin-1, whatever the client meant by its bytes.
    same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), token.encode())
    return same and scheme.lower() == "bearer"


def bearer(token: str | None) -> list[Any]:
    """What makes the API's page say that a route needs the token; the guard is who asks for it."""
    if not token:
        return []
    return [
        Depends(HTTPBearer(auto_error=False, scheme_name="token", description="as LIGHTWAVE_TOKEN has it"))
    ]


class TokenGuard:
    """ASGI middleware: lets pass what is open and who brings the token.

    It goes by the path that is routed. `request.url` would not do: it is made up from the Host header, which
    is the caller's to choose.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        allowed = is_allowed(Headers(scope=scope).get("authorization"), self._token)
        if allowed:
            introduce(scope, Caller("token", Role.ADMINISTRATOR) if self._token else NAMELESS)
        if allowed or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        sentence = "a bearer token is needed; clients take it from LIGHTWAVE_TOKEN"
        await refused(sentence, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)


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
