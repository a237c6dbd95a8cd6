"""Messages as server-sent events: each with its fabric and its position on the site's log as id, so that
whoever loses a stream goes on."""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio

from services.gateway import history
from services.gateway.ports import TwinPorts
from services.gateway.telling import told_row

STREAM_END_S = 5 * history.FOLLOW_S
"""Wall time that a stream has to end in good order when the server ends."""


async def events(
    twin: TwinPorts, fabric: str, start: int, types: history.Types = (), ended: anyio.Event | None = None
) -> AsyncIterator[dict[str, str]]:
    """Server-sent events from a position on, until `ended` is set. The first has only an id: whoever loses
    the stream before anything happened knows where to go on."""
    yield {"id": f"{fabric}:{start - 1}"}
    async with aclosing(history.follow(twin, fabric, start, types, ended)) as messages:
        async for position, message in messages:
            yield {"id": f"{fabric}:{position}", "data": told_row(twin, message).decode()}


def resume_at(last_event_id: str | None, fabric: str, end: int) -> int | None:
    """The position after the last one that a client saw, from its Last-Event-ID; None if that tells nothing.
    A log that has begun anew since then is taken up at its end."""
    name, _, position = (last_event_id or "").rpartition(":")
    if name != fabric or not re.fullmatch(r"-1|[0-9]{1,15}", position):
        return None
    return min(int(position) + 1, end)
