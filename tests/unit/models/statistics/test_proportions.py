"""Shares, against scipy's intervals and against counting every outcome."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shared.basics.errors import InvalidInput
from shared.models.statistics.proportions import exact_share, wilson_share

TIMES = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(TIMES, st.floats(0.5, 0.999))
def test_they_are_scipys_intervals(of: tuple[int, int], confidence: float) -> None:
    for share, method in ((exact_share, "exact"), (wilson_share, "wilson")):
        found, want = share(*of, confidence), stats.binomtest(*of).proportion_ci(confidence, method)  # type: ignore[arg-type]  # the words are those of scipy
        assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-9)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.5, 0.97])
def test_the_exact_one_holds_the_share_as_often_as_it_says(share: float) -> None:
    times = 60
    held = 0.0
    for happened in range(times + 1):
        found = exact_share(happened, times)
        held += stats.binom.pmf(happened, times, share) * (found.low <= share <= found.high)
    assert held >= 0.95


def test_what_never_happened_still_may() -> None:
    found = exact_share(0, 100)
    assert found.low == 0.0
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 100))


@pytest.mark.parametrize(("happened", "times"), [(0, 0), (-1, 5), (6, 5)])
def test_no_more_happens_than_there_are_times(happened: int, times: int) -> None:
    with pytest.raises(InvalidInput):
        exact_share(happened, times)
