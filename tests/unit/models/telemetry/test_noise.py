"""Normals from few bits and Poisson counts, against scipy's distributions."""

import numpy as np
import pytest
from scipy import stats

from shared.basics.keyed_random import draw_bits_array, draw_uniform_array
from shared.models.telemetry.noise import MANY_ERRORS, NORMALS_PER_DRAW, error_counts, normals

COUNTS = np.arange(40_000, dtype=np.uint64)
BITS = draw_bits_array(7, "pod-0", "noise of a test", COUNTS)
UNIFORM = draw_uniform_array(7, "pod-0", "uniforms of a test", COUNTS)


@pytest.mark.parametrize("place", range(NORMALS_PER_DRAW))
def test_normals_are_normal(place: int) -> None:
    drawn = normals(BITS, place)
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1.0, abs=0.02)
    assert stats.kstest(drawn, "norm").pvalue > 1e-3


def test_normals_of_one_draw_have_nothing_to_do_with_each_other() -> None:
    drawn = np.array([normals(BITS, place) for place in range(NORMALS_PER_DRAW)])
    off_diagonal = np.corrcoef(drawn) - np.eye(NORMALS_PER_DRAW)
    assert abs(off_diagonal).max() < 0.02


@pytest.mark.parametrize("mean", [0.0, 0.01, 1.0, 12.0, MANY_ERRORS - 1, MANY_ERRORS, 5e4])
def test_counts_are_poisson(mean: float) -> None:
    counts = error_counts(np.full(len(COUNTS), mean), normals(BITS, 0), UNIFORM)
    assert (counts == np.rint(counts)).all()
    assert counts.min() >= 0
    assert counts.mean() == pytest.approx(mean, abs=4 * np.sqrt(mean / len(COUNTS)) + 1e-12)
    assert counts.var() == pytest.approx(mean, rel=0.05 if mean >= 1 else 0.3)


@pytest.mark.parametrize("mean", [0.3, 7.0, 60.0])
def test_few_errors_are_drawn_through_the_distribution(mean: float) -> None:
    counts = error_counts(np.full(len(COUNTS), mean), np.zeros(len(COUNTS)), UNIFORM)
    assert (counts == stats.poisson.ppf(UNIFORM, mean)).mean() > 0.999


def test_nan_stays_nan() -> None:
    found = error_counts(np.array([np.nan, 3.0]), np.zeros(2), np.array([0.5, 0.5]))
    assert np.isnan(found).tolist() == [True, False]
