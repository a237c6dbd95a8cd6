"""Log messages as server-sent events. The id of each event has its fabric and its position on the site's log,
so that a client can resume a stream."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from schemas.name_parts import fabric_part
from services.gateway.fabrics import site_of
from services.gateway.log.tail import POLL_S, LogTail
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, RateLimited
from shared.basics.spelling import truncated
from shared.storage.log.log_reader import LogQuery

SHUTDOWN_GRACE_S = 5 * POLL_S
"""Wall time for a stream to end in order when the server shuts down."""
PLACE_PATTERN = re.compile(r"([^:]{1,80}):(-1|[0-9]{1,15})")
RETIRED_EVENT = "retired"
"""Name of the event after the last message of a retired fabric."""
STREAMS_MAX = 64
"""Maximum number of open streams per name; clients without a name share one limit."""


class OpenStreams:
    """Counts the open streams of each name, so that one client cannot take all."""

    def __init__(self) -> None:
        self._open: Counter[str | None] = Counter()

    @contextmanager
    def slot(self, name: str | None) -> Iterator[None]:
        """Count a stream of this name until it ends; raise RateLimited if the name has too many. The check
        and the count are one step, because the event loop does not switch in between."""
        if self._open[name] >= STREAMS_MAX:
            whose = f"of {name} " if name else ""
            raise RateLimited(f"{STREAMS_MAX} streams {whose}are already open; close one first", 10)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1


class EventStream(EventSourceResponse):
    """A response of server-sent events; the data of each is a message as in `/v1/events`. It counts as a
    stream of its name from its first byte to its last."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[dict[str, str]], streams: OpenStreams, name: str | None, **options: Any
    ) -> None:
        super().__init__(events, **options)
        self._streams = streams
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raise RateLimited before anything is sent."""
        with self._streams.slot(self._name):
            await super().__call__(scope, receive, send)


async def events(
    tail: LogTail,
    fabric: str,
    site: str,
    query: LogQuery,
    ended: anyio.Event | None = None,
    *,
    about: str | None = None,
) -> AsyncGenerator[dict[str, str]]:
    """Server-sent events of a query until `ended` is set. The first has only an id, so a client that loses
    the stream before the first message can resume.

    If the fabric, or that of the name `about`, has retired and all messages are sent, an event `retired`
    follows, once, with the fabric's last message. Effects of a message may be of other fabrics, so a query
    for them has no such event.
    """
    yield {"id": f"{fabric}:{query.start - 1}"}
    place, can_end = query.start - 1, query.cause is None
    watched = fabric if about is None else fabric_part(about)
    async with aclosing(tail.follow(site, query, ended)) as messages:
        async for message in messages:
            if message is not None:
                place, row = message
                yield {"id": f"{fabric}:{place}", "data": row}
            elif can_end and (last := await tail.retirement(site, watched)) is not None:
                can_end = False
                yield {"event": RETIRED_EVENT, "id": f"{fabric}:{max(place, last[0])}", "data": last[1]}


def parse_place(twin: TwinPorts, word: str, text: str, site: str) -> int:
    """The position on a site's log in an event id or a cursor; raise InvalidInput if it is invalid."""
    match = PLACE_PATTERN.fullmatch(text)
    if match is None:
        raise InvalidInput(f"{word} {truncated(repr(text))}: must be a log position like pod-0:4207")
    if site_of(twin, match[1]) != site:
        raise InvalidInput(f"{word} {truncated(repr(text))}: not on the log of {site}, which the query reads")
    return int(match[2])
