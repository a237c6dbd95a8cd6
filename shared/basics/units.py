"""Multiples of the microsecond, the integer unit of simulated time."""

US_PER_MS = 1_000
US_PER_S = 1_000_000
US_PER_MIN = 60 * US_PER_S
US_PER_HOUR = 3_600 * US_PER_S
US_PER_DAY = 24 * US_PER_HOUR
SPAN_US_MAX = 2**61
"""About 73,000 years. A draw with a tiny rate may give any number, or infinity."""


def to_whole_us(value: float, unit_us: int) -> int:
    """A positive duration as whole microseconds: at least one, since a scheduled event comes later than now;
    at most `SPAN_US_MAX`, so that its time fits into 63 bits."""
    return max(1, round(min(value * unit_us, SPAN_US_MAX)))
