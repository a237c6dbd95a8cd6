"""Routes to the log: since a moment, by type, by cause, as it grows, and back to the root."""

from collections.abc import Sequence
from typing import Annotated

import anyio
from fastapi import APIRouter, Header, Query, Response
from sse_starlette import EventSourceResponse

from schemas.api import LogMessage
from schemas.bounds import COUNT_MAX
from schemas.envelope import Envelope
from services.gateway import history
from services.gateway.fabrics import meant, site_of
from services.gateway.http import stream
from services.gateway.http.responses import no_json
from services.gateway.ports import TwinPorts
from services.gateway.telling import told_row
from shared.basics.errors import InvalidInput

Limit = Annotated[int | None, Query(ge=1, le=history.EVENTS_MAX, description="messages at most")]
Since = Annotated[str | None, Query(description="simulated time back from now: 30s, 15m, 2h, 1d12h")]
SinceUs = Annotated[int | None, Query(ge=0, le=COUNT_MAX)]
Type = Annotated[tuple[str, ...], Query(description="only this message type; may be given several times")]
Fabric = Annotated[
    str | None, Query(description="of this fabric; without one pod-0, or the first where there is none")
]
Cause = Annotated[str | None, Query(description="only what followed from this message")]


class EventStream(EventSourceResponse):
    """Server-sent events, the data of each a message as `/v1/events` has it."""

    media_type = "text/event-stream"


def routes(twin: TwinPorts) -> APIRouter:
    """Messages that have come, messages as they come, and why."""
    router = APIRouter(prefix="/v1", tags=["log"])

    @router.get("/events", summary="Messages of the log, oldest first", response_model=list[LogMessage])
    def events(
        fabric: Fabric = None,
        since: Since = None,
        since_us: SinceUs = None,
        type: Type = (),  # noqa: A002 -- the word that people type
        cause: Cause = None,
        limit: Limit = None,
    ) -> Response:
        """With a moment, the first messages from there on; without one, the last before now. With a cause,
        the first that followed from it, whatever its fabric."""
        asked = meant(twin, fabric)
        start_us = _start_us(twin, since, since_us)
        if cause is not None:
            most = limit or history.CAUSE_DEFAULT
            found = history.consequences(twin, cause, start_us=start_us or 0, types=type, limit=most)
            return _dumped(twin, found)
        start = None if start_us is None else twin.log.position_at(site_of(twin, asked), start_us)
        most = limit or (history.EVENTS_DEFAULT if start is None else history.EVENTS_MAX)
        return _dumped(twin, history.events(twin, asked, start=start, types=type, limit=most))

    @router.get(
        "/events/stream",
        summary="Messages as they come, as server-sent events",
        response_class=Response,
        responses=no_json(EventStream, "the stream"),
    )
    def follow(
        fabric: Fabric = None,
        since: Since = None,
        type: Type = (),  # noqa: A002 -- the word that people type
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> EventStream:
        asked = meant(twin, fabric)
        history.check_types(type)
        site = site_of(twin, asked)
        end = twin.log.end(site)
        place = stream.resume_at(last_event_id, asked, end)
        if place is None:
            place = end if since is None else twin.log.position_at(site, history.since_us(twin, since))
        ended = anyio.Event()
        return EventStream(
            stream.events(twin, asked, place, type, ended),
            shutdown_event=ended,
            shutdown_grace_period=stream.STREAM_END_S,
        )

    @router.get(
        "/why/{message_id:path}",
        summary="The chain of causes back to the root",
        response_model=list[LogMessage],
    )
    def why(message_id: str) -> Response:
        return _dumped(twin, history.why(twin, message_id))

    return router


def _start_us(twin: TwinPorts, since: str | None, since_us: int | None) -> int | None:
    """The moment that a question begins with, told in one of two ways."""
    if since is None:
        return since_us
    if since_us is not None:
        raise InvalidInput(f"since {since!r}, since_us {since_us}: only one of them is allowed")
    return history.since_us(twin, since)


def _dumped(twin: TwinPorts, messages: Sequence[Envelope]) -> Response:
    rows = b",".join([told_row(twin, message) for message in messages])
    return Response(b"[%b]" % rows, media_type="application/json")
