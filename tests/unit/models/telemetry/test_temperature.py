"""How warm modules are: a pure function, smooth over time, warmer at work."""

import numpy as np
import pytest

from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.assumptions import assumed
from shared.models.telemetry.temperature import hall_c, module_temperature_c

ENDS = np.arange(64 * 96)
LIT = np.ones(len(ENDS), dtype=np.bool_)


def test_the_hall_swings_by_day_and_by_weather_without_a_jump() -> None:
    hours = [hall_c(7, "pod-0", hour * US_PER_HOUR) for hour in range(24 * 200)]
    steps = np.abs(np.diff(hours))
    assert steps.max() < 1.0
    assert np.mean(hours) == pytest.approx(assumed("hall_temperature_c"), abs=0.5)
    by_day = np.array(hours).reshape(200, 24)
    assert by_day.mean(axis=1).std() == pytest.approx(assumed("hall_weather_sigma_k"), rel=0.35)
    of_a_day = by_day.mean(axis=0)
    swing = (of_a_day.max() - of_a_day.min()) / 2
    assert swing == pytest.approx(assumed("hall_daily_swing_k"), rel=0.2)


def test_modules_at_work_are_warmer_by_just_that() -> None:
    busy = module_temperature_c(7, "pod-0", ENDS, US_PER_DAY, LIT)
    idle = module_temperature_c(7, "pod-0", ENDS, US_PER_DAY, ~LIT)
    assert busy - idle == pytest.approx(np.full(len(ENDS), assumed("module_busy_rise_k")))


def test_modules_of_one_rack_have_a_share_of_it_in_common() -> None:
    found = module_temperature_c(7, "pod-0", ENDS, US_PER_DAY, LIT).reshape(64, 96)
    assert found.std(axis=1).mean() == pytest.approx(assumed("module_temperature_sigma_k"), rel=0.1)
    assert found.mean(axis=1).std() == pytest.approx(assumed("rack_temperature_sigma_k"), rel=0.35)


def test_each_end_may_have_its_own_time() -> None:
    moments = np.array([0, 5 * US_PER_HOUR, 0])
    ends = np.array([3, 3, 4])
    together = module_temperature_c(7, "pod-0", ends, moments, LIT[:3])
    alone = [
        module_temperature_c(7, "pod-0", ends[place : place + 1], int(moment), LIT[:1])[0]
        for place, moment in enumerate(moments)
    ]
    assert together.tolist() == pytest.approx(alone)


def test_another_fabric_or_seed_has_different_weather() -> None:
    assert len({hall_c(*key, US_PER_DAY // 3) for key in ((7, "pod-0"), (8, "pod-0"), (7, "pod-1"))}) == 3
