"""Formats a figure with its interval for people."""

import math

from services.totals.measures import MEASURES
from shared.models.statistics.means import Interval

SKEW_MIN = 0.1
"""If the bounds' distances from the figure differ by more than this share, both bounds are shown."""


def display_unit(measure: str, *, difference: bool) -> tuple[float, str]:
    """Return (factor, unit). Shares are shown in percent, their differences in percentage points."""
    if MEASURES[measure].unit != "share":
        return 1.0, ""
    return 100.0, " points" if difference else " %"


NO_INTERVAL = "no interval: one run, without a long enough series"
"""The note on a figure without bounds."""


def figure_text(interval: Interval, measure: str, *, difference: bool = False) -> str:
    """Format a figure and its bounds with its unit."""
    text, unit = interval_text(interval, measure, difference=difference), MEASURES[measure].unit
    return text if unit == "share" else f"{text} {unit}"


def interval_text(interval: Interval, measure: str, *, difference: bool = False) -> str:
    """Format a figure and its bounds with as many digits as are significant."""
    factor, unit = display_unit(measure, difference=difference)
    value, half = factor * interval.value, factor * interval.half_width
    if not math.isfinite(half):
        return f"{value:.4g}{unit} (no interval)"
    if half == 0.0 and interval.runs == 1:
        return f"{value:.6g}{unit} exactly"
    digits = 0 if half == 0.0 else max(0, min(6, 1 - math.floor(math.log10(half))))
    digits = digits if half else 4
    value = round(value, digits) + 0.0  # no minus sign before zero
    low, high = factor * interval.low, factor * interval.high
    if not difference and (low < 0.0 <= value or (unit and high > factor)):
        # A share is 0 to 100 %, and no measure is negative.
        low, high = max(low, 0.0), min(high, factor) if unit else high
        return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f}){unit}"
    if abs(high + low - 2.0 * factor * interval.value) > SKEW_MIN * half:
        return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f}){unit}"
    return f"{value:.{digits}f} ± {half:.{digits}f}{unit}"
