"""Proportions, against scipy's intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shared.basics.errors import InvalidInput
from shared.models.statistics.means import wilson_share

TIMES = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(TIMES, st.floats(0.5, 0.999))
def test_intervals_equal_those_of_scipy(of: tuple[int, int], confidence: float) -> None:
    found, want = wilson_share(*of, confidence), stats.binomtest(*of).proportion_ci(confidence, "wilson")
    assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-9)


def test_the_interval_of_an_event_that_never_occurred_is_not_empty() -> None:
    found = wilson_share(0, 100)
    assert found.low == 0.0
    assert 0.03 < found.high < 0.04


@pytest.mark.parametrize(("happened", "times"), [(0, 0), (-1, 5), (6, 5)])
def test_no_more_happens_than_there_are_times(happened: int, times: int) -> None:
    with pytest.raises(InvalidInput):
        wilson_share(happened, times)
