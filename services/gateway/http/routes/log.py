"""Routes of the log: queries by time, type, name and cause, the live stream, and chains of causes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Unpack
from urllib.parse import urlencode

import anyio
from fastapi import APIRouter, Header, Query, Request, Response

from schemas.api.rows import LogMessage
from schemas.envelope import Envelope
from schemas.limits import COUNT_MAX
from services.gateway.fabrics import default_fabric, fabric_of
from services.gateway.http import event_stream
from services.gateway.http.access.caller import CurrentCaller
from services.gateway.http.event_stream import EventStream
from services.gateway.http.responses import non_json_doc
from services.gateway.http.route_options import ResponseDoc, ResponseDocs, RouteOptions
from services.gateway.log import history
from services.gateway.log.history import LogFilter, LogPage
from services.gateway.log.tail import LogTail
from services.gateway.requested_time import check_not_before_commissioning
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.messages import log_message_json
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.time_grammar import POINTS_ALLOWED

Limit = Annotated[int | None, Query(ge=1, le=history.EVENTS_MAX, description="maximum number of messages")]
Since = Annotated[
    str | None,
    Query(description=f"{POINTS_ALLOWED}; a start before the twin's start is the twin's start"),
]
Until = Annotated[str | None, Query(description="the last time, inclusive, in the same format")]
SinceUs = Annotated[int | None, Query(ge=0, le=COUNT_MAX)]
Type = Annotated[list[str], Query(description="only this message type; repeatable")]
Fabric = Annotated[
    str | None,
    Query(
        description="the fabric; default that of `for` or `cause`, else the first pod or, without pods, "
        "the first fabric; if that has retired, the only one that lives"
    ),
]
Cause = Annotated[str | None, Query(description="only messages that followed from this message")]
For = Annotated[
    str | None, Query(alias="for", description="only messages about the resource of this name or its parts")
]
Ticks = Annotated[bool, Query(description="false leaves out the Ticks")]
Cursor = Annotated[str | None, Query(description="only messages after this position, such as pod-0:4207")]
Before = Annotated[str | None, Query(description="only messages before this position")]
NEXT_PAGE = "if there are more: the URL of the next page, `rel=next`, or of the previous one, `rel=prev`"
PAGED = ResponseDocs({200: ResponseDoc(headers={"Link": NEXT_PAGE})})


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of the log."""
    router = APIRouter(prefix="/v1", tags=["log"], **common)

    @router.get(
        "/events",
        summary="Messages of the log, oldest first",
        response_model=list[LogMessage],
        responses=PAGED,
    )
    def events(
        request: Request,
        fabric: Fabric = None,
        since: Since = None,
        since_us: SinceUs = None,
        until: Until = None,
        type: Type = [],  # noqa: A002, B006 -- the name of the query parameter; never modified
        name: For = None,
        cause: Cause = None,
        ticks: Ticks = True,
        limit: Limit = None,
        cursor: Cursor = None,
        before: Before = None,
    ) -> Response:
        """With a start, a cursor or a cause, the first messages from there on; otherwise the last ones before
        now. Messages with a cause may be of any fabric of its site."""
        name = history.full_name(twin, fabric, name)
        log_filter = LogFilter(_fabric(twin, fabric, name, cause), tuple(type), name, cause, ticks)
        site, query = history.log_query(twin, log_filter)
        _check_order(twin, since, until)
        if until is not None and cause is None:
            until_us = history.parse_time(twin, "until", until)[1]
            check_not_before_commissioning(twin, site, log_filter.fabric, until, until_us, "until")
        starts, ends = _starts(twin, site, since, since_us, cursor), _ends(twin, site, until, before)
        query = replace(query, start=max(starts, default=0), end=min(ends, default=COUNT_MAX))
        forward = bool(starts) or (cause is not None and before is None)
        if forward:
            page = history.first_page(twin, site, query, limit or history.EVENTS_MAX)
        else:
            page = history.last_page(twin, site, query, limit or history.EVENTS_DEFAULT)
        return _messages_response(
            twin, [m for _, m in page.found], name, _link(request, page, forward=forward)
        )

    @router.get(
        "/why/{message_id:path}",
        summary="The chain of causes back to the root, from a message or the last state of a resource",
        response_model=list[LogMessage],
    )
    def why(message_id: str) -> Response:
        chain = history.cause_chain(twin, message_id)
        return _messages_response(twin, chain, history.verdict_target(chain), None)

    _stream_route(router, twin)
    return router


