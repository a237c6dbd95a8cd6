"""Time travel: a twin whose answers are for the time that the request names, or for now.

The time belongs to the request. The code that computes an answer reads the same ports and does not know about
it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.whatif import LossReport, WhatIfResult
from schemas.envelope import Envelope
from schemas.messages.operator import RequestSlice
from schemas.names import FaultKind
from schemas.request_metadata import RequestBody
from services.gateway.requested_time import REQUESTED_TIME, PointInTime, at_present
from services.gateway.runtime_ports import FrameReader, PastPort, PastSitePort, QueriesPort, TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time, format_time_ms
from shared.basics.time_grammar import NOW, POINTS_ALLOWED, future_problem, read_time, time_problem
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch
from shared.storage.log.log_reader import LineFilter, LogQuery, LogReader
from shared.storage.store.state_store import DocumentReader, FabricPlace


class LogPositions(Protocol):
    """The parts of a `LogReader` that find the messages on a site's log at a given time."""

    def end(self, site: str) -> int: ...

    def position_at(self, site: str, at_us: int) -> int: ...

    def position_of(self, site: str, message_id: str) -> int | None: ...

    def read(self, site: str, start: int, most: int | None = None) -> Iterator[tuple[int, Envelope]]: ...


def parse_point_in_time(
    text: str, now_us: int, sites: Sequence[str], log: LogPositions, word: str = "at"
) -> PointInTime:
    """The time that a client names.

    - A time (`shared.basics.time_grammar`), with everything that happened up to then; `now` is everything on
      the logs.
    - A message id: the message, without what followed from it.

    Raise InvalidInput, named by `word`, for a time in the future or before the twin's start, and NotFound for
    an unknown message id.
    """
    at_us = _latest_us(now_us, sites, log) if text == NOW else _time_us(text, now_us, word)
    if at_us is None:
        site, position = find_message(log, sites, text)
        ((_, message),) = log.read(site, position, 1)
        other_positions = {name: log.position_at(name, message.at_us + 1) for name in sites if name != site}
        return PointInTime(message.at_us, {**other_positions, site: position + 1})
    check_not_future(text, at_us, now_us, sites, log, word)
    return PointInTime(at_us, {name: log.position_at(name, at_us + 1) for name in sites})


def _latest_us(now_us: int, sites: Sequence[str], log: LogPositions) -> int:
    """The later of the clock and the last messages: requests that arrive while the clock is paused get
    consecutive microseconds."""
    last_messages = [log.read(site, end - 1, 1) for site in sites if (end := log.end(site))]
    return max([now_us, *(message.at_us for last in last_messages for _, message in last)])


def find_message(log: LogPositions, sites: Sequence[str], message_id: str) -> tuple[str, int]:
    """(site, position) of a message; raise NotFound if there is none."""
    for site in sites:
        position = log.position_of(site, message_id)
        if position is not None:
            return site, position
    raise NotFound(f"message {truncated(repr(message_id))}: not on any log; ids are like scheduler@pod-0/42")


def _time_us(text: str, now_us: int, word: str) -> int | None:
    """The time of a text; None if it may be a message id."""
    if "/" in text:
        return None
    meant = read_time(text)
    if meant is None:
        raise InvalidInput(f"{word} {truncated(repr(text))}: {time_problem(text, POINTS_ALLOWED)}")
    first_us, last_us = meant.at(now_us)
    if first_us < 0:
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: is before the twin's start; must be at most "
            f"{format_time_ms(now_us)} before now"
        )
    return min(last_us, now_us) if first_us <= now_us else last_us


def check_not_future(
    text: str, at_us: int, now_us: int, sites: Sequence[str], log: LogPositions, word: str
) -> None:
    """Raise InvalidInput, named by `word`, if the time of a text is in the future."""
    if at_us > now_us and at_us > _latest_us(now_us, sites, log):
        problem = future_problem(text, now_us, f"{format_time_ms(now_us)} ({now_us} us)")
        raise InvalidInput(f"{word} {truncated(repr(text))}: {problem}")


def not_yet_error(twin: TwinPorts, site: str, what: str, name: str) -> NotFound | None:
    """The error for an object whose first message is after the requested time; None if there is none, or if
    the request is about now. `what` is its kind in the sentence."""
    requested = REQUESTED_TIME.get()
    if requested is None:
        return None
    with at_present():
        rows = twin.log.find(site, LogQuery(about=(name,), start=requested.positions.get(site, 0)), 1)
    if not rows:
        return None
    then, first = format_time(requested.at_us), format_time(rows[0][1].at_us)
    return NotFound(f"{what} {name}: did not exist yet at {then}; its first message is of {first}")


def locate_message(twin: TwinPorts, sites: Sequence[str], message_id: str) -> tuple[str, int]:
    """(site, position) of a message. Raise NotFound if there is none, or none yet at the requested time."""
    try:
        return find_message(twin.log, sites, message_id)
    except NotFound as error:
        requested = REQUESTED_TIME.get()
        if requested is None:
            raise
        with at_present():
            places = [(site, twin.log.position_of(site, message_id)) for site in sites]
            found = [
                message for site, at in places if at is not None for message in twin.log.read(site, at, 1)
            ]
        if not found:
            raise error from None
    then, at = format_time_ms(requested.at_us), format_time_ms(found[0][1].at_us)
    raise NotFound(f"message {truncated(message_id)}: is of {at}, after the requested time {then}")


