"""What `lightwave inevitable` says of moments before an event."""

import pytest

from ops.cli.what_if.inevitable import _spans, _table
from services.forecasts.inevitability import PastEvent, StartPointResult, earliest_inevitable
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR, US_PER_MIN
from shared.models.statistics.proportions import wilson_share

FIRST = PastEvent(US_PER_MIN - 1, "pod-0", "SliceAdmitted", "pod-0/slice-0")
EVENT = PastEvent(5 * US_PER_HOUR, "pod-0", "SliceRequeued", "pod-0/slice-4")


@pytest.mark.parametrize(
    ("same", "futures", "sentence"),
    [
        (2, 2, "2 futures do not tell whether it was likely"),
        (3, 3, "3 futures do not tell whether it was likely"),
        (10, 20, "20 futures do not tell whether it was likely"),
        (20, 20, "more likely than not from 1h before it on"),
        (0, 20, "at none of these moments was it more likely than not"),
    ],
)
def test_it_shows_no_more_than_the_interval_does(same: int, futures: int, sentence: str) -> None:
    share = wilson_share(same, futures)
    rows = [StartPointResult(US_PER_HOUR, futures, same, same, share, share)]
    assert _table("told", EVENT, rows, earliest_inevitable(rows)).splitlines()[-1] == sentence


def test_of_what_the_twin_began_with_there_is_no_time_before() -> None:
    with pytest.raises(InvalidInput, match="happened in the twin's first 1m"):
        _spans(FIRST, US_PER_HOUR, 8)
    assert _spans(EVENT, US_PER_HOUR, 1) == [US_PER_HOUR]
