"""The guard in front of all routes: which caller may send which request."""

import logging
from typing import Any
from urllib.parse import unquote_to_bytes

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.hidden_truth import HIDES_TRUTH
from services.gateway.http.access.caller import (
    AS_HEADER,
    READ_METHODS,
    ROLE_HEADER,
    attach_caller,
    caller_of,
    denial,
    hides_truth,
    in_role,
    named_caller,
)
from services.gateway.http.access.cross_site import cross_site_refusal
from services.gateway.http.access.rate_limit import RateLimit
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.probes import PROBE_PATHS
from services.gateway.http.responses import error_response
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

PUBLIC_PATHS = frozenset({*PROBE_PATHS, "/openapi.json"})
"""Paths without a token, besides the API's page: health probes and the API's description."""
PUBLIC_PREFIX = "/docs"
WRITES_PER_S, WRITES_BURST = 20.0, 200
"""Limits per name; clients without a name share one limit. A request adds about 4 kB to the log for good."""
KILL_SWITCH_PATH = "/v1/safety"
SINGLE_HEADERS = ("Authorization", "Idempotency-Key", AS_HEADER, ROLE_HEADER)
"""Headers of which a proxy in between may take another one than this server, if there are several."""
URL_BYTES_MAX = 8 * 1024
"""Maximum size of path and query in bytes, as in common proxies."""
WRONG_TOKENS_PER_S, WRONG_TOKENS_BURST = 1.0, 20
"""Limits of wrong tokens per address that get their own response and a log line."""

log = logging.getLogger("lightwave.gateway")


def bearer_dependency(tokens: Tokens) -> list[Any]:
    """Dependency that marks a route as protected on the API's page; the guard does the check."""
    if not tokens:
        return []
    return [
        Depends(HTTPBearer(auto_error=False, scheme_name="token", description="a token from the token file"))
    ]


class AccessGuard:
    """ASGI middleware: passes public requests, and requests that the client may send.

    It checks the path that is routed. `request.url` would be unsafe, because it uses the client's Host
    header.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens
        self._writes = RateLimit(per_s=WRITES_PER_S, burst=WRITES_BURST)
        self._wrong = RateLimit(per_s=WRONG_TOKENS_PER_S, burst=WRONG_TOKENS_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        before = HIDES_TRUTH.set(hides_truth(caller_of(scope)))
        try:
            await (refusal or self._app)(scope, receive, send)
        finally:
            HIDES_TRUTH.reset(before)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The response that refuses this request; None if it may pass."""
        method, path = scope["method"], scope["path"]
        if (length := len(scope["raw_path"]) + len(scope["query_string"])) > URL_BYTES_MAX:
            return error_response(f"URL of {length} bytes: must be at most {URL_BYTES_MAX} bytes", 414)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy in between may take one for the end of the body, and this server the other.
            return error_response("Content-Length and Transfer-Encoding: must not be given together", 400)
        for name in SINGLE_HEADERS:
            if len(headers.getlist(name)) > 1:
                return error_response(f"{name}: is given more than once; must be given once", 400)
        try:
            unquote_to_bytes(scope["query_string"]).decode()
        except UnicodeDecodeError:
            return error_response("query: is not UTF-8 text", 400)
        if not path.isprintable():
            return error_response(f"{method} {truncated(repr(path))}: no such path", 404)
        if (foreign := cross_site_refusal(scope, headers, tokens=bool(self._tokens))) is not None:
            return error_response(foreign[1], foreign[0])
        caller = self._tokens.caller_of(headers.get("authorization"))
        token_name = None if caller is None else caller.name
        if caller is not None:
            try:
                caller = named_caller(caller, headers.get(AS_HEADER), tokens=bool(self._tokens))
                caller = in_role(caller, headers.get(ROLE_HEADER))
            except InvalidInput as error:
                return error_response(str(error), 403 if self._tokens else 422)
            attach_caller(scope, caller)
        if path == "/" and method in READ_METHODS:
            return None
        if path in PUBLIC_PATHS or path == PUBLIC_PREFIX or path.startswith(f"{PUBLIC_PREFIX}/"):
            return None
        if caller is None:
            return self._unauthorized(scope, headers)
        if (why := denial(caller, method, path)) is not None:
            return error_response(f"{method} {truncated(path)}: {why}", 403)
        # The kill switch has a limit of its own, so that no other writes can keep it waiting.
        share = (path == KILL_SWITCH_PATH, token_name)
        wait_s = 0 if method in READ_METHODS else self._writes.wait_s(share)
        if wait_s:
            whose = f"of {token_name} " if token_name else ""
            return _retry_later(
                f"more than {WRITES_PER_S:g} write requests {whose}per second; try again later", wait_s
            )
        return None

    def _unauthorized(self, scope: Scope, headers: Headers) -> Response:
        if "authorization" in headers:
            address = (scope.get("client") or ("?", 0))[0]
            if wait_s := self._wrong.wait_s(address):
                return _retry_later("too many wrong tokens from this address", wait_s)
            log.warning("wrong bearer token from %s", address)
            why = "the bearer token is not valid for this twin"
        else:
            why = "a bearer token is required"
        sentence = f"{why}; set LIGHTWAVE_TOKEN or LIGHTWAVE_TOKEN_FILE"
        return error_response(sentence, 401, {"WWW-Authenticate": "Bearer"})


def _retry_later(sentence: str, wait_s: int) -> Response:
    return error_response(sentence, 429, {"Retry-After": str(wait_s)})
