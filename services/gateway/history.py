"""The log as people read it: since a moment, by type, by cause, as it grows, and back to the root."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from itertools import islice

import anyio

from schemas.envelope import Envelope
from schemas.registry import TYPES
from services.gateway.fabrics import site_of, sites
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

Types = tuple[str, ...]
"""Types of messages that somebody asks for; all where there are none."""

_cause_of = re.compile(rb'"cause": ?"([^"]+)"').search


def since_us(twin: TwinPorts, text: str) -> int:
    """`2h`, `1d12h`, `30s` before the twin's now, as simulated time."""
    span_s = duration_s(text)
    if span_s is None:
        raise InvalidInput(f"since {text!r}: not a duration; allowed are 30s, 15m, 2h, 1d12h")
    return max(0, twin.clock.show().now_us - span_s * US_PER_S)


def check_types(types: Types) -> None:
    """InvalidInput unless these are message types."""
    for kind in types:
        if kind not in TYPES:
            raise InvalidInput(f"type {kind!r}: no message type; allowed are {', '.join(TYPES)}")


def find(twin: TwinPorts, message_id: str) -> tuple[str, int]:
    """(site, position) of a message."""
    for site in sites(twin):
        position = twin.log.position_of(site, message_id)
        if position is not None:
            return site, position
    raise NotFound(f"message {message_id!r}: not in any log; ids are like scheduler@pod-0/42")


def events(
    twin: TwinPorts, fabric: str, *, start: int | None, types: Types = (), limit: int
) -> list[Envelope]:
    """The first `limit` messages of a fabric from a position of its site's log on; the last ones before the
    end where none is given."""
    check_types(types)
    site, wanted = site_of(twin, fabric), Wanted(fabric, types)
    if start is None:
        return last(twin, site, wanted.takes, limit, look_back=LOOK_BACK, line_filter=wanted.may_take)
    found = (m for _, m in twin.log.read(site, start, None, wanted.may_take) if wanted.takes(m))
    return list(islice(found, limit))


def last(
    twin: TwinPorts,
    site: str,
    wanted: Callable[[Envelope], bool],
    most: int,
    *,
    look_back: int,
    line_filter: LineFilter | None = None,
) -> list[Envelope]:
    """The last wanted messages among `look_back` before the end of a site's log, `most` of them, oldest
    first."""
    end = twin.log.end(site)
    first_of_all, stride = max(0, end - look_back), max(most, STRIDE)
    found: list[Envelope] = []
    while end > first_of_all and len(found) < most:
        first = max(first_of_all, end - stride)
        batch = twin.log.read(site, first, end - first, line_filter)
        found = [message for _, message in batch if wanted(message)] + found
        end, stride = first, 2 * stride
    return found[-most:]


def consequences(
    twin: TwinPorts, message_id: str, *, start_us: int = 0, types: Types = (), limit: int
) -> list[Envelope]:
    """Everything that followed from a message since a moment, directly or through others, in whatever fabric
    of its site, oldest first."""
    check_types(types)
    site, position = find(twin, message_id)
    known = {message_id.encode()}

    def follows(line: bytes) -> bool:
        cause = _cause_of(line)
        return cause is not None and cause[1] in known

    found: list[Envelope] = []
    for _, message in twin.log.read(site, position + 1, LOOK_ON, follows):
        known.add(message.id.encode())
        if message.at_us >= start_us and (not types or message.type in types):
            found.append(message)
        if len(found) >= limit:
            break
    return found


def why(twin: TwinPorts, message_id: str) -> list[Envelope]:
    """The chain of causes from a message back to its root."""
    chain: list[Envelope] = []
    cause: str | None = message_id
    while cause is not None and len(chain) < CHAIN_MAX:
        site, position = find(twin, cause)
        message = next((m for _, m in twin.log.read(site, position, 1)), None)
        if message is None:
            raise NotFound(f"message {cause!r}: cannot be read; it is among the dead letters")
        chain.append(message)
        cause = message.cause
    return chain


async def follow(
    twin: TwinPorts, fabric: str, start: int, types: Types = (), ended: anyio.Event | None = None
) -> AsyncGenerator[tuple[int, Envelope]]:
    """(position, message) of a fabric from a position of its site's log on, as the log grows, until `ended`
    is set."""
    site, wanted, position = site_of(twin, fabric), Wanted(fabric, types), start
    while ended is None or not ended.is_set():
        end = twin.log.end(site)
        batch = await asyncio.to_thread(_batch, twin, site, position, end, wanted.may_take)
        for at, message in batch:
            if wanted.takes(message):
                yield at, message
        if position < end:
            position = min(end, position + STRIDE)
        else:
            await asyncio.sleep(FOLLOW_S)


def _batch(
    twin: TwinPorts, site: str, start: int, end: int, line_filter: LineFilter
) -> list[tuple[int, Envelope]]:
    return list(twin.log.read(site, start, min(STRIDE, end - start), line_filter))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which messages of a site's log somebody asks for: those of one fabric, of some types or of all."""

    fabric: str
    types: Types

    def may_take(self, line: bytes) -> bool:
        """Holds back what is surely not wanted; what passes has to be looked at."""
        if not of_fabric(self.fabric)(line):
            return False
        return not self.types or any(f'"{kind}"'.encode() in line for kind in self.types)

    def takes(self, message: Envelope) -> bool:
        return message.fabric == self.fabric and (not self.types or message.type in self.types)


def of_fabric(fabric: str) -> LineFilter:
    """Holds back what is surely of another fabric; what passes has to be looked at."""
    word = f'"{fabric}"'.encode()
    return lambda line: word in line
