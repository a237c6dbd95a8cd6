"""The route that finds when a condition became true."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.bisect import Bisection
from services.gateway.explain.bisect import LogSpan, parse_condition, search_span, span_from_cursor
from services.gateway.http.past_queries import requested_point
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import PastPort, TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.time_grammar import POINTS_ALLOWED

Moment = Annotated[str | None, Query(description=POINTS_ALLOWED)]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The bisect route."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/bisect",
        summary="The first message after which a condition is true, or every change of it, page by page",
        response_model=Bisection,
    )
    def bisect(
        condition: Annotated[str, Query(description="such as slices.pod-0/slice-42.state == degraded")],
        since: Annotated[Moment, Query(alias="from")] = None,
        until: Annotated[Moment, Query(alias="to")] = None,
        every: Annotated[
            bool, Query(alias="all", description="every change of the condition, not only the first")
        ] = False,
        fabric: Annotated[str | None, Query(description="fabric of names without one, and of counts")] = None,
        cursor: Annotated[
            str | None, Query(description="cursor of the next page, from the page before")
        ] = None,
    ) -> Response:
        if twin.past is None:
            raise InvalidInput("bisect: must not be used; this twin keeps no snapshots of the past")
        parsed, site = parse_condition(twin, condition, fabric)
        span = (
            span_from_cursor(twin, site, cursor)
            if cursor is not None
            else _span(twin, twin.past, site, since, until)
        )
        return json_response(search_span(twin, twin.past, parsed, span, every=every))

    return router


def _span(twin: TwinPorts, past: PastPort, site: str, since: str | None, until: str | None) -> LogSpan:
    """The span of the log to search. By default it starts at the earliest known past and ends now; a site
    that is ahead of the clock ends at the end of its log. Raise InvalidInput if it ends before it starts."""
    start, from_us = past.begins(site)
    if since is not None:
        first = requested_point(twin, since, "from")
        start, from_us = first.positions.get(site, 0), first.at_us
    end, to_us = twin.log.end(site), max(from_us, twin.clock.show().now_us)
    if until is not None:
        last = requested_point(twin, until, "to")
        end, to_us = last.positions.get(site, 0), last.at_us
    if start > end or from_us > to_us:
        raise InvalidInput(f"from {truncated(repr(since))}: must not be after to {truncated(repr(until))}")
    return LogSpan(site, start, end, from_us, to_us)
