"""Confidence intervals as JSON, which has no infinity."""

import math

from shared.models.statistics.means import Interval

ReportFields = dict[str, object]
"""The fields of a report, which JSON or YAML prints."""


def interval_json(interval: Interval) -> dict[str, float | int | None]:
    """None where nothing can be said of a bound or of the deviation."""
    return {
        "value": interval.value,
        "low": finite_or_none(interval.low),
        "high": finite_or_none(interval.high),
        "deviation": finite_or_none(interval.deviation),
        "runs": interval.runs,
    }


def finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
