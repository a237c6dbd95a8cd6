"""Who may ask what: the guard in front of every route."""

import logging
from typing import Any

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.http.access.caller import READ_METHODS, attach_caller, denial
from services.gateway.http.access.cross_site import cross_site_refusal
from services.gateway.http.access.rate_limit import RateLimit
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.probes import PROBE_PATHS
from services.gateway.http.responses import error_response
from shared.basics.spelling import truncated

PUBLIC_PATHS = frozenset({*PROBE_PATHS, "/openapi.json"})
"""What needs no token, beside the API's page: whether the twin is well, and what its API is."""
PUBLIC_PREFIX = "/docs"
WRITES_PER_S, WRITES_BURST = 20.0, 200
"""Of one name, the nameless together. A request leaves some 4 kB on the log for ever."""
URL_BYTES_MAX = 8 * 1024
"""Bytes of path and query, as proxies in front of gateways let pass."""
WRONG_TOKENS_PER_S, WRONG_TOKENS_BURST = 1.0, 20
"""Wrong tokens of one address that are answered as such, and logged."""

log = logging.getLogger("lightwave.gateway")


def bearer_dependency(tokens: Tokens) -> list[Any]:
    """What makes the API's page say that a route needs a token; the guard is who asks for it."""
    if not tokens:
        return []
    return [Depends(HTTPBearer(auto_error=False, scheme_name="token", description="of the file of tokens"))]


class AccessGuard:
    """ASGI middleware: lets pass what is open, and who may ask what it asks.

    It goes by the path that is routed. `request.url` would not do: it is made up from the Host header, which
    is the caller's to choose.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens
        self._writes = RateLimit(per_s=WRITES_PER_S, burst=WRITES_BURST)
        self._wrong = RateLimit(per_s=WRONG_TOKENS_PER_S, burst=WRONG_TOKENS_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer that turns this request away, None if it may go on."""
        method, path = scope["method"], scope["path"]
        if (length := len(scope["raw_path"]) + len(scope["query_string"])) > URL_BYTES_MAX:
            return error_response(f"address of {length} bytes: not allowed; allowed are {URL_BYTES_MAX}", 414)
        if "content-length" in headers and "transfer-encoding" in headers:
            # Whoever stands in between may take the one for the end of the body, and this server the other.
            return error_response("Content-Length and Transfer-Encoding: allowed is one of them", 400)
        if not path.isprintable():
            return error_response(f"{method} {truncated(repr(path))}: no such path", 404)
        if (foreign := cross_site_refusal(scope, headers, tokens=bool(self._tokens))) is not None:
            return error_response(foreign[1], foreign[0])
        caller = self._tokens.caller_of(headers.get("authorization"))
        if caller is not None:
            attach_caller(scope, caller)
        if path in PUBLIC_PATHS or path == PUBLIC_PREFIX or path.startswith(f"{PUBLIC_PREFIX}/"):
            return None
        if caller is None:
            return self._unauthorized(scope, headers)
        if (why := denial(caller, method, path)) is not None:
            return error_response(f"{method} {truncated(path)}: {why}", 403)
        wait_s = 0 if method in READ_METHODS else self._writes.wait_s(caller.name)
        if wait_s:
            whose = f"of {caller.name} " if caller.name else ""
            return _retry_later(
                f"more than {WRITES_PER_S:g} requests {whose}a second; ask again later", wait_s
            )
        return None

    def _unauthorized(self, scope: Scope, headers: Headers) -> Response:
        if "authorization" in headers:
            address = (scope.get("client") or ("?", 0))[0]
            if wait_s := self._wrong.wait_s(address):
                return _retry_later("too many wrong tokens from this address", wait_s)
            log.warning("a wrong token from %s", address)
            why = "what was sent is no bearer token of this twin"
        else:
            why = "a bearer token is needed"
        sentence = f"{why}; clients take theirs from LIGHTWAVE_TOKEN or LIGHTWAVE_TOKEN_FILE"
        return error_response(sentence, 401, {"WWW-Authenticate": "Bearer"})


def _retry_later(sentence: str, wait_s: int) -> Response:
    return error_response(sentence, 429, {"Retry-After": str(wait_s)})
