"""Intervals in JSON."""

import json

from ops.common.intervals import bounds
from shared.models.statistics.means import mean_interval


def test_what_is_not_known_is_null_in_json() -> None:
    alone = bounds(mean_interval([3.0]))
    assert alone == {"value": 3.0, "low": None, "high": None, "deviation": None, "runs": 1}
    assert json.loads(json.dumps(alone, allow_nan=False)) == alone


def test_what_is_known_is_told() -> None:
    found = bounds(mean_interval([3.0, 5.0]))
    assert found["value"] == 4.0
    assert found["runs"] == 2
    assert found["deviation"] == 2.0**0.5
