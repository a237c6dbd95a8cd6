"""The next root message of a site: the one rule that the lab, the embedded and the live sequencer, and every
replay share.

A *root* is a message without a cause on the log: a fabric's start or end, an operator's request, a Tick. A
site is quiet when everything caused by its last root has been read. Then exactly one root comes next: the
oldest waiting request, or the earliest due Tick that the clock has reached. If both are possible, they take
turns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.messages.upgrade import Upgraded
from schemas.names import fabric_order
from schemas.site_readings import SiteReading
from shared.engine.request_time import request_time_us

RETIREMENT_SEQ = 2
"""The sequencer's second message of a fabric is its end. A reader that has read it has retired."""

ReaderOrder = tuple[tuple[str, int], str]


def reader_order(fabric: str, service: str) -> ReaderOrder:
    """The sort key of a reader within its site: fabric, then service."""
    return fabric_order(fabric), service


class DueReader(Protocol):
    """The input of the root rule about one service of one fabric."""

    @property
    def fabric(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def due_us(self) -> int | None: ...
    @property
    def ticks(self) -> int: ...


DueReaderT = TypeVar("DueReaderT", bound=DueReader)


@dataclass(frozen=True, slots=True)
class ServiceProgress:
    """The published progress of one service of one fabric: its next due time, its number of Ticks, its
    simulated time, and the time of its last Tick (0 before the first)."""

    name: str
    fabric: str
    due_us: int | None
    ticks: int
    now_us: int
    ticked_us: int = 0

    @property
    def order(self) -> ReaderOrder:
        return reader_order(self.fabric, self.name)


@dataclass(frozen=True, slots=True)
class Request:
    """An operator's request to a fabric. Numbers rise along the requests of a site, with gaps."""

    number: int
    fabric: str
    body: Body


def is_root(message: Envelope) -> bool:
    """Whether a message has no cause on the log."""
    return message.cause is None


def earliest_due(readers: Iterable[DueReaderT]) -> DueReaderT | None:
    """Return the reader that is due first; among equals the first in order. None if no reader is due."""
    first: DueReaderT | None = None
    first_us = 0
    for reader in readers:
        due_us = reader.due_us
        if due_us is not None and (first is None or due_us < first_us):
            first, first_us = reader, due_us
    return first


def next_root(
    site: str,
    now_us: int,
    due: DueReader | None,
    request: Request | None,
    *,
    clock_us: int | None,
    ticked_us: int,
) -> Envelope | None:
    """Return the next root of a quiet site; None if there is nothing to do yet.

    `now_us` is the site's simulated time, `due` the reader that is due first, `request` the oldest waiting
    request, `clock_us` the clock (None if there is none and time stops), `ticked_us` the time of the site's
    last Tick, 0 before the first. A request always advances the site's time. So if the site's last Tick is
    earlier than its time, the last root was a request, and the Tick goes first.
    """
    ready = due is not None and due.due_us is not None and clock_us is not None and due.due_us <= clock_us
    if request is not None and not (ready and ticked_us < now_us):
        at_us = request_time_us(now_us, clock_us, due.due_us if due is not None else None)
        return request_message(site, request, at_us)
    return tick_message(due, now_us) if due is not None and ready else None


def request_message(site: str, request: Request, at_us: int) -> Envelope:
    """A request as a root at this time. The sequencer, and not the operator, is the source of the
    messages that commission and retire a fabric."""
    if isinstance(request.body, FabricCommissioned):
        return commissioning_message(request.fabric, request.body, at_us)
    if isinstance(request.body, FabricRetired):
        return retirement_message(request.fabric, request.body, at_us)
    return _root(request.body, request.fabric, at_us, operator_source(site), request.number)


def request_id(site: str, fabric: str, kind: str, number: int) -> str:
    """The id of the message that a request of this type and number becomes."""
    if kind == FabricCommissioned.__name__:
        return commissioning_id(fabric)
    if kind == FabricRetired.__name__:
        return retirement_id(fabric)
    return f"{operator_source(site)}/{number}"


def commissioning_id(fabric: str) -> str:
    """The id of a fabric's first message."""
    return f"{sequencer_source(fabric)}/1"


def commissioning_message(fabric: str, body: FabricCommissioned, at_us: int = 0) -> Envelope:
    """The first message of a fabric."""
    return _root(body, fabric, at_us, sequencer_source(fabric), 1)


def retirement_id(fabric: str) -> str:
    """The id of a fabric's last message. There is only one, even if it is requested several times."""
    return f"{sequencer_source(fabric)}/{RETIREMENT_SEQ}"


def retirement_message(fabric: str, body: FabricRetired, at_us: int) -> Envelope:
    """The last message of a fabric."""
    return _root(body, fabric, at_us, sequencer_source(fabric), RETIREMENT_SEQ)


def sequencer_source(fabric: str) -> str:
    """The source of a fabric's beginning and of its end."""
    return f"sequencer@{fabric}"


def upgrade_source(site: str) -> str:
    """The source of a site's upgrades."""
    return f"upgrade@{site}"


def upgrade_message(site: str, fabric: str, number: int, body: Upgraded, at_us: int) -> Envelope:
    """An upgrade of a site as a root on the log of one of its fabrics. The first upgrade has number 1."""
    return _root(body, fabric, at_us, upgrade_source(site), number)


def tick_message(reader: DueReader, now_us: int, readings: tuple[SiteReading, ...] | None = None) -> Envelope:
    """The Tick of a due reader, at its due time or at the site's time if that is later. `readings` answers
    its queries; None if it has none."""
    if reader.due_us is None:
        raise ValueError(f"{reader.name}@{reader.fabric} is not due")
    count = reader.ticks + 1
    body = Tick(service=reader.name, due_us=reader.due_us, count=count, readings=readings)
    return _root(body, reader.fabric, max(reader.due_us, now_us), tick_source(reader), count)


def operator_source(site: str) -> str:
    """The source of operators' requests for a site's fabrics."""
    return f"operator@{site}"


def tick_source(reader: DueReader) -> str:
    """The source of a reader's Ticks; their `seq` is its count of Ticks."""
    return f"tick.{reader.name}@{reader.fabric}"


def _root(body: Body, fabric: str, at_us: int, source: str, seq: int) -> Envelope:
    return enclose(body, fabric=fabric, at_us=at_us, cause=None, source=source, seq=seq)
