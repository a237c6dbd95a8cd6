"""Following the log as it grows, for any number of people at the price of few: all share one look at its end,
and those who ask the same one reading of what came."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import anyio

from services.gateway.ports import TwinPorts
from services.gateway.text.messages import log_message_json
from shared.storage.log.log_reader import LogQuery

POLL_S = 0.2
"""Wall time between two looks at the end of a log."""
BATCH_MAX = 512
"""Messages that are taken at once."""
THREADS = 2
"""Of their own, so that nobody who asks something else waits for those who follow."""
CACHED_PARTS_MAX = 32
"""Readings that the next one who asks the same is given."""

Rows = list[tuple[int, str]]
"""Position and JSON of messages."""


class LogTail:
    """All who follow the logs of a twin. Its methods are called by event loops, one after the other."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin
        self._threads = ThreadPoolExecutor(THREADS, "following")
        self._log_ends: dict[str, tuple[float, int]] = {}
        """Site → when its end was looked at last, and where it was."""
        self._parts: OrderedDict[tuple[str, LogQuery], Future[Rows]] = OrderedDict()

    async def follow(
        self, site: str, query: LogQuery, ended: anyio.Event | None = None
    ) -> AsyncGenerator[tuple[int, str]]:
        """(position, JSON as `/v1/events` has it) of what is asked for from `query.start` on, as the log
        grows, until `ended` is set."""
        position = query.start
        while ended is None or not ended.is_set():
            looked_s, end = self._log_end(site)
            if position < end:
                part = replace(query, start=position, end=min(end, position + BATCH_MAX))
                for row in await self._read(site, part):
                    yield row
                position = part.end
            else:
                # All wake at once, and the first of them looks for all.
                await asyncio.sleep(max(0.0, looked_s + POLL_S - time.monotonic()))

    def _log_end(self, site: str) -> tuple[float, int]:
        now_s = time.monotonic()
        look = self._log_ends.get(site)
        if look is None or now_s - look[0] >= POLL_S:
            look = self._log_ends[site] = (now_s, self._twin.log.end(site))
        return look

    async def _read(self, site: str, part: LogQuery) -> Rows:
        wanted = (site, part)
        found = self._parts.get(wanted)
        if found is None:
            found = self._parts[wanted] = self._threads.submit(self._rows_of, site, part)
            if len(self._parts) > CACHED_PARTS_MAX:
                self._parts.popitem(last=False)
            found.add_done_callback(lambda done: done.exception() and self._parts.pop(wanted, None))
        # Who goes away takes nothing from the others.
        return await asyncio.shield(asyncio.wrap_future(found))

    def _rows_of(self, site: str, part: LogQuery) -> Rows:
        rows = self._twin.log.find(site, part, BATCH_MAX)
        return [(position, log_message_json(self._twin, message).decode()) for position, message in rows]
