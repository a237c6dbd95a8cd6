"""Intervals of means, against scipy's and against drawing many times."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shared.basics.errors import InvalidInput
from shared.models.statistics.means import Interval, Precision, check_points, mean_interval, runs_needed

CONFIDENCES = st.floats(0.5, 0.999)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), CONFIDENCES)
def test_it_is_scipys_t_interval(values: list[float], confidence: float) -> None:
    found = mean_interval(values, confidence)
    assert found.value == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    error = stats.sem(values)
    if error > 1e-9:
        low, high = stats.t.interval(confidence, len(values) - 1, np.mean(values), error)
        assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)


def test_of_normal_runs_nineteen_of_twenty_intervals_hold_the_mean() -> None:
    draws = np.random.default_rng(4).normal(3.0, 2.0, (4000, 10))
    held = sum(one.low <= 3.0 <= one.high for one in map(mean_interval, draws))
    assert stats.binomtest(held, 4000, 0.95).pvalue > 0.001


def test_a_single_run_shows_nothing_of_its_bounds() -> None:
    found = mean_interval([0.3])
    assert (found.value, found.low, found.high, found.runs) == (0.3, -math.inf, math.inf, 1)


def test_equal_runs_have_an_interval_without_width() -> None:
    assert mean_interval([0.3, 0.3, 0.3]).half_width == 0.0


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        mean_interval([1.0, 2.0], confidence)


def test_without_runs_there_is_no_mean() -> None:
    with pytest.raises(InvalidInput, match="runs 0"):
        mean_interval([])


def test_a_share_of_the_unknown_mean_is_requested_more_narrowly_of_the_known_one() -> None:
    precision = Precision(relative_half_width=0.25)
    assert precision.wanted(10.0) == pytest.approx(2.0)
    assert precision.is_met(Interval(-10.0, -12.0, -8.0, 0.95, 10))
    assert not precision.is_met(Interval(-10.0, -12.1, -7.9, 0.95, 10))
    assert not precision.is_met(Interval(0.0, -0.1, 0.1, 0.95, 10))


def test_of_two_precisions_the_narrower_one_counts() -> None:
    precision = Precision(half_width=1.0, relative_half_width=0.25)
    assert precision.wanted(10.0) == 1.0
    assert precision.wanted(1.0) == pytest.approx(0.2)


def test_the_means_are_checked_at_growing_distances_and_at_the_end() -> None:
    assert check_points(10, 60) == (10, 15, 22, 33, 49, 60)
    assert check_points(10, 10) == (10,)
    assert check_points(2, 4) == (2, 3, 4)


@pytest.mark.parametrize("half", [0.5, 0.3, 0.2])
def test_stopping_at_the_wanted_width_keeps_the_coverage_of_the_mean(half: float) -> None:
    """From 20 runs on, with few checks: within a hundredth of the stated rate."""
    draws = np.random.default_rng(6).normal(1.0, 1.0, (4000, 400))
    held = 0
    for runs in draws:
        found = next(
            one
            for n in check_points(20, 400)
            if (one := mean_interval(runs[:n])).half_width <= half or n == 400
        )
        held += found.low <= 1.0 <= found.high
    assert 0.94 - 0.0086 <= held / 4000 <= 0.96, "2.5 standard deviations of so many draws below 0.94 at most"


@given(st.floats(0.01, 100), st.floats(0.01, 10), CONFIDENCES)
def test_this_many_runs_are_enough_and_one_fewer_is_not(
    deviation: float, half: float, confidence: float
) -> None:
    def width(n: int) -> float:
        return float(stats.t.ppf((1 + confidence) / 2, n - 1)) * deviation / math.sqrt(n)

    needed = runs_needed(deviation, half, confidence)
    if needed < 10_000_000:
        assert width(needed) <= half * (1 + 1e-9)
    if needed > 2:
        assert width(needed - 1) > half * (1 - 1e-9)
