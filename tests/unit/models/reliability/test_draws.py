"""Draws of the kernel: the same bits on every machine, with the stated distributions."""

from hashlib import sha256

import numpy as np
import pytest

from shared.models.reliability.draws import exponentials, indices, lognormals, minus_log


def test_the_logarithm_is_right_within_a_unit_in_the_last_place() -> None:
    draws = exponentials(3, "a", "b", 0, 1_000_000)
    uniform = np.exp(-draws)
    spread = np.concatenate((uniform, np.logspace(-300, 0, 10_001), [2.0**-53, 0.5, np.sqrt(0.5)]))
    expected = -np.log(spread)
    found = minus_log(spread)
    assert np.max(np.abs(found - expected) / np.spacing(np.maximum(np.abs(expected), 1e-300))) <= 2.0


def test_exponential_draws_have_these_very_bits() -> None:
    """Nothing but integers and the four operations: a machine that differs has a fault."""
    assert (
        sha256(exponentials(7, "machine", "gap", 5, 100_000).tobytes()).hexdigest()[:16] == "3b2d22473ff92822"
    )


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_draws_have_mean_one(sigma: float) -> None:
    many = 200_000
    found = lognormals(1, "a", "b", 0, many, sigma)
    assert found.mean() == pytest.approx(1.0, abs=5 * np.sqrt(np.expm1(sigma**2) / many) + 1e-12)
    assert exponentials(1, "a", "b", 0, many).mean() == pytest.approx(1.0, abs=5 / np.sqrt(many))


def test_draws_are_known_by_their_counts() -> None:
    whole = exponentials(1, "a", "b", 0, 100)
    assert np.array_equal(whole[40:], exponentials(1, "a", "b", 40, 60))
    assert np.array_equal(indices(1, "a", "b", 0, 100, 7)[40:], indices(1, "a", "b", 40, 60, 7))


def test_indices_are_spread_evenly_over_all() -> None:
    found = np.bincount(indices(1, "a", "b", 0, 70_000, 7))
    assert found.shape == (7,)
    assert np.abs(found - 10_000).max() < 5 * np.sqrt(10_000)
