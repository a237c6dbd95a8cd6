"""Growth over runs: exact slopes, and how often a queue that grows, and one that does not, is reported."""

import heapq

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.statistics.trend import growth, slopes

DAYS, SAMPLES, SEEDS, EXPERIMENTS = 365.0, 41, 8, 60
TIMES = np.linspace(0.0, DAYS, SAMPLES)
SKIPPED = SAMPLES // 10


def test_slopes_are_those_of_a_polynomial_fit() -> None:
    drawn = np.random.default_rng(3).normal(size=(5, SAMPLES)).cumsum(axis=1)
    want = [np.polyfit(TIMES, row, 1)[0] for row in drawn]
    assert slopes(TIMES, drawn) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(
    ("rows", "chance"),
    [
        ([[0, 1, 2]], 1.0),  # nothing can be said of a single run
        ([[0, 1, 2], [1, 2, 3]], 0.0),
        ([[5, 5, 5], [1, 1, 1]], 1.0),
        ([[2, 1, 0], [3, 2, 1]], 1.0),  # one-sided
    ],
)
def test_of_runs_without_scatter_the_answer_is_certain(rows: list[list[float]], chance: float) -> None:
    assert growth([0, 1, 2], rows).chance == chance


def test_the_test_is_students() -> None:
    from scipy.stats import ttest_1samp

    drawn = np.random.default_rng(4).normal(size=(9, SAMPLES)) + 0.001 * TIMES
    found = growth(TIMES, drawn)
    want = ttest_1samp(slopes(TIMES, drawn), 0.0, alternative="greater")
    assert found.chance == pytest.approx(want.pvalue, rel=1e-9)
    assert found.runs == 9


@pytest.mark.parametrize(
    ("times", "rows"), [([0, 1], [0, 1]), ([0, 1, 2], [[0, 1]]), ([1, 1], [[0, 1]]), ([0], [[0]])]
)
def test_what_has_no_slope_is_refused(times: list[float], rows: object) -> None:
    with pytest.raises(InvalidInput):
        growth(times, rows)  # type: ignore[arg-type]  # what is refused


def number_in_system(rng: np.random.Generator, per_day: float, crews: int) -> list[int]:
    """A queue of its own: Poisson arrivals, log-normal work of a day in the mean, first come first served."""
    arrivals = np.cumsum(rng.exponential(1.0 / per_day, size=int(per_day * DAYS * 1.5) + 50))
    work = np.exp(0.5 * rng.normal(size=len(arrivals)) - 0.125)
    free = [0.0] * crews
    ends = []
    for at, days in zip(arrivals.tolist(), work.tolist(), strict=True):
        ends.append(max(at, heapq.heappop(free)) + days)
        heapq.heappush(free, ends[-1])
    here = np.searchsorted(arrivals, TIMES, "right") - np.searchsorted(np.sort(ends), TIMES, "right")
    return [int(n) for n in here]


def reported(load: float, crews: int) -> float:
    """Share of experiments whose growth is reported at 1 %."""
    rng = np.random.default_rng(round(100 * load) + crews)
    found = 0
    for _ in range(EXPERIMENTS):
        rows = [number_in_system(rng, load * crews, crews)[SKIPPED:] for _ in range(SEEDS)]
        found += growth(TIMES[SKIPPED:], rows).chance < 0.01
    return found / EXPERIMENTS


@pytest.mark.parametrize(("load", "crews"), [(0.51, 4), (0.68, 3)])
def test_a_steady_queue_is_rarely_reported(load: float, crews: int) -> None:
    assert reported(load, crews) <= 0.05


@pytest.mark.parametrize(("load", "crews"), [(1.13, 2), (2.05, 1)])
def test_an_overloaded_queue_is_reported(load: float, crews: int) -> None:
    assert reported(load, crews) >= 0.95
