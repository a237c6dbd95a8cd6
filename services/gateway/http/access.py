"""Who may ask what: the guard in front of every route."""

import logging
from typing import Any

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.http.browsers import foreign_page
from services.gateway.http.caller import READING, complaint, introduce
from services.gateway.http.probes import PATHS
from services.gateway.http.rates import Rate
from services.gateway.http.responses import refused
from services.gateway.http.tokens import Tokens
from shared.basics.words import short

OPEN_PATHS = frozenset({*PATHS, "/openapi.json"})
"""What needs no token, beside the API's page: whether the twin is well, and what its API is."""
OPEN_BELOW = "/docs"
WRITES_PER_S, WRITES_AT_ONCE = 20.0, 200
"""Of one name, the nameless together. A request leaves some 4 kB on the log for ever."""
ADDRESS_MAX = 8 * 1024
"""Bytes of path and query, as proxies in front of gateways let pass."""
WRONG_PER_S, WRONG_AT_ONCE = 1.0, 20
"""Wrong tokens of one address that are answered as such, and logged."""

log = logging.getLogger("lightwave.gateway")


def bearer(tokens: Tokens) -> list[Any]:
    """What makes the API's page say that a route needs a token; the guard is who asks for it."""
    if not tokens:
        return []
    return [Depends(HTTPBearer(auto_error=False, scheme_name="token", description="of the file of tokens"))]


class Guard:
    """ASGI middleware: lets pass what is open, and who may ask what it asks.

    It goes by the path that is routed. `request.url` would not do: it is made up from the Host header, which
    is the caller's to choose.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens
        self._writes = Rate(per_s=WRITES_PER_S, burst=WRITES_AT_ONCE)
        self._wrong = Rate(per_s=WRONG_PER_S, burst=WRONG_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer that turns this request away, None if it may go on."""
        method, path = scope["method"], scope["path"]
        if (length := len(scope["raw_path"]) + len(scope["query_string"])) > ADDRESS_MAX:
            return refused(f"address of {length} bytes: not allowed; allowed are {ADDRESS_MAX}", 414)
        if "content-length" in headers and "transfer-encoding" in headers:
            # Whoever stands in between may take the one for the end of the body, and this server the other.
            return refused("Content-Length and Transfer-Encoding: allowed is one of them", 400)
        if not path.isprintable():
            return refused(f"{method} {short(repr(path))}: no such path", 404)
        if (foreign := foreign_page(scope, headers, tokens=bool(self._tokens))) is not None:
            return refused(foreign[1], foreign[0])
        caller = self._tokens.who(headers.get("authorization"))
        if caller is not None:
            introduce(scope, caller)
        if path in OPEN_PATHS or path == OPEN_BELOW or path.startswith(f"{OPEN_BELOW}/"):
            return None
        if caller is None:
            return self._unknown(scope, headers)
        if (why := complaint(caller, method, path)) is not None:
            return refused(f"{method} {short(path)}: {why}", 403)
        wait_s = 0 if method in READING else self._writes.wait_s(caller.name)
        if wait_s:
            whose = f"of {caller.name} " if caller.name else ""
            return _later(f"more than {WRITES_PER_S:g} requests {whose}a second; ask again later", wait_s)
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> Response:
        if "authorization" in headers:
            address = (scope.get("client") or ("?", 0))[0]
            if wait_s := self._wrong.wait_s(address):
                return _later("too many wrong tokens from this address", wait_s)
            log.warning("a wrong token from %s", address)
            why = "what was sent is no bearer token of this twin"
        else:
            why = "a bearer token is needed"
        sentence = f"{why}; clients take theirs from LIGHTWAVE_TOKEN or LIGHTWAVE_TOKEN_FILE"
        return refused(sentence, 401, {"WWW-Authenticate": "Bearer"})


def _later(sentence: str, wait_s: int) -> Response:
    return refused(sentence, 429, {"Retry-After": str(wait_s)})
