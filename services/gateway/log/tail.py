"""Follows the log as it grows, for any number of clients at low cost: all clients share one check for new
messages, and clients with the same query share one read."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from math import inf

import anyio

from schemas.messages.sequencer import FabricRetired
from services.gateway.hidden_truth import HIDES_TRUTH
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.messages import log_message_json
from shared.basics.errors import StoreUnreachable
from shared.storage.log.log_reader import LogQuery

POLL_S = 0.2
"""Wall time between two checks for the end of a log, in seconds."""
FABRICS_POLL_S = 1.0
"""Wall time between two checks whether fabrics have retired, in seconds."""
BATCH_MAX = 512
"""Messages that are read at once."""
THREADS = 2
"""Separate threads, so that other requests do not wait for clients that follow the log."""
CACHED_PARTS_MAX = 32
"""Reads that are kept for the next client with the same query."""

Rows = list[tuple[int, str]]
"""Position and JSON of messages."""


class LogTail:
    """All clients that follow the logs of a twin. Event loops call its methods, one after the other."""

    def __init__(self, twin: TwinPorts) -> None:
        self._twin = twin
        self._threads = ThreadPoolExecutor(THREADS, "log-tail")
        self._log_ends: dict[str, tuple[float, int]] = {}
        """Site → when its end was last checked, and the position then."""
        self._ends: Mapping[str, int | None] = {}
        """Fabric → when it retired, as of the last check."""
        self._ends_checked_s = -inf
        self._parts: OrderedDict[tuple[str, LogQuery, bool], Future[Rows]] = OrderedDict()
        """Site, query, and whether the truth is hidden from the client → the read."""

    async def follow(
        self, site: str, query: LogQuery, ended: anyio.Event | None = None
    ) -> AsyncGenerator[tuple[int, str] | None]:
        """(position, JSON as in `/v1/events`) of the messages from `query.start` on, as the log grows, until
        `ended` is set. None at each check that finds no new messages."""
        position = query.start
        while ended is None or not ended.is_set():
            checked_s, end = self._log_end(site)
            if position < end:
                part = replace(query, start=position, end=min(end, position + BATCH_MAX))
                for row in await self._read(site, part):
                    yield row
                position = part.end
            else:
                yield None
                # All clients wake up together; the first one checks for all.
                await asyncio.sleep(max(0.0, checked_s + POLL_S - time.monotonic()))

    async def retirement(self, site: str, fabric: str) -> tuple[int, str] | None:
        """(position, JSON as in `/v1/events`) of the last message of a fabric; None if it has not retired."""
        now_s = time.monotonic()
        if now_s - self._ends_checked_s >= FABRICS_POLL_S:
            self._ends_checked_s = now_s
            # In a thread, because the store may be slow.
            self._ends = await asyncio.wrap_future(self._threads.submit(self._read_ends))
        if (ended_us := self._ends.get(fabric)) is None:
            return None
        start = self._twin.log.position_at(site, ended_us)
        query = LogQuery(start, self._log_end(site)[1], fabric, (FabricRetired.__name__,))
        found = await self._read(site, query)
        return found[0] if found else None

    def _read_ends(self) -> Mapping[str, int | None]:
        try:
            places = self._twin.documents.fabrics()
        except StoreUnreachable:
            return self._ends
        return {name: place.retired_us for name, place in places.items()}

    def _log_end(self, site: str) -> tuple[float, int]:
        now_s = time.monotonic()
        known = self._log_ends.get(site)
        if known is None or now_s - known[0] >= POLL_S:
            known = self._log_ends[site] = (now_s, self._twin.log.end(site))
        return known

    async def _read(self, site: str, part: LogQuery) -> Rows:
        key = (site, part, HIDES_TRUTH.get())
        read = self._parts.get(key)
        if read is None:
            read = self._parts[key] = self._threads.submit(copy_context().run, self._rows_of, site, part)
            if len(self._parts) > CACHED_PARTS_MAX:
                self._parts.popitem(last=False)
            read.add_done_callback(lambda done: done.exception() and self._parts.pop(key, None))
        # A client that disconnects must not cancel the read for the others.
        return await asyncio.shield(asyncio.wrap_future(read))

    def _rows_of(self, site: str, part: LogQuery) -> Rows:
        rows = self._twin.log.find(site, part, BATCH_MAX)
        return [(position, log_message_json(self._twin, message).decode()) for position, message in rows]
