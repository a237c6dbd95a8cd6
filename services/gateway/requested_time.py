"""The past time that a request names (`?at=`), and what was not there yet at that time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
from shared.engine.message_order import commissioning_id


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A past time, with the number of messages that each site had on its log."""

    at_us: int
    positions: Mapping[str, int]
    commissioned: set[str] = field(default_factory=set, compare=False)
    """Fabrics that are known to be commissioned by then."""


REQUESTED_TIME: ContextVar[PointInTime | None] = ContextVar("requested_time", default=None)


@contextmanager
def at_present() -> Iterator[None]:
    """Read the present in a request about the past."""
    token = REQUESTED_TIME.set(None)
    try:
        yield
    finally:
        REQUESTED_TIME.reset(token)


def check_commissioned(twin: TwinPorts, site: str, fabric: str) -> None:
    """Raise NotFound if a fabric was commissioned after the requested time."""
    requested = REQUESTED_TIME.get()
    if requested is None or fabric in requested.commissioned:
        return
    position, commissioned_us = commissioning(twin, site, fabric)
    if position >= requested.positions.get(site, 0):
        raise NotFound(
            f"fabric {fabric}: did not exist yet at {format_time(requested.at_us)}; it was commissioned at "
            f"{format_time(commissioned_us)}"
        )
    requested.commissioned.add(fabric)


def check_not_before_commissioning(
    twin: TwinPorts, site: str, fabric: str, text: str, end_us: int, word: str
) -> None:
    """Raise InvalidInput, named by `word`, if a span of time that the text ends is over before a fabric was
    commissioned."""
    _, commissioned_us = commissioning(twin, site, fabric)
    if end_us < commissioned_us:
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: is before {fabric} was commissioned at "
            f"{format_time(commissioned_us)}"
        )


def commissioning(twin: TwinPorts, site: str, fabric: str) -> tuple[int, int]:
    """(position, time in microseconds) of the first message of a fabric. Zeros if it cannot be read, because
    it is a dead letter or in the part of the log that an upgrade closed."""
    with at_present():
        position = twin.log.position_of(site, commissioning_id(fabric))
        if position is not None:
            for _, message in twin.log.read(site, position, 1):
                return position, message.at_us
    return 0, 0
