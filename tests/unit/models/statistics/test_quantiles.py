"""Quantiles by order, against counting how often they hold."""

import math

import numpy as np
import pytest
from scipy import stats

from shared.models.statistics.quantiles import quantile_interval


@pytest.mark.parametrize(("share", "n"), [(0.5, 6), (0.5, 40), (0.95, 72), (0.95, 200), (0.05, 100)])
def test_an_interval_holds_the_quantile_as_often_as_it_says(share: float, n: int) -> None:
    found = quantile_interval(np.arange(1.0, n + 1), share)
    low = 0 if math.isinf(found.low) else int(found.low)
    high = n + 1 if math.isinf(found.high) else int(found.high)
    # The quantile lies between the runs of these ranks if that many of n, or more and fewer, are below it.
    held = stats.binom.cdf(high - 1, n, share) - stats.binom.cdf(low - 1, n, share)
    assert held >= 0.95
    if low:
        assert stats.binom.cdf(low, n, share) > 0.025, "and no wider than need be"
    assert stats.binom.cdf(high - 2, n, share) < 0.975


def test_too_few_runs_tell_no_upper_bound() -> None:
    assert quantile_interval(np.arange(71.0), 0.95).high == math.inf
    assert quantile_interval(np.arange(72.0), 0.95).high == 71.0
    assert quantile_interval([3.0], 0.5).low == -math.inf


def test_the_value_is_the_run_of_nearest_rank() -> None:
    runs = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert [quantile_interval(runs, share).value for share in (0.0, 0.2, 0.21, 0.5, 0.95, 1.0)] == [
        *(1.0, 1.0, 2.0, 3.0, 5.0, 5.0)
    ]
