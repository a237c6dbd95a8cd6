"""The speed that a living twin achieves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.units import US_PER_S
from shared.runtimes.simulated_clock import SPEED_WINDOW_S, SpeedMeter


def test_no_speed_is_reported_over_no_time() -> None:
    meter = SpeedMeter()
    assert meter.last is None
    assert meter.measure(10.0, 0) is None
    assert meter.measure(10.04, 5 * US_PER_S) is None
    assert meter.measure(10.05, 5 * US_PER_S) == pytest.approx(100.0)
    assert meter.last == (10.0, 0)


@given(st.floats(0.01, 1e6), st.lists(st.floats(0.001, 3.0), min_size=1, max_size=50))
def test_a_steady_speed_is_measured_exactly(speed: float, steps: list[float]) -> None:
    meter = SpeedMeter()
    wall_s = 0.0
    meter.measure(wall_s, 0)
    for step in steps:
        wall_s += step
        found = meter.measure(wall_s, round(wall_s * speed * US_PER_S))
        assert (found is None) == (wall_s < 0.05)
        if found is not None:
            assert found == pytest.approx(speed, rel=1e-3, abs=1e-4)


def test_samples_before_the_window_are_dropped() -> None:
    meter = SpeedMeter()
    meter.measure(0.0, 0)
    for second in range(1, 4):
        assert meter.measure(second, 0) == 0.0
    for second in range(4, 20):
        speed = meter.measure(second, (second - 3) * US_PER_S)
    assert speed == pytest.approx(1.0)
    assert meter.measure(19 + 3 * SPEED_WINDOW_S, 16 * US_PER_S) == 0.0


def test_a_cleared_meter_begins_again() -> None:
    meter = SpeedMeter()
    meter.measure(0.0, 0)
    meter.measure(1.0, 60 * US_PER_S)
    meter.clear()
    assert meter.last is None
    assert meter.measure(2.0, 0) is None
    assert meter.measure(3.0, US_PER_S) == 1.0


def test_time_that_was_set_back_is_measured_again() -> None:
    meter = SpeedMeter()
    meter.measure(0.0, 9 * US_PER_S)
    assert meter.measure(1.0, 2 * US_PER_S) is None
    assert meter.measure(2.0, 12 * US_PER_S) == pytest.approx(10.0)
