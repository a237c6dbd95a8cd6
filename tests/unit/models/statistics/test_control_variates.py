"""Control variates, against known results for the normal distribution."""

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.statistics.control_variates import controlled_mean
from shared.models.statistics.means import mean_interval


def test_the_variance_falls_by_the_explained_part() -> None:
    """Of correlation r the variance falls to 1 − r²."""
    drawn = np.random.default_rng(5).normal(size=(2, 20_000))
    control = 3.0 + drawn[0]
    values = 10.0 + 0.8 * drawn[0] + 0.6 * drawn[1]
    found = controlled_mean(values, control, 3.0)
    assert found.saved == pytest.approx(1.0 / 0.36, rel=0.03)
    assert found.weight == pytest.approx(0.8, abs=0.02)
    assert found.interval.low < 10.0 < found.interval.high


def test_weights_are_those_of_the_other_runs() -> None:
    drawn = np.random.default_rng(6).normal(size=(2, 12))
    values, controls = drawn[0] + drawn[1], drawn[1]
    adjusted = []
    for n in range(12):
        others = np.delete(np.arange(12), n)
        weight = np.cov(values[others], controls[others])[0, 1] / np.var(controls[others], ddof=1)
        adjusted.append(values[n] - weight * (controls[n] - 0.1))
    found = controlled_mean(values, controls, 0.1)
    want = mean_interval(adjusted)
    assert (found.interval.value, found.interval.low) == pytest.approx((want.value, want.low))


def test_intervals_cover_at_their_stated_rate() -> None:
    drawn = np.random.default_rng(8)
    held = 0
    for _ in range(2_000):
        control, own = drawn.normal(size=(2, 20))
        found = controlled_mean(control + own, control, 0.0).interval
        held += found.low <= 0.0 <= found.high
    assert held / 2_000 == pytest.approx(0.95, abs=0.015)


def test_a_control_that_never_varies_changes_nothing() -> None:
    values = np.random.default_rng(1).normal(size=15)
    assert controlled_mean(values, np.ones(15), 1.0).interval == mean_interval(values)


def test_impossible_values_are_refused() -> None:
    with pytest.raises(InvalidInput, match="runs"):
        controlled_mean([1.0] * 9, [1.0] * 9, 1.0)
    with pytest.raises(InvalidInput, match="one for each"):
        controlled_mean([1.0] * 12, [1.0] * 11, 1.0)
