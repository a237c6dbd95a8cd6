"""`lightwave inevitable`: its sentences about start times before an event."""

import pytest

from ops.cli.what_if.inevitable import _table
from schemas.api.forecast import InevitabilityResult, StartPointReport
from services.forecasts.inevitability import earliest_inevitable, share_report
from shared.basics.units import US_PER_HOUR


@pytest.mark.parametrize(
    ("same", "futures", "sentence"),
    [
        (1, 1, "1 future does not tell whether it was likely"),
        (2, 2, "2 futures do not tell whether it was likely"),
        (3, 3, "3 futures do not tell whether it was likely"),
        (10, 20, "20 futures do not tell whether it was likely"),
        (20, 20, "more likely than not from 1h before the event"),
        (0, 20, "it was not more likely than not at any of these times"),
    ],
)
def test_it_shows_no_more_than_the_interval_does(same: int, futures: int, sentence: str) -> None:
    share = share_report(same, futures)
    row = StartPointReport(
        before_us=US_PER_HOUR, futures=futures, same=same, any=same, recurred_share=share, type_share=share
    )
    first = earliest_inevitable([row])
    result = InevitabilityResult(
        id="scheduler@pod-0/42",
        type="SliceRequeued",
        about="pod-0/slice-4",
        at_us=5 * US_PER_HOUR,
        since_us=None if first is None else first.before_us,
        moments=(row,),
    )
    lines = _table("event", result).splitlines()
    assert lines[-1] == sentence
    heads = next(line for line in lines if line.startswith("BEFORE")).split()
    assert len({*heads}) == len(heads), "each column can be chosen with --columns"
    assert [head.upper() for head in heads] == heads
