"""When something that happened had become inevitable."""

import pytest

from schemas.api.changes import TimedRequest
from schemas.api.forecast import PastEvent, StartPoint, StartPointReport
from schemas.messages.operator import InjectFault
from services.forecasts.inevitability import earliest_inevitable, find_inevitability, recurs, share_report
from services.gateway.explain.inevitability import start_spans_us
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.runtimes.process_pool import WorkerPool
from tests.support.pods import POD
from tests.unit.services.forecasts.test_futures import Lived

CUBE = "pod-0/cube-3"
POWER = InjectFault(kind="cube-power", target=CUBE)


@pytest.fixture(scope="module")
def lived() -> Lived:
    return Lived()


def lost(lived: Lived, after_us: int, about: str = CUBE) -> PastEvent:
    return PastEvent("cubes@pod-0/1", lived.held.at_us + after_us, POD, "CubePowerLost", about)


def test_what_someone_did_meanwhile_is_done_again(lived: Lived) -> None:
    event = lost(lived, 2 * US_PER_HOUR)
    done = StartPoint(
        2 * US_PER_HOUR, lived.bytes, lived.held.at_us, (TimedRequest(US_PER_HOUR, POD, POWER),)
    )
    left = StartPoint(2 * US_PER_HOUR, lived.bytes, lived.held.at_us, ())
    counts: list[int] = []
    until_us = event.at_us + US_PER_HOUR
    found = find_inevitability(event, [done, left], 3, until_us, WorkerPool(1, ""), counts.append)
    assert (found.about, found.at_us, found.since_us) == (CUBE, event.at_us, None)
    assert counts == [1, 2, 3, 4, 5, 6]
    with_it, without = found.moments
    assert (with_it.same, with_it.any) == (3, 3)
    assert (without.same, without.any) == (0, 0)


def test_the_same_of_another_thing_is_not_the_same(lived: Lived) -> None:
    start = StartPoint(US_PER_HOUR, lived.bytes, lived.held.at_us, (TimedRequest(0, POD, POWER),))
    assert recurs(lost(lived, US_PER_HOUR), start, lived.held.at_us + US_PER_HOUR, 1) == (True, True)
    other = lost(lived, US_PER_HOUR, "pod-0/cube-4")
    assert recurs(other, start, lived.held.at_us + US_PER_HOUR, 1) == (False, True)


def test_what_comes_too_late_did_not_come(lived: Lived) -> None:
    start = StartPoint(
        US_PER_HOUR, lived.bytes, lived.held.at_us, (TimedRequest(3 * US_PER_HOUR, POD, POWER),)
    )
    event = lost(lived, US_PER_HOUR)
    assert recurs(event, start, lived.held.at_us + 2 * US_PER_HOUR, 1) == (False, False)
    assert recurs(event, start, lived.held.at_us + 4 * US_PER_HOUR, 1) == (True, True)


def test_times_come_closer_and_closer() -> None:
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


def test_it_is_inevitable_from_where_all_later_times_lead_to_it() -> None:
    rows = [row(50, 20), row(40, 3), row(30, 19), row(20, 20), row(10, 20)]
    first = earliest_inevitable(rows)
    assert first is not None
    assert first.before_us == 30
    assert (
        earliest_inevitable([row(20, 20), row(10, 12)]) is None
    )  # of 20 times 12: not surely more often than not
    assert earliest_inevitable([]) is None
