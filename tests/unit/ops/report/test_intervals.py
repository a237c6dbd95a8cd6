"""Intervals in JSON."""

import json

from ops.report.intervals import interval_json
from shared.models.statistics.means import mean_interval


def test_unknown_values_are_null_in_json() -> None:
    alone = interval_json(mean_interval([3.0]))
    assert alone == {"value": 3.0, "low": None, "high": None, "deviation": None, "runs": 1}
    assert json.loads(json.dumps(alone, allow_nan=False)) == alone


def test_known_values_are_reported() -> None:
    found = interval_json(mean_interval([3.0, 5.0]))
    assert found["value"] == 4.0
    assert found["runs"] == 2
    assert found["deviation"] == 2.0**0.5
