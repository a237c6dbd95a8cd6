"""What the field's claims are known to."""

import numpy as np
import pytest
from scipy import stats

from ops.reproduce.pods import failure_weeks


def test_few_fleets_are_known_by_students_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = (
        np.random.default_rng(3).poisson(30.0, (failure_weeks.FLEETS, failure_weeks.WEEKS)).astype(np.float64)
    )
    monkeypatch.setattr(failure_weeks, "_fleet", lambda _of, seed: drawn[seed])
    means = drawn.mean(axis=1)
    found = failure_weeks._over_fleets("machines", lambda weekly: float(weekly.mean()))
    want = stats.t.interval(0.95, failure_weeks.FLEETS - 1, means.mean(), stats.sem(means))
    assert found.value == pytest.approx(means.mean())
    assert found.interval == pytest.approx(want)
    assert found.tolerance == pytest.approx(2.0 * means.std(ddof=1))
