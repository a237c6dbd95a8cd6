"""Demand over the day and the week, against sums over small steps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.workload.weekly_demand import demand_until, time_of_demand
from shared.basics.units import US_PER_DAY, US_PER_HOUR

WEEK_US = 7 * US_PER_DAY
swings = st.floats(0, 1)
weekends = st.floats(0, 3)


@given(st.integers(0, 50 * WEEK_US), swings, weekends)
def test_a_week_has_the_demand_of_a_week(at_us: int, swing: float, weekend: float) -> None:
    found = demand_until(at_us + WEEK_US, swing, weekend) - demand_until(at_us, swing, weekend)
    assert found == pytest.approx(WEEK_US, rel=1e-9)


@given(st.integers(0, 7 * 24 - 1), swings, weekends)
def test_the_demand_of_an_hour_is_that_of_its_day_and_time(hour: int, swing: float, weekend: float) -> None:
    """Against the rate summed over minutes."""
    day, start = divmod(hour, 24)
    rates = [1 + swing * math.sin(2 * math.pi * (start + (m + 0.5) / 60 - 8) / 24) for m in range(60)]
    of_day = (weekend if day >= 5 else 1.0) / ((5 + 2 * weekend) / 7)
    at_us = hour * US_PER_HOUR
    found = demand_until(at_us + US_PER_HOUR, swing, weekend) - demand_until(at_us, swing, weekend)
    assert found / US_PER_HOUR == pytest.approx(of_day * sum(rates) / 60, abs=1e-5)


@given(st.floats(0, 60.0 * WEEK_US), swings, weekends)
def test_the_result_is_the_first_time_by_which_the_demand_has_passed(
    demand_us: float, swing: float, weekend: float
) -> None:
    at_us = time_of_demand(demand_us, swing, weekend)
    tolerance_us = 2.0
    assert demand_until(at_us, swing, weekend) >= demand_us - tolerance_us
    assert at_us == 0 or demand_until(at_us - 1, swing, weekend) <= demand_us + tolerance_us


def test_without_a_cycle_demand_is_time() -> None:
    for at_us in (0, 5, US_PER_HOUR, 11 * US_PER_DAY + 17):
        assert demand_until(at_us, 0.0, 1.0) == pytest.approx(at_us)
        assert abs(time_of_demand(float(at_us), 0.0, 1.0) - at_us) <= 1


def test_a_weekend_without_demand_is_passed_over() -> None:
    friday_us = 5 * US_PER_DAY
    assert demand_until(friday_us, 0.4, 0.0) == pytest.approx(WEEK_US)
    assert time_of_demand(WEEK_US + 1e6, 0.4, 0.0) > WEEK_US
