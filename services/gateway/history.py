"""The log as people read it: since a moment, by type, by cause, as it grows, and back to the root."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from schemas.envelope import Envelope
from schemas.registry import TYPES, encode
from services.gateway.ports import TwinPorts
from shared.errors import InvalidInput, NotFound
from shared.units import US_PER_DAY, US_PER_HOUR, US_PER_S

EVENTS_MAX = 10_000
EVENTS_DEFAULT = 100
CAUSE_DEFAULT = 1_000
CHAIN_MAX = 1_000
CASCADE_LOOK_MAX = 200_000
"""Messages read on from a cause in search of what followed from it."""
FOLLOW_S = 0.2
"""Wall time between two looks at the end of the log."""
UNITS_US = {"s": US_PER_S, "m": 60 * US_PER_S, "h": US_PER_HOUR, "d": US_PER_DAY}


def since_us(twin: TwinPorts, text: str) -> int:
    """`2h`, `1d12h`, `30s` before the twin's now, as simulated time."""
    parts = re.findall(r"([0-9]{1,9})([smhd])", text)
    if not parts or "".join(n + u for n, u in parts) != text:
        raise InvalidInput(f"since {text!r}: not a duration; allowed are 30s, 15m, 2h, 1d12h")
    span_us = sum(int(number) * UNITS_US[unit] for number, unit in parts)
    return max(0, twin.clock.show().now_us - span_us)


def check_type(kind: str | None) -> None:
    if kind is not None and kind not in TYPES:
        raise InvalidInput(f"type {kind!r}: no message type; allowed are {', '.join(TYPES)}")


def find(twin: TwinPorts, message_id: str) -> tuple[str, int]:
    """(fabric, position) of a message."""
    for fabric in twin.documents.fabrics():
        position = twin.log.position_of(fabric, message_id)
        if position is not None:
            return fabric, position
    raise NotFound(f"message {message_id!r}: not in any log; ids are like scheduler@pod-0/42")


def events(
    twin: TwinPorts, fabric: str, *, start: int | None, kind: str | None, limit: int
) -> list[Envelope]:
    """The first `limit` messages from a position on; the last ones before the end where none is given."""
    check_type(kind)
    if start is not None:
        return _first(_of_type(twin.log.read(fabric, start), kind), limit)
    stride, end = max(limit, 512), twin.log.end(fabric)
    found: list[Envelope] = []
    while end > 0 and len(found) < limit:
        first = max(0, end - stride)
        found = list(_of_type(twin.log.read(fabric, first, end - first), kind)) + found
        end = first
    return found[-limit:]


def consequences(twin: TwinPorts, message_id: str, *, kind: str | None, limit: int) -> list[Envelope]:
    """Everything that followed from a message, directly or through others, oldest first."""
    check_type(kind)
    fabric, position = find(twin, message_id)
    known = {message_id}
    found: list[Envelope] = []
    for _, message in twin.log.read(fabric, position + 1, CASCADE_LOOK_MAX):
        if message.cause in known:
            known.add(message.id)
            if kind is None or message.type == kind:
                found.append(message)
            if len(found) >= limit:
                break
    return found


def why(twin: TwinPorts, message_id: str) -> list[Envelope]:
    """The chain of causes from a message back to its root."""
    chain: list[Envelope] = []
    cause: str | None = message_id
    while cause is not None and len(chain) < CHAIN_MAX:
        fabric, position = find(twin, cause)
        _, message = next(twin.log.read(fabric, position, 1))
        chain.append(message)
        cause = message.cause
    return chain


async def follow(twin: TwinPorts, fabric: str, start: int, kind: str | None) -> AsyncIterator[dict[str, Any]]:
    """Server-sent events from a position on, for ever."""
    position = start
    while True:
        batch = await asyncio.to_thread(lambda at: list(twin.log.read(fabric, at, 500)), position)
        for at, message in batch:
            if kind is None or message.type == kind:
                yield {"id": f"{fabric}:{at}", "data": encode(message).decode()}
        if batch:
            position = batch[-1][0] + 1
        else:
            await asyncio.sleep(FOLLOW_S)


def resume_at(last_event_id: str | None, fabric: str) -> int | None:
    """The position after the last one that a client saw, from its Last-Event-ID."""
    name, _, position = (last_event_id or "").rpartition(":")
    return int(position) + 1 if name == fabric and position.isdecimal() else None


def _of_type(messages: Iterator[tuple[int, Envelope]], kind: str | None) -> Iterator[Envelope]:
    return (message for _, message in messages if kind is None or message.type == kind)


def _first(messages: Iterator[Envelope], limit: int) -> list[Envelope]:
    return [message for _, message in zip(range(limit), messages, strict=False)]