def _stream_route(router: APIRouter, twin: TwinPorts) -> None:
    streams, tail = event_stream.OpenStreams(), LogTail(twin)

    @router.get(
        "/events/stream",
        summary="New messages as server-sent events",
        response_class=Response,
        responses=non_json_doc(EventStream, "the stream"),
    )
    def follow(
        caller: CurrentCaller,
        fabric: Fabric = None,
        since: Since = None,
        type: Type = [],  # noqa: A002, B006 -- the name of the query parameter; never modified
        name: For = None,
        cause: Cause = None,
        ticks: Ticks = True,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> EventStream:
        name = history.full_name(twin, fabric, name)
        log_filter = LogFilter(_fabric(twin, fabric, name, cause), tuple(type), name, cause, ticks)
        site, query = history.log_query(twin, log_filter)
        query = replace(query, start=_stream_start(twin, site, last_event_id, since))
        ended = anyio.Event()
        return EventStream(
            event_stream.events(tail, log_filter.fabric, site, query, ended, about=name),
            streams,
            caller.name,
            shutdown_event=ended,
            shutdown_grace_period=event_stream.SHUTDOWN_GRACE_S,
        )


def _fabric(twin: TwinPorts, fabric: str | None, name: str | None, cause: str | None) -> str:
    """The fabric of a query: the given one, that of the name or of the cause, or the default."""
    if fabric is None and name is not None:
        return fabric_of(twin, name)
    if fabric is None and cause is not None:
        site, position = history.locate_message(twin, cause)
        for _, message in twin.log.read(site, position, 1):
            return message.fabric
    return default_fabric(twin, fabric)


def _stream_start(twin: TwinPorts, site: str, last_event_id: str | None, since: str | None) -> int:
    """The position at which a stream starts. If the log was recreated and is shorter, its end."""
    end = twin.log.end(site)
    if last_event_id:
        return min(event_stream.parse_place(twin, "Last-Event-ID", last_event_id, site) + 1, end)
    return end if since is None else twin.log.position_at(site, history.parse_time(twin, "since", since)[0])


def _starts(
    twin: TwinPorts, site: str, since: str | None, since_us: int | None, cursor: str | None
) -> list[int]:
    """The positions from which messages are requested."""
    if since is not None and since_us is not None:
        raise InvalidInput(f"since {truncated(repr(since))}, since_us {since_us}: must not be given together")
    if since is not None:
        since_us = history.parse_time(twin, "since", since)[0]
    starts = [] if since_us is None else [twin.log.position_at(site, since_us)]
    if cursor is None:
        return starts
    place, end = event_stream.parse_place(twin, "cursor", cursor, site), twin.log.end(site)
    if place >= max(end, 1):
        raise InvalidInput(
            f"cursor {truncated(repr(cursor))}: is after the end of the log; must be at most "
            f"{cursor.rpartition(':')[0]}:{max(end, 1) - 1}"
        )
    return [*starts, place + 1]


def _ends(twin: TwinPorts, site: str, until: str | None, before: str | None) -> list[int]:
    """The positions before which messages are requested."""
    ends = [] if before is None else [event_stream.parse_place(twin, "before", before, site)]
    if until is None:
        return ends
    return [*ends, twin.log.position_at(site, history.parse_time(twin, "until", until)[1] + 1)]


def _check_order(twin: TwinPorts, since: str | None, until: str | None) -> None:
    """Raise InvalidInput if `since` is after `until`."""
    if since is None or until is None:
        return
    if history.parse_time(twin, "since", since)[0] > history.parse_time(twin, "until", until)[1]:
        raise InvalidInput(
            f"since {truncated(repr(since))}: must not be after until {truncated(repr(until))}"
        )


def _link(request: Request, page: LogPage, *, forward: bool) -> str | None:
    """The Link header of the next page (RFC 8288); None if there is none."""
    if not page.is_cut:
        return None
    position, message = page.found[-1 if forward else 0]
    parameters = [
        (word, value)
        for word, value in request.query_params.multi_items()
        if word not in ("cursor", "before")
    ]
    target = ("cursor" if forward else "before", f"{message.fabric}:{position}")
    return f'<{request.url.path}?{urlencode([*parameters, target])}>; rel="{"next" if forward else "prev"}"'


def _messages_response(
    twin: TwinPorts, messages: Sequence[Envelope], name: str | None, link: str | None
) -> Response:
    rows = b",".join([log_message_json(twin, message, name) for message in messages])
    headers = {} if link is None else {"Link": link}
    return Response(b"[%b]" % rows, media_type="application/json", headers=headers)
