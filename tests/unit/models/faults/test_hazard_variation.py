"""How hazards move: the closed forms against processes that are drawn."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from shared.models.faults.hazard_variation import WEAR_MOST, Ageing, Variation
from tests.support.weekly_hazards import weekly_covariance

PUBLISHED = {"host": (0.30, 0.63), "link": (0.39, 0.82), "ocs": (0.43, 0.82)}
"""Weekly coefficient of variation, and autocorrelation at one week (NSDI 2024)."""


def drawn_multipliers(by: Variation, weeks: int, runs: int, seed: int) -> npt.NDArray[np.float64]:
    """Weekly means of many processes at once, shape (runs, weeks)."""
    random = np.random.default_rng(seed)
    level = random.standard_normal(runs)
    days = np.empty((runs, 7 * weeks))
    for day in range(7 * weeks):
        days[:, day] = np.exp(by.spread * level - 0.5 * by.spread**2)
        level = by.kept * level + math.sqrt(1 - by.kept**2) * random.standard_normal(runs)
    weekly: npt.NDArray[np.float64] = days.reshape(runs, weeks, 7).mean(axis=2)
    return weekly


@pytest.mark.parametrize("by", [Variation(0.336, 9.94), Variation(0.45, 25.0), Variation(0.8, 3.0)])
def test_weeks_vary_and_remember_as_the_closed_form_shows(by: Variation) -> None:
    weekly = drawn_multipliers(by, 40, 20_000, seed=5)
    assert weekly.mean() == pytest.approx(1.0, abs=0.01)
    variance = weekly_covariance(by, 0)
    assert ((weekly - 1.0) ** 2).mean() == pytest.approx(variance, rel=0.05)
    for weeks in (1, 4):
        products = (weekly[:, weeks:] - 1.0) * (weekly[:, :-weeks] - 1.0)
        assert products.mean() / variance == pytest.approx(weekly_covariance(by, weeks) / variance, abs=0.02)


def test_the_multiplier_is_composed_of_its_parts() -> None:
    by = Variation(0.5, 10.0)
    assert by.multiplier(0.0) == pytest.approx(1 / math.sqrt(1.25))  # the median of a log-normal with mean 1
    assert by.moved(1.0, 0.0) == pytest.approx(math.exp(-0.1))
    assert by.moved(0.0, 1.0) ** 2 + by.moved(1.0, 0.0) ** 2 == pytest.approx(1.0)


def test_without_variation_nothing_moves() -> None:
    by = Variation(0.0, 10.0)
    assert [by.multiplier(level) for level in (-3.0, 0.0, 3.0)] == [1.0, 1.0, 1.0]
    assert weekly_covariance(by, 1) == 0.0


def test_age_makes_a_bathtub() -> None:
    by = Ageing(infant_factor=4.0, infant_days=20.0, wear_out_days=1000.0)
    assert by.factor(0.0) == pytest.approx(4.0)
    assert by.factor(20.0) == pytest.approx(1 + 3 / math.e, rel=1e-4)
    assert by.factor(1000.0) == pytest.approx(2.0, rel=1e-6)
    assert by.factor(1e5) == pytest.approx(1.0 + WEAR_MOST)
    assert min(by.factor(age) for age in range(1000)) < 1.2
    assert all(by.factor(age) <= by.most for age in range(0, 5000, 7))
    assert not Ageing().matters
    assert Ageing().factor(500.0) == Ageing().most == 1.0
