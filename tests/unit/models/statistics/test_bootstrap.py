"""Bounds by resampling, against scipy's."""

import numpy as np
import pytest
from scipy import stats

from shared.models.statistics.bootstrap import bca_interval
from shared.models.statistics.means import mean_interval


@pytest.mark.parametrize("seed", range(6))
def test_they_are_scipys_bounds_but_for_the_draw(seed: int) -> None:
    runs = np.random.default_rng(seed).exponential(size=40)
    found = bca_interval(runs)
    assert found is not None
    want = stats.bootstrap((runs,), np.mean, n_resamples=20_000, rng=1, method="BCa").confidence_interval
    width = want.high - want.low
    assert found == pytest.approx((want.low, want.high), abs=0.06 * width)


def test_of_skewed_runs_they_hold_the_mean_more_often_than_students() -> None:
    draws = np.random.default_rng(5).exponential(size=(600, 20))
    found = [bca_interval(runs) for runs in draws]
    held = sum(bounds is not None and bounds[0] <= 1.0 <= bounds[1] for bounds in found)
    students = sum(one.low <= 1.0 <= one.high for one in map(mean_interval, draws))
    assert held >= students - 6
    assert held > 0.89 * 600


def test_equal_runs_give_equal_bounds_and_few_runs_give_none() -> None:
    runs = np.random.default_rng(7).normal(size=12)
    assert bca_interval(runs) == bca_interval(runs)
    assert bca_interval(runs[:9]) is None
    assert bca_interval(np.full(20, 0.3)) is None
