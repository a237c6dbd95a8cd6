"""The time from which an event had become inevitable."""

import pytest

from schemas.api.changes import TimedRequest
from schemas.api.forecast import PastEvent, StartPoint, StartPointReport
from schemas.messages.operator import InjectFault
from services.forecasts.inevitability import earliest_inevitable, find_inevitability, recurs, share_report
from services.gateway.explain.inevitability import start_spans_us
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.runtimes.process_pool import WorkerPool
from tests.support.pods import POD
from tests.unit.services.forecasts.test_futures import History

CUBE = "pod-0/cube-3"
POWER = InjectFault(kind="cube-power", target=CUBE)


@pytest.fixture(scope="module")
def history() -> History:
    return History()


def lost(history: History, after_us: int, about: str = CUBE) -> PastEvent:
    return PastEvent("cubes@pod-0/1", history.snapshot.at_us + after_us, POD, "CubePowerLost", about)


def test_later_requests_of_operators_are_replayed(history: History) -> None:
    event = lost(history, 2 * US_PER_HOUR)
    with_request = StartPoint(
        2 * US_PER_HOUR, history.bytes, history.snapshot.at_us, (TimedRequest(US_PER_HOUR, POD, POWER),)
    )
    left = StartPoint(2 * US_PER_HOUR, history.bytes, history.snapshot.at_us, ())
    counts: list[int] = []
    until_us = event.at_us + US_PER_HOUR
    inevitability = find_inevitability(
        event, [with_request, left], 3, until_us, WorkerPool(1, ""), counts.append
    )
    assert (inevitability.about, inevitability.at_us, inevitability.since_us) == (CUBE, event.at_us, None)
    assert counts == [1, 2, 3, 4, 5, 6]
    with_it, without_request = inevitability.moments
    assert (with_it.same, with_it.any) == (3, 3)
    assert (without_request.same, without_request.any) == (0, 0)


def test_the_same_event_on_another_resource_does_not_count(history: History) -> None:
    start = StartPoint(US_PER_HOUR, history.bytes, history.snapshot.at_us, (TimedRequest(0, POD, POWER),))
    assert recurs(lost(history, US_PER_HOUR), start, history.snapshot.at_us + US_PER_HOUR, 1) == (True, True)
    other_cube = lost(history, US_PER_HOUR, "pod-0/cube-4")
    assert recurs(other_cube, start, history.snapshot.at_us + US_PER_HOUR, 1) == (False, True)


def test_an_event_after_the_deadline_does_not_count(history: History) -> None:
    start = StartPoint(
        US_PER_HOUR, history.bytes, history.snapshot.at_us, (TimedRequest(3 * US_PER_HOUR, POD, POWER),)
    )
    event = lost(history, US_PER_HOUR)
    assert recurs(event, start, history.snapshot.at_us + 2 * US_PER_HOUR, 1) == (False, False)
    assert recurs(event, start, history.snapshot.at_us + 4 * US_PER_HOUR, 1) == (True, True)


def test_search_times_converge() -> None:
    spans = start_spans_us(3 * US_PER_DAY, 8)
    assert (spans[0], spans[-1]) == (3 * US_PER_DAY, US_PER_MIN)
    assert spans == sorted(spans, reverse=True)
    assert len(set(spans)) == len(spans)
    assert start_spans_us(US_PER_MIN, 5) == [US_PER_MIN]
    assert start_spans_us(US_PER_HOUR, 1) == [US_PER_HOUR]


def row(before_us: int, same: int) -> StartPointReport:
    share = share_report(same, 20)
    return StartPointReport(
        before_us=before_us, futures=20, same=same, any=same, recurred_share=share, type_share=share
    )


def test_an_event_is_inevitable_from_where_all_later_starts_lead_to_it() -> None:
    rows = [row(50, 20), row(40, 3), row(30, 19), row(20, 20), row(10, 20)]
    first = earliest_inevitable(rows)
    assert first is not None
    assert first.before_us == 30
    assert (
        earliest_inevitable([row(20, 20), row(10, 12)]) is None
    )  # 12 of 20 times: not certainly more often than not
    assert earliest_inevitable([]) is None
