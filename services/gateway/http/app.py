"""The HTTP API over a living twin: its routes, who may use them, how answers and errors look."""

from collections import Counter
from typing import Any, get_args, get_origin

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from starlette.middleware.gzip import GZipMiddleware

from services.gateway.http import api_docs, metrics_endpoint, probes, responses
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.concurrency_limit import BISECTIONS_MAX, QUERIES_MAX, ConcurrencyLimit
from services.gateway.http.guard import AccessGuard, bearer_dependency
from services.gateway.http.middleware import BodyLimit, HeadAsGet, SecurityHeaders, ShutdownResponse
from services.gateway.http.responses import error_docs
from services.gateway.http.route_options import RouteOptions
from services.gateway.http.routes import (
    about,
    archive,
    backup,
    bisect,
    clock,
    dead_letters,
    explain,
    goodput,
    log,
    operations,
    readings,
    request_status,
    requests,
    resources,
    snapshots,
    what_if,
)
from services.gateway.http.time_travel import TimeTravel
from services.gateway.log.time_travel import with_time_travel
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

GZIP_FROM = 1_000
"""Bytes of an answer that is compressed for who accepts it; a stream of events never is."""
GZIP_LEVEL = 3


def create_app(twin: TwinPorts, *, tokens: Tokens) -> FastAPI:
    """The gateway over a living twin; where there are tokens, /v1 and /metrics demand one."""
    app = FastAPI(
        title="Lightwave Twin",
        version="1",
        description="A living twin of pods of cubes, joined by optical circuit switches or by fixed fibres.",
        separate_input_output_schemas=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # It would lead to whatever Host the caller names.
        redirect_slashes=False,
    )
    given = twin
    if twin.past is not None:
        twin = with_time_travel(twin, twin.past)
    responses.install(app)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM, compresslevel=GZIP_LEVEL)
    # The last one added stands outermost: what the guard turns away is counted, too.
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(TimeTravel, twin=given)
    app.add_middleware(ShutdownResponse)
    app.add_middleware(AccessGuard, tokens=tokens)
    app.add_middleware(SecurityHeaders)
    metrics_endpoint.install(app, twin, tokens=tokens)
    common: RouteOptions = {
        "dependencies": [Depends(check_query), *bearer_dependency(tokens)],
        "responses": error_docs(*responses.ERROR_DOCS, tokens=tokens),
    }
    about_the_twin = (dead_letters, clock, operations, snapshots, about, backup, archive)
    for module in (resources, readings, log, requests, request_status, goodput, *about_the_twin):
        # `include_router` would build each of them a second time, at the first request.
        app.router.routes += module.routes(twin, **common).routes
    limit = ConcurrencyLimit(QUERIES_MAX)
    for asking in (explain, what_if):
        app.router.routes += asking.routes(twin, limit, **common).routes
    app.router.routes += bisect.routes(twin, ConcurrencyLimit(BISECTIONS_MAX), **common).routes
    api_docs.install(app)
    probes.install(app, twin, tokens=tokens)
    return app


def check_query(request: Request) -> None:
    """InvalidInput for a query parameter that the route does not know, or that is given twice where it takes
    one value: a slip would else change nothing and say nothing."""
    known = dict(_query_of(request.scope["route"].dependant))
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known:
            allowed = f"allowed are {', '.join(known)}" if known else "none is allowed here"
            raise InvalidInput(f"query {truncated(repr(name))}: no such parameter; {allowed}")
        if times > 1 and not _is_list(known[name]):
            raise InvalidInput(f"query {truncated(repr(name))}: given {times} times; allowed: once")


def _query_of(dependant: Dependant) -> list[tuple[str, Any]]:
    """The query parameters of a route, and of all that it depends on, each with its type."""
    own = [(field.alias, field.field_info.annotation) for field in dependant.query_params]
    return [*own, *(field for other in dependant.dependencies for field in _query_of(other))]


def _is_list(annotation: Any) -> bool:
    """Whether this is the type of several values, or of none."""
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))
