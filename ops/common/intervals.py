"""Intervals in JSON, which knows no infinity."""

import math

from shared.models.statistics.means import Interval


def bounds(interval: Interval) -> dict[str, float | int | None]:
    """None where nothing can be said of a bound or of the deviation."""
    return {
        "value": interval.value,
        "low": finite(interval.low),
        "high": finite(interval.high),
        "deviation": finite(interval.deviation),
        "runs": interval.runs,
    }


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
