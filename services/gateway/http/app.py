"""The HTTP API of a live twin: assembles routes, access control, responses and errors."""

from collections import Counter
from typing import Any, get_args, get_origin

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from starlette.middleware.gzip import GZipMiddleware

from services.gateway.hidden_truth import with_hidden_truth
from services.gateway.http import api_docs, metrics_endpoint, probes, responses
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.guard import AccessGuard, bearer_dependency
from services.gateway.http.middleware import (
    BodyLimit,
    HeadAsGet,
    PlusInNames,
    SecurityHeaders,
    ShutdownResponse,
)
from services.gateway.http.past_queries import TimeTravel
from services.gateway.http.read_limits import ReadLimits
from services.gateway.http.request_target import RequestTarget
from services.gateway.http.responses import error_docs
from services.gateway.http.route_options import READS_OTHER_PARAMETERS, RouteOptions
from services.gateway.http.routes import (
    bisect,
    clock,
    conditions,
    dead_letters,
    desk,
    drills,
    explain,
    forecasts,
    goodput,
    log,
    operations,
    readings,
    requests,
    resources,
    what_if,
)
from services.gateway.http.routes import (
    twin as twin_routes,
)
from services.gateway.log.past_twin import with_time_travel
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.value_words import has_zero_in_front, number_problem

GZIP_FROM = 1_000
"""Minimum size of a response to compress, in bytes. Event streams are never compressed."""
GZIP_LEVEL = 3


def create_app(twin: TwinPorts, *, tokens: Tokens) -> FastAPI:
    """The gateway of a live twin. If there are tokens, /v1 and /metrics require one."""
    app = FastAPI(
        title="Lightwave Twin",
        version="1",
        description="A live twin of pods of cubes, joined by optical circuit switches or by fixed fibres.",
        separate_input_output_schemas=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # A redirect would lead to any Host that the client names.
        redirect_slashes=False,
    )
    original = twin
    if twin.past is not None:
        twin = with_time_travel(twin, twin.past)
    twin = with_hidden_truth(twin)
    responses.install(app)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM, compresslevel=GZIP_LEVEL)
    # The last middleware added is the outermost, so responses of the guard are counted too.
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(TimeTravel, twin=original)
    app.add_middleware(ReadLimits)
    app.add_middleware(PlusInNames)
    app.add_middleware(ShutdownResponse)
    app.add_middleware(AccessGuard, tokens=tokens)
    app.add_middleware(RequestTarget)
    app.add_middleware(SecurityHeaders)
    metrics_endpoint.install(app, twin, tokens=tokens)
    common: RouteOptions = {
        "dependencies": [Depends(check_query), *bearer_dependency(tokens)],
        "responses": error_docs(*responses.ERROR_DOCS, tokens=tokens),
    }
    administration = (dead_letters, clock, operations, twin_routes)
    questions = (explain, what_if, bisect)
    reads = (resources, readings, log, conditions)
    # A drill's journal comes before its row: a name may have slashes.
    for module in (drills, desk, *reads, requests, goodput, forecasts, *administration, *questions):
        # `include_router` would build each route again at the first request.
        app.router.routes += module.routes(twin, **common).routes
    api_docs.install(app)
    probes.install(app, twin, tokens=tokens)
    return app


def check_query(request: Request) -> None:
    """Raise InvalidInput for a query parameter that the route does not know, or that is repeated although it
    takes one value. Otherwise a typo would be ignored silently."""
    route = request.scope["route"]
    known = dict(_query_of(route.dependant))
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known and getattr(route.endpoint, READS_OTHER_PARAMETERS, False):
            continue
        if name not in known:
            hint = f"must be one of {', '.join(known)}" if known else "this path takes none"
            raise InvalidInput(f"query {truncated(repr(name))}: no such parameter; {hint}")
        if times > 1 and not _is_list(known[name]):
            raise InvalidInput(f"query {truncated(repr(name))}: given {times} times; must be given once")
    for name, value in request.query_params.multi_items():
        if name in known and _is_whole(known[name]) and has_zero_in_front(value):
            problem = number_problem(value, whole=True)
            raise InvalidInput(f"{name}: {truncated(repr(value))} is not allowed; {problem}")


def _query_of(dependant: Dependant) -> list[tuple[str, Any]]:
    """The query parameters of a route and of its dependencies, each with its type."""
    own = [(field.alias, field.field_info.annotation) for field in dependant.query_params]
    return [*own, *(field for other in dependant.dependencies for field in _query_of(other))]


def _is_whole(annotation: Any) -> bool:
    """Whether this is the type of a whole number, or of one or None."""
    return any(one is int for one in (annotation, *get_args(annotation)))


def _is_list(annotation: Any) -> bool:
    """Whether this is the type of a list, or of a list or None."""
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))