def with_time_travel(twin: TwinPorts, past: PastPort) -> TwinPorts:
    """The same twin, but it answers from the past if the request names a time."""
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
    """A `DocumentReader` that reads at the requested time."""

    def __init__(self, present: DocumentReader, past: PastPort) -> None:
        self._present = present
        self._past = past

    def fabrics(self) -> dict[str, FabricPlace]:
        requested, now = REQUESTED_TIME.get(), self._present.fabrics()
        if requested is None:
            return now
        places = {}
        for name, place in now.items():
            retired = self._site(place, requested).fabrics.get(name)
            if retired is not None:
                places[name] = place if retired else replace(place, retired_us=None)
        return places

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        past_site = self.site_of(fabric)
        return (
            self._present.all(fabric, kind) if past_site is None else dict(past_site.documents(fabric, kind))
        )

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        past_site = self.site_of(fabric)
        if past_site is None:
            return self._present.one(fabric, kind, name)
        return past_site.documents(fabric, kind).get(name)

    def site_of(self, fabric: str) -> PastSitePort | None:
        """The site of a fabric at the requested time; None for now."""
        requested = REQUESTED_TIME.get()
        return None if requested is None else self._site(self._present.fabrics()[fabric], requested)

    def _site(self, place: FabricPlace, requested: PointInTime) -> PastSitePort:
        return self._past.site(place.site, requested.positions.get(place.site, 0))


class _PastLog:
    """A `LogReader` that ends at the requested time."""

    def __init__(self, present: LogReader) -> None:
        self._present = present

    def end(self, site: str) -> int:
        requested, end = REQUESTED_TIME.get(), self._present.end(site)
        return end if requested is None else min(end, requested.positions.get(site, 0))

    def position_at(self, site: str, at_us: int) -> int:
        return min(self._present.position_at(site, at_us), self.end(site))

    def position_of(self, site: str, message_id: str) -> int | None:
        position = self._present.position_of(site, message_id)
        return position if position is None or position < self.end(site) else None

    def read(
        self, site: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        available = max(0, self.end(site) - start)
        count = available if most is None else min(available, most)
        return self._present.read(site, start, count, line_filter)

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        return self._present.find(site, self._cut(site, query), most, newest=newest)

    def count(self, site: str, query: LogQuery) -> int:
        return self._present.count(site, self._cut(site, query))

    def _cut(self, site: str, query: LogQuery) -> LogQuery:
        return query if REQUESTED_TIME.get() is None else replace(query, end=min(query.end, self.end(site)))


class _PastClock(Clock):
    """A clock that is stopped at the requested time. Requests with a time never change it."""

    def __init__(self, present: Clock) -> None:
        self._present = present

    def show(self) -> ClockState:
        requested, shown = REQUESTED_TIME.get(), self._present.show()
        if requested is None:
            return shown
        return ClockState(requested.at_us, shown.speed, paused=True, achieved_speed=0.0, lag_us=0)

    def change(self, requested: ClockChange, who: str) -> Epoch:
        return self._present.change(requested, who)


class _PastQueries:
    """Queries on copies of the states at the requested time."""

    def __init__(self, present: QueriesPort, documents: _PastDocuments) -> None:
        self._present = present
        self._documents = documents

    def _of(self, fabric: str) -> QueriesPort:
        past_site = self._documents.site_of(fabric)
        return self._present if past_site is None else past_site.queries

    def plan(self, fabric: str, request: RequestSlice, clock_us: int) -> SlicePlan:
        return self._of(fabric).plan(fabric, request, clock_us)

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str]
    ) -> SliceExplanation | None:
        return self._of(fabric).explain(fabric, name, clock_us, networks)

    def predict(
        self, fabric: str, requested: Sequence[RequestBody], clock_us: int, for_us: int
    ) -> WhatIfResult:
        return self._of(fabric).predict(fabric, requested, clock_us, for_us)

    def loss(self, fabric: str, kind: FaultKind, target: str, clock_us: int) -> LossReport:
        return self._of(fabric).loss(fabric, kind, target, clock_us)

    def repairable(self, fabric: str, target: str) -> tuple[str, ...]:
        return self._of(fabric).repairable(fabric, target)


def _newest(twin: TwinPorts) -> Callable[[str], bytes | None]:
    """The newest stored frame at the requested time."""

    def newest(fabric: str) -> bytes | None:
        requested = REQUESTED_TIME.get()
        if requested is None:
            return twin.telemetry(fabric)
        frame = next(twin.frames(fabric, -1, requested.at_us, newest_first=True), None)
        return None if frame is None else frame[1]

    return newest


def _frames(twin: TwinPorts) -> FrameReader:
    def frames(
        fabric: str, after_us: int, until_us: int | None = None, *, newest_first: bool = False
    ) -> Iterator[tuple[int, bytes]]:
        requested = REQUESTED_TIME.get()
        if requested is not None:
            until_us = requested.at_us if until_us is None else min(until_us, requested.at_us)
        return twin.frames(fabric, after_us, until_us, newest_first=newest_first)

    return frames
