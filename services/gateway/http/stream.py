"""Messages as server-sent events: each with its fabric and its position on the site's log as id, so that
whoever loses a stream goes on."""

import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio

from services.gateway import history
from services.gateway.fabrics import site_of
from services.gateway.ports import TwinPorts
from services.gateway.telling import told_row
from shared.basics.errors import AllowanceUsed, InvalidInput
from shared.storage.log.reader import LogQuery

STREAM_END_S = 5 * history.FOLLOW_S
"""Wall time that a stream has to end in good order when the server ends."""
PLACE = re.compile(r"([^:]{1,80}):(-1|[0-9]{1,15})")


STREAMS_MAX = 64
"""Open streams of one name, the nameless together."""


class OpenStreams:
    """How many streams each name reads: one may not take what all share."""

    def __init__(self) -> None:
        self._open: Counter[str | None] = Counter()

    def check_room(self, name: str | None) -> None:
        """AllowanceUsed if the name reads as many as it may."""
        if self._open[name] >= STREAMS_MAX:
            whose = f"of {name} " if name else ""
            raise AllowanceUsed(f"{STREAMS_MAX} streams {whose}are open already; end one first", 10)

    async def counted(
        self, name: str | None, events: AsyncGenerator[dict[str, str]]
    ) -> AsyncGenerator[dict[str, str]]:
        """The same events; they count as a stream of the name until they end."""
        self._open[name] += 1
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            self._open[name] -= 1


async def events(
    twin: TwinPorts, fabric: str, site: str, query: LogQuery, ended: anyio.Event | None = None
) -> AsyncGenerator[dict[str, str]]:
    """Server-sent events of what is asked for, until `ended` is set. The first has only an id: whoever loses
    the stream before anything happened knows where to go on."""
    yield {"id": f"{fabric}:{query.start - 1}"}
    async with aclosing(history.follow(twin, site, query, ended)) as messages:
        async for position, message in messages:
            yield {"id": f"{fabric}:{position}", "data": told_row(twin, message).decode()}


def place(twin: TwinPorts, word: str, text: str, site: str) -> int:
    """The position that an id of an event or a cursor tells, on a site's log; InvalidInput where it is
    none."""
    match = PLACE.fullmatch(text)
    if match is None:
        raise InvalidInput(f"{word} {text[:80]!r}: no place on a log; allowed are those like pod-0:4207")
    if site_of(twin, match[1]) != site:
        raise InvalidInput(f"{word} {text[:80]!r}: not on the log of {site}, which is asked for")
    return int(match[2])
