"""Since when a condition holds."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api_bisect import Bisection
from services.gateway.bisect import Span, bisected, condition_about, span_at
from services.gateway.http.at import moment_asked
from services.gateway.http.at_once import AtOnce
from services.gateway.http.common import Common
from services.gateway.http.responses import answer
from services.gateway.ports import Past, TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.words import short

Moment = Annotated[
    str | None, Query(description="-2h, 5d3h, 3d02:15:04, 432000000us, or the id of a message and after it")
]


def routes(twin: TwinPorts, questions: AtOnce, **common: Unpack[Common]) -> APIRouter:
    """The past, searched."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/bisect",
        summary="The first message after which a condition holds, or every change of it, a part at a time",
        response_model=Bisection,
    )
    def bisect(
        condition: Annotated[str, Query(description="such as slices.pod-0/slice-42.state == degraded")],
        since: Annotated[Moment, Query(alias="from")] = None,
        until: Annotated[Moment, Query(alias="to")] = None,
        every: Annotated[
            bool, Query(alias="all", description="every change of it, and not the first")
        ] = False,
        fabric: Annotated[
            str | None, Query(description="of names that lack theirs, and of what is counted")
        ] = None,
        cursor: Annotated[str | None, Query(description="of the next part, as the one before has it")] = None,
    ) -> Response:
        if twin.past is None:
            raise InvalidInput("bisect: not allowed; this twin keeps no snapshots to look back by")
        found, site = condition_about(twin, condition, fabric)
        span = (
            span_at(twin, site, cursor) if cursor is not None else _span(twin, twin.past, site, since, until)
        )
        with questions.one():
            return answer(bisected(twin, twin.past, found, span, every=every))

    return router


def _span(twin: TwinPorts, past: Past, site: str, since: str | None, until: str | None) -> Span:
    """From the first moment of which anything can be told, up to now, which of a site that is ahead of the
    clock is where its log ends; InvalidInput where it ends before it begins."""
    start, from_us = past.begins(site)
    if since is not None:
        first = moment_asked(twin, since, "from")
        start, from_us = first.positions.get(site, 0), first.at_us
    end, to_us = twin.log.end(site), max(from_us, twin.clock.show().now_us)
    if until is not None:
        last = moment_asked(twin, until, "to")
        end, to_us = last.positions.get(site, 0), last.at_us
    if start > end or from_us > to_us:
        raise InvalidInput(
            f"from {short(repr(since))}: is after to {short(repr(until))}; allowed is a moment before it"
        )
    return Span(site, start, end, from_us, to_us)
