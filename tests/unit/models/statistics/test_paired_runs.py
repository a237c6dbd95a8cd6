"""Differences of variants, against scipy's tests and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shared.models.statistics.paired_runs import holm, paired_difference, welch_difference

NUMBERS = st.floats(-1e3, 1e3)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=30))
def test_it_is_scipys_paired_t_test(rows: list[tuple[float, float]]) -> None:
    first, second = np.array(rows).T
    found = paired_difference(first, second)
    if np.std(first - second) < 1e-6:
        return
    want = stats.ttest_rel(first, second)
    low, high = want.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    assert found.chance == pytest.approx(want.pvalue, rel=1e-6, abs=1e-12)


def test_pairing_removes_the_common_variance_of_runs() -> None:
    drawn = np.random.default_rng(3).normal(size=(3, 4000))
    shared, own = 2.0 * drawn[0], drawn[1:]
    found = paired_difference(shared + own[0] + 0.1, shared + own[1])
    assert found.correlation == pytest.approx(0.8, abs=0.02)
    assert found.saved == pytest.approx(5.0, rel=0.1)
    alone = welch_difference(shared + own[0] + 0.1, shared + own[1])
    assert (alone.interval.half_width / found.interval.half_width) ** 2 == pytest.approx(
        found.saved, rel=1e-2
    )


def test_variants_that_never_differ_are_certainly_alike() -> None:
    same = paired_difference([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    assert (same.interval.value, same.interval.half_width, same.chance) == (0.0, 0.0, 1.0)
    more = paired_difference([2.0, 3.0, 5.0], [1.0, 2.0, 4.0])
    assert (more.interval.value, more.interval.half_width, more.chance) == (1.0, 0.0, 0.0)
    assert math.isnan(more.saved)


@given(
    st.lists(NUMBERS, min_size=2, max_size=20, unique=True),
    st.lists(NUMBERS, min_size=2, max_size=20, unique=True),
)
def test_without_common_seeds_it_is_welchs_interval(first: list[float], second: list[float]) -> None:
    if min(np.std(first), np.std(second)) < 1e-3:
        return
    found = welch_difference(first, second)
    test = stats.ttest_ind(first, second, equal_var=False)
    want = test.confidence_interval(0.95)
    low, high = found.interval.low, found.interval.high
    assert (low, high) == pytest.approx((want.low, want.high), rel=1e-6, abs=1e-6)
    assert found.chance == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)


def test_of_several_questions_each_is_read_more_strictly() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_rounding_errors_are_not_differences() -> None:
    """The kernel adds up the same spans in another order than the services."""
    there = np.array([0.6131923040617616, 0.7, 0.9])
    here = there + np.array([1.8e-15, 1.1e-16, -2.2e-16])
    found = paired_difference(here, there)
    assert (found.interval.low, found.interval.value, found.interval.high) == (0.0, 0.0, 0.0)
    assert found.chance == 1.0
    assert math.isnan(found.saved)
    assert paired_difference(there + 1e-9, there).interval.value == pytest.approx(1e-9, rel=1e-3)
