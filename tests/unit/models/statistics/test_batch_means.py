"""One long run, against processes whose means and deviations are known."""

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from shared.basics.errors import InvalidInput
from shared.models.statistics.batch_means import BATCHES_MIN, batch_means


def autoregressive(rng: np.random.Generator, n: int, memory: float, start: float = 0.0) -> np.ndarray:
    """Mean 0, each value `memory` of the one before and a standard normal."""
    noise = rng.normal(size=n)
    noise[0] = start
    return np.asarray(lfilter([1.0], [1.0, -memory], noise))


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_intervals_hold_the_mean_of_a_process_with_memory(memory: float) -> None:
    rng = np.random.default_rng(8)
    found = [batch_means(autoregressive(rng, 4096, memory)) for _ in range(600)]
    held = sum(one.interval.low <= 0.0 <= one.interval.high for one in found)
    assert stats.binomtest(held, 600, 0.95).pvalue > 0.001


def test_a_process_with_more_memory_has_longer_batches() -> None:
    rng = np.random.default_rng(9)
    lengths = [batch_means(autoregressive(rng, 8192, memory)).length for memory in (0.0, 0.8, 0.95)]
    assert lengths[0] == 1
    assert lengths[0] < lengths[1] < lengths[2]


def test_a_run_too_short_for_its_memory_reports_it() -> None:
    ramp = batch_means(np.arange(100.0))
    assert not ramp.is_sound
    assert ramp.correlation > 0.2


def test_so_few_values_are_no_run() -> None:
    with pytest.raises(InvalidInput, match="values 19"):
        batch_means(np.zeros(BATCHES_MIN - 1))
