"""Counts of many replications against the birth-death chain."""

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.availability.machine_repair import machine_repair
from shared.models.reliability import down_counts
from shared.models.reliability.down_counts import count_down


@pytest.mark.parametrize(
    ("machines", "crews", "failing", "begin"),
    [(1, 1, 0.5, 0), (4, 4, 1.0, 0), (48, 2, 0.02, 1), (1_024, 12, 0.008, 8), (100, 3, 0.5, 90)],
)
def test_as_many_are_down_as_the_chain_shows(machines: int, crews: int, failing: float, begin: int) -> None:
    found = count_down(
        machines, crews, failing, 1.0, seed=3, replications=1_001, events=400, warm_up=200, begin=begin
    )
    expected = machine_repair(machines, crews, failing, 1.0).mean_down
    assert found.events == 400 * 1_001
    assert found.down == pytest.approx(expected, abs=4.5 * found.error)
    assert found.error < 0.02 * expected + 0.01


def test_its_error_is_that_of_seeds() -> None:
    """The means of seeds differ from each other by as much as their stated errors."""
    runs = [count_down(48, 2, 0.02, 1.0, seed=n, replications=100, events=200, warm_up=50) for n in range(60)]
    spread = np.std([one.down for one in runs], ddof=1)
    assert spread == pytest.approx(np.mean([one.error for one in runs]), rel=0.35)  # 60 seeds: ± 9 % each


def test_the_batch_size_of_draws_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"seed": 1, "replications": 11, "events": 50}
    whole = count_down(9, 2, 0.3, 1.0, **request)
    monkeypatch.setattr(down_counts, "BLOCK", 7)
    assert count_down(9, 2, 0.3, 1.0, **request).down == whole.down


def test_impossible_values_are_refused() -> None:
    with pytest.raises(InvalidInput, match="begin 10: must be between 0 and 9"):
        count_down(9, 2, 0.3, 1.0, seed=1, replications=10, events=10, begin=10)
    with pytest.raises(InvalidInput, match="replications 1: must be between 2 and 10,000,000"):
        count_down(9, 2, 0.3, 1.0, seed=1, replications=1, events=10)
