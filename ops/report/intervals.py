"""Confidence intervals as JSON. Infinite values become null."""

import math

from shared.models.statistics.means import Interval

ReportFields = dict[str, object]
"""The fields of a report, for output as JSON or YAML."""


def interval_json(interval: Interval) -> dict[str, float | int | None]:
    """Return an interval as JSON. A bound or deviation that is infinite or not a number is None."""
    return {
        "value": interval.value,
        "low": finite_or_none(interval.low),
        "high": finite_or_none(interval.high),
        "deviation": finite_or_none(interval.deviation),
        "runs": interval.runs,
    }


def finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
