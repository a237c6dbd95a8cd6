"""Messages as server-sent events: each with its fabric and its position on the site's log as id, so that
whoever loses a stream goes on."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from services.gateway.fabrics import site_of
from services.gateway.log.tail import POLL_S, LogTail
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, RateLimited
from shared.basics.spelling import truncated
from shared.storage.log.log_reader import LogQuery

SHUTDOWN_GRACE_S = 5 * POLL_S
"""Wall time that a stream has to end in good order when the server ends."""
PLACE_PATTERN = re.compile(r"([^:]{1,80}):(-1|[0-9]{1,15})")
STREAMS_MAX = 64
"""Open streams of one name, the nameless together."""


class OpenStreams:
    """How many streams each name reads: one may not take what all share."""

    def __init__(self) -> None:
        self._open: Counter[str | None] = Counter()

    @contextmanager
    def slot(self, name: str | None) -> Iterator[None]:
        """A stream of this name, until it is left; AllowanceUsed if the name reads as many as it may. Looking
        and counting is one step, for nothing of the event loop comes in between."""
        if self._open[name] >= STREAMS_MAX:
            whose = f"of {name} " if name else ""
            raise RateLimited(f"{STREAMS_MAX} streams {whose}are open already; end one first", 10)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1


class EventStream(EventSourceResponse):
    """Server-sent events, the data of each a message as `/v1/events` has it; a stream of its name from its
    first byte to its last."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[dict[str, str]], streams: OpenStreams, name: str | None, **options: Any
    ) -> None:
        super().__init__(events, **options)
        self._streams = streams
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """AllowanceUsed before anything is sent."""
        with self._streams.slot(self._name):
            await super().__call__(scope, receive, send)


async def events(
    tail: LogTail, fabric: str, site: str, query: LogQuery, ended: anyio.Event | None = None
) -> AsyncGenerator[dict[str, str]]:
    """Server-sent events of what is asked for, until `ended` is set. The first has only an id: whoever loses
    the stream before anything happened knows where to go on."""
    yield {"id": f"{fabric}:{query.start - 1}"}
    async with aclosing(tail.follow(site, query, ended)) as messages:
        async for position, row in messages:
            yield {"id": f"{fabric}:{position}", "data": row}


def parse_place(twin: TwinPorts, word: str, text: str, site: str) -> int:
    """The position that an id of an event or a cursor tells, on a site's log; InvalidInput where it is
    none."""
    match = PLACE_PATTERN.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: no place on a log; allowed are those like pod-0:4207"
        )
    if site_of(twin, match[1]) != site:
        raise InvalidInput(f"{word} {truncated(repr(text))}: not on the log of {site}, which is asked for")
    return int(match[2])
