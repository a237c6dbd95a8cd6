"""The log as people read it: since a moment, by type, by cause, as it grows, and back to the root."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from itertools import islice

import anyio

from schemas.envelope import Envelope
from schemas.registry import TYPES
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.grammar import duration_s
from shared.basics.units import US_PER_S
from shared.storage.log.reader import LineFilter

EVENTS_MAX = 10_000
EVENTS_DEFAULT = 100
CAUSE_DEFAULT = 1_000
CHAIN_MAX = 1_000
LOOK_BACK = 500_000
"""Messages before the end of the log that are looked through for the last ones of a type; about ten months of
a pod, and a third of a second."""
LOOK_ON = 200_000
"""Messages after a cause that are looked through for what followed from it."""
STRIDE = 512
"""Messages of the first look back from the end of the log; every further one is twice as long."""
FOLLOW_S = 0.2
"""Wall time between two looks at the end of the log."""

_cause_of = re.compile(rb'"cause": ?"([^"]+)"').search


def since_us(twin: TwinPorts, text: str) -> int:
    """`2h`, `1d12h`, `30s` before the twin's now, as simulated time."""
    span_s = duration_s(text)
    if span_s is None:
        raise InvalidInput(f"since {text!r}: not a duration; allowed are 30s, 15m, 2h, 1d12h")
    return max(0, twin.clock.show().now_us - span_s * US_PER_S)


def check_type(kind: str | None) -> None:
    """InvalidInput unless this is a message type, or none is asked for."""
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
    line_filter = _of_type(kind)
    if start is None:
        return last(
            twin,
            fabric,
            lambda m: kind in (None, m.type),
            limit,
            look_back=LOOK_BACK,
            line_filter=line_filter,
        )
    found = (m for _, m in twin.log.read(fabric, start, None, line_filter) if kind in (None, m.type))
    return list(islice(found, limit))


def last(
    twin: TwinPorts,
    fabric: str,
    wanted: Callable[[Envelope], bool],
    most: int,
    *,
    look_back: int,
    line_filter: LineFilter | None = None,
) -> list[Envelope]:
    """The last wanted messages among `look_back` before the end, `most` of them, oldest first."""
    end = twin.log.end(fabric)
    first_of_all, stride = max(0, end - look_back), max(most, STRIDE)
    found: list[Envelope] = []
    while end > first_of_all and len(found) < most:
        first = max(first_of_all, end - stride)
        batch = twin.log.read(fabric, first, end - first, line_filter)
        found = [message for _, message in batch if wanted(message)] + found
        end, stride = first, 2 * stride
    return found[-most:]


def consequences(
    twin: TwinPorts, message_id: str, *, start_us: int = 0, kind: str | None, limit: int
) -> list[Envelope]:
    """Everything that followed from a message since a moment, directly or through others, oldest first."""
    check_type(kind)
    fabric, position = find(twin, message_id)
    known = {message_id.encode()}

    def follows(line: bytes) -> bool:
        cause = _cause_of(line)
        return cause is not None and cause[1] in known

    found: list[Envelope] = []
    for _, message in twin.log.read(fabric, position + 1, LOOK_ON, follows):
        known.add(message.id.encode())
        if message.at_us >= start_us and kind in (None, message.type):
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
        message = next((m for _, m in twin.log.read(fabric, position, 1)), None)
        if message is None:
            raise NotFound(f"message {cause!r}: cannot be read; it is among the dead letters")
        chain.append(message)
        cause = message.cause
    return chain


async def follow(
    twin: TwinPorts, fabric: str, start: int, kind: str | None, ended: anyio.Event | None = None
) -> AsyncGenerator[tuple[int, Envelope]]:
    """(position, message) from a position on, as the log grows, until `ended` is set."""
    position, line_filter = start, _of_type(kind)
    while ended is None or not ended.is_set():
        end = twin.log.end(fabric)
        batch = await asyncio.to_thread(_batch, twin, fabric, position, end, line_filter)
        for at, message in batch:
            if kind in (None, message.type):
                yield at, message
        if position < end:
            position = min(end, position + STRIDE)
        else:
            await asyncio.sleep(FOLLOW_S)


def _batch(
    twin: TwinPorts, fabric: str, start: int, end: int, line_filter: LineFilter | None
) -> list[tuple[int, Envelope]]:
    return list(twin.log.read(fabric, start, min(STRIDE, end - start), line_filter))


def _of_type(kind: str | None) -> LineFilter | None:
    """Holds back what is surely of another type; what passes has to be looked at."""
    if kind is None:
        return None
    word = f'"{kind}"'.encode()
    return lambda line: word in line
