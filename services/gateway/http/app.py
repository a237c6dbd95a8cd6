"""The HTTP API over a living twin: its routes, who may use them, how answers and errors look."""

from collections import Counter
from typing import Any, get_args, get_origin

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from starlette.middleware.gzip import GZipMiddleware

from services.gateway.http import (
    about,
    answers,
    archive,
    backup,
    bisect,
    clock,
    dead_letters,
    docs,
    foresight,
    goodput,
    log,
    metrics,
    operations,
    probes,
    readings,
    request_status,
    requests,
    responses,
    snapshots,
    things,
)
from services.gateway.http.access import Guard, bearer
from services.gateway.http.at import At
from services.gateway.http.at_once import BISECTIONS_AT_ONCE, QUESTIONS_AT_ONCE, AtOnce
from services.gateway.http.bodies import BodyLimit
from services.gateway.http.common import Common
from services.gateway.http.middleware import GoodEnd, HeadAsGet, SafeHeaders
from services.gateway.http.responses import errors
from services.gateway.http.tokens import Tokens
from services.gateway.moments import at_any_moment
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.words import short

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
        twin = at_any_moment(twin, twin.past)
    responses.install(app)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM, compresslevel=GZIP_LEVEL)
    # The last one added stands outermost: what the guard turns away is counted, too.
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(At, twin=given)
    app.add_middleware(GoodEnd)
    app.add_middleware(Guard, tokens=tokens)
    app.add_middleware(SafeHeaders)
    metrics.install(app, twin, tokens=tokens)
    common: Common = {
        "dependencies": [Depends(check_query), *bearer(tokens)],
        "responses": errors(*responses.ERRORS, tokens=tokens),
    }
    about_the_twin = (dead_letters, clock, operations, snapshots, about, backup, archive)
    for module in (things, readings, log, requests, request_status, goodput, *about_the_twin):
        # `include_router` would build each of them a second time, at the first request.
        app.router.routes += module.routes(twin, **common).routes
    questions = AtOnce(QUESTIONS_AT_ONCE)
    for asking in (answers, foresight):
        app.router.routes += asking.routes(twin, questions, **common).routes
    app.router.routes += bisect.routes(twin, AtOnce(BISECTIONS_AT_ONCE), **common).routes
    docs.install(app)
    probes.install(app, twin, tokens=tokens)
    return app


def check_query(request: Request) -> None:
    """InvalidInput for a query parameter that the route does not know, or that is given twice where it takes
    one value: a slip would else change nothing and say nothing."""
    known = dict(_query_of(request.scope["route"].dependant))
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known:
            allowed = f"allowed are {', '.join(known)}" if known else "none is allowed here"
            raise InvalidInput(f"query {short(repr(name))}: no such parameter; {allowed}")
        if times > 1 and not _is_list(known[name]):
            raise InvalidInput(f"query {short(repr(name))}: given {times} times; allowed: once")


def _query_of(dependant: Dependant) -> list[tuple[str, Any]]:
    """The query parameters of a route, and of all that it depends on, each with its type."""
    own = [(field.alias, field.field_info.annotation) for field in dependant.query_params]
    return [*own, *(field for other in dependant.dependencies for field in _query_of(other))]


def _is_list(annotation: Any) -> bool:
    """Whether this is the type of several values, or of none."""
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))
