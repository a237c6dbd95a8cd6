"""Simulated time is integer microseconds; these are its multiples."""

US_PER_MS = 1_000
US_PER_S = 1_000_000
US_PER_HOUR = 3_600 * US_PER_S
US_PER_DAY = 24 * US_PER_HOUR


def us(value: float, unit_us: int) -> int:
    """A positive span as whole microseconds, at least one: whatever is scheduled comes later than now."""
    return max(1, round(value * unit_us))
