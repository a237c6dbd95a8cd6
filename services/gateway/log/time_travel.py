"""A twin whose every answer is of the moment that its caller asks about: of now, if of none.

Which moment that is belongs to the question, not to those who work out the answer: they read the same ports,
and know nothing of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.whatif import LossReport, WhatIfResult
from schemas.envelope import Envelope
from schemas.messages.operator import RequestSlice
from schemas.names import FaultKind
from schemas.request_metadata import RequestBody
from services.gateway.ports import FrameReader, PastPort, PastSitePort, QueriesPort, TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.parsing import parse_duration_s
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time_ms, parse_time_us
from shared.basics.units import US_PER_S
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState
from shared.storage.log.log_reader import LineFilter, LogQuery, LogReader
from shared.storage.store.state_store import DocumentReader, FabricPlace

NOW = "now"


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A moment of the past: how many messages each site had on its log."""

    at_us: int
    positions: Mapping[str, int]


class LogPositions(Protocol):
    """What tells which messages were on a site's log at a moment, as a `LogReader` does."""

    def end(self, site: str) -> int: ...

    def position_at(self, site: str, at_us: int) -> int: ...

    def position_of(self, site: str, message_id: str) -> int | None: ...

    def read(self, site: str, start: int, most: int | None = None) -> Iterator[tuple[int, Envelope]]: ...


def parse_point_in_time(
    text: str, now_us: int, sites: Sequence[str], log: LogPositions, word: str = "at"
) -> PointInTime:
    """The moment that somebody writes: `now`, and all that is on the logs; `-2h` before a twin's now; `5d3h`,
    `3d02:15:04` or `432000000us` since its beginning, and all that happened up to then; or a message's id,
    and all that followed from it. InvalidInput for what has not come yet, with the `word` before it, NotFound
    for the id of no message."""
    at_us = _latest_us(now_us, sites, log) if text == NOW else _time_us(text, now_us, word)
    if at_us is None:
        site, position = find_message(log, sites, text)
        ((_, message),) = log.read(site, position, 1)
        of_others = {name: log.position_at(name, message.at_us + 1) for name in sites if name != site}
        return PointInTime(message.at_us, {**of_others, site: position + 1})
    if at_us > now_us and at_us > _latest_us(now_us, sites, log):
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: the twin has not lived then; allowed are moments from its "
            f"beginning up to {format_time_ms(now_us)} ({now_us} us)"
        )
    return PointInTime(at_us, {name: log.position_at(name, at_us + 1) for name in sites})


def _latest_us(now_us: int, sites: Sequence[str], log: LogPositions) -> int:
    """Of the clock and of what was said last: requests that follow each other while the clock stands still
    come a microsecond behind one another."""
    lasts = [log.read(site, end - 1, 1) for site in sites if (end := log.end(site))]
    return max([now_us, *(message.at_us for last in lasts for _, message in last)])


def find_message(log: LogPositions, sites: Sequence[str], message_id: str) -> tuple[str, int]:
    """(site, position) of a message; NotFound where there is none."""
    for site in sites:
        position = log.position_of(site, message_id)
        if position is not None:
            return site, position
    raise NotFound(f"message {truncated(repr(message_id))}: not in any log; ids are like scheduler@pod-0/42")


def _time_us(text: str, now_us: int, word: str) -> int | None:
    """None where it may be the id of a message."""
    if "/" in text:
        return None
    found = parse_time_us(text)
    if found is not None:
        return min(found[1], now_us) if found[0] <= now_us else found[1]
    if text.endswith("us") and text[:-2].isdecimal() and len(text) <= 20:
        return int(text[:-2])
    span_s = parse_duration_s(text.removeprefix("-"))
    if span_s is None:
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: not a moment; allowed are durations before now like -2h, times "
            "since the beginning like 5d3h, 3d02:15:04 or 432000000us, and ids of messages like "
            "scheduler@pod-0/42"
        )
    return max(0, now_us - span_s * US_PER_S) if text.startswith("-") else span_s * US_PER_S


REQUESTED_TIME: ContextVar[PointInTime | None] = ContextVar("the moment that is asked about", default=None)


def with_time_travel(twin: TwinPorts, past: PastPort) -> TwinPorts:
    """The same twin, that answers of the past where that is asked."""
    documents = _PastDocuments(twin.documents, past)
    return replace(
        twin,
        documents=documents,
        log=_PastLog(twin.log),
        clock=_PastClock(twin.clock),
        telemetry=_newest(twin),
        frames=_frames(twin),
        is_quiet=lambda fabric: REQUESTED_TIME.get() is not None or twin.is_quiet(fabric),
        queries=_PastQueries(twin.queries, documents),
    )


