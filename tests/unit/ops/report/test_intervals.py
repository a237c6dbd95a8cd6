"""Intervals in JSON."""

import json

from ops.report.intervals import interval_json
from shared.models.statistics.means import mean_interval


def test_unknown_values_are_null_in_json() -> None:
    interval = interval_json(mean_interval([3.0]))
    assert interval == {"value": 3.0, "low": None, "high": None, "deviation": None, "runs": 1}
    assert json.loads(json.dumps(interval, allow_nan=False)) == interval


def test_known_values_are_reported() -> None:
    interval = interval_json(mean_interval([3.0, 5.0]))
    assert interval["value"] == 4.0
    assert interval["runs"] == 2
    assert interval["deviation"] == 2.0**0.5
