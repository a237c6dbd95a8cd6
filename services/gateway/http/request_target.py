"""Reads the target of a request before any rule sees it, so that all rules see the same path and host.

RFC 9112, sections 3.2 and 3.3: a target is a path (`/v1/fabrics`) or a whole address
(`http://twin:8080/v1/fabrics`). Of an address, its host replaces the `Host` header.
"""

import re
from typing import cast
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.http.responses import error_response
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~!$&'()*+,;=%-]+)(?::[0-9]*)?"
"""A host with an optional port (RFC 3986), without a user's name, which RFC 9110 section 4.2.4 forbids."""
_HOST = re.compile(HOST)
_ADDRESS = re.compile(rf"([A-Za-z][A-Za-z0-9+.-]*)://({HOST})(/.*)?")


class RequestTarget:
    """ASGI middleware: gives the rest of the gateway a path, and the host that the client means."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                scope = with_path(scope)
            except InvalidInput as error:
                await error_response(str(error), 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def with_path(scope: Scope) -> Scope:
    """The same request with a path as its target; raise InvalidInput if the target or the host is invalid."""
    target = cast(bytes, scope["raw_path"]).decode("latin-1")
    if target.startswith("/"):
        _check_host(Headers(scope=scope).get("host"))
        return scope
    address = _ADDRESS.fullmatch(target)
    if address is None or address[1].lower() != scope["scheme"]:
        raise InvalidInput(
            f"request target {truncated(repr(target))}: must be a path that begins with /, or an address "
            f"that begins with {scope['scheme']}:// and a host"
        )
    path = address[3] or "/"
    headers = [pair for pair in scope["headers"] if pair[0] != b"host"]
    return {
        **scope,
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "headers": [(b"host", address[2].encode("latin-1")), *headers],
    }


def _check_host(host: str | None) -> None:
    # HTTP/1.0 has no Host, and an empty one means that the address has no host.
    if host and _HOST.fullmatch(host) is None:
        raise InvalidInput(f"Host {truncated(repr(host))}: must be a host, or a host and a port")