class _PastDocuments:
    """A `DocumentReader`."""

    def __init__(self, present: DocumentReader, past: PastPort) -> None:
        self._present = present
        self._past = past

    def fabrics(self) -> dict[str, FabricPlace]:
        asked, now = REQUESTED_TIME.get(), self._present.fabrics()
        if asked is None:
            return now
        found = {}
        for name, place in now.items():
            retired = self._site(place, asked).fabrics.get(name)
            if retired is not None:
                found[name] = place if retired else replace(place, retired_us=None)
        return found

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        there = self.site_of(fabric)
        return self._present.all(fabric, kind) if there is None else dict(there.documents(fabric, kind))

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        there = self.site_of(fabric)
        if there is None:
            return self._present.one(fabric, kind, name)
        return there.documents(fabric, kind).get(name)

    def site_of(self, fabric: str) -> PastSitePort | None:
        """The site of a fabric at the moment that is asked about; None for now."""
        asked = REQUESTED_TIME.get()
        return None if asked is None else self._site(self._present.fabrics()[fabric], asked)

    def _site(self, place: FabricPlace, asked: PointInTime) -> PastSitePort:
        return self._past.site(place.site, asked.positions.get(place.site, 0))


class _PastLog:
    """A `LogReader` that ends at the moment that is asked about."""

    def __init__(self, present: LogReader) -> None:
        self._present = present

    def end(self, site: str) -> int:
        asked, end = REQUESTED_TIME.get(), self._present.end(site)
        return end if asked is None else min(end, asked.positions.get(site, 0))

    def position_at(self, site: str, at_us: int) -> int:
        return min(self._present.position_at(site, at_us), self.end(site))

    def position_of(self, site: str, message_id: str) -> int | None:
        found = self._present.position_of(site, message_id)
        return found if found is None or found < self.end(site) else None

    def read(
        self, site: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        there = max(0, self.end(site) - start)
        return self._present.read(site, start, there if most is None else min(there, most), line_filter)

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        return self._present.find(site, self._cut(site, query), most, newest=newest)

    def count(self, site: str, query: LogQuery) -> int:
        return self._present.count(site, self._cut(site, query))

    def _cut(self, site: str, query: LogQuery) -> LogQuery:
        return query if REQUESTED_TIME.get() is None else replace(query, end=min(query.end, self.end(site)))


class _PastClock(Clock):
    """Stands still at the moment that is asked about; nobody asks of then that it changes."""

    def __init__(self, present: Clock) -> None:
        self._present = present

    def show(self) -> ClockState:
        asked, shown = REQUESTED_TIME.get(), self._present.show()
        if asked is None:
            return shown
        return ClockState(asked.at_us, shown.speed, paused=True, achieved_speed=0.0, lag_us=0)

    def change(self, asked: ClockChange, who: str) -> None:
        self._present.change(asked, who)


class _PastQueries:
    """`Questions` on copies of the states of then."""

    def __init__(self, present: QueriesPort, documents: _PastDocuments) -> None:
        self._present = present
        self._documents = documents

    def _of(self, fabric: str) -> QueriesPort:
        there = self._documents.site_of(fabric)
        return self._present if there is None else there.queries

    def plan(self, fabric: str, wanted: RequestSlice, clock_us: int) -> SlicePlan:
        return self._of(fabric).plan(fabric, wanted, clock_us)

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str]
    ) -> SliceExplanation | None:
        return self._of(fabric).explain(fabric, name, clock_us, networks)

    def foresee(self, fabric: str, asked: Sequence[RequestBody], clock_us: int, for_us: int) -> WhatIfResult:
        return self._of(fabric).foresee(fabric, asked, clock_us, for_us)

    def loss(self, fabric: str, kind: FaultKind, target: str, clock_us: int) -> LossReport:
        return self._of(fabric).loss(fabric, kind, target, clock_us)

    def repairable(self, fabric: str, target: str) -> tuple[str, ...]:
        return self._of(fabric).repairable(fabric, target)


def _newest(twin: TwinPorts) -> Callable[[str], bytes | None]:
    """The newest frame of then, of those that are kept still."""

    def newest(fabric: str) -> bytes | None:
        asked = REQUESTED_TIME.get()
        if asked is None:
            return twin.telemetry(fabric)
        found = next(twin.frames(fabric, -1, asked.at_us, newest_first=True), None)
        return None if found is None else found[1]

    return newest


def _frames(twin: TwinPorts) -> FrameReader:
    def frames(
        fabric: str, after_us: int, until_us: int | None = None, *, newest_first: bool = False
    ) -> Iterator[tuple[int, bytes]]:
        asked = REQUESTED_TIME.get()
        if asked is not None:
            until_us = asked.at_us if until_us is None else min(until_us, asked.at_us)
        return twin.frames(fabric, after_us, until_us, newest_first=newest_first)

    return frames
