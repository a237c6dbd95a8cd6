"""Wall-clock times as text: always UTC, and marked as such."""

import time

from shared.basics.units import US_PER_S


def format_wall_time(wall_us: int) -> str:
    """Format a wall-clock time, given in microseconds since 1970: `2026-11-28 15:22:50Z`."""
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(wall_us // US_PER_S))


def format_time_of_day(wall_s: float) -> str:
    """Format the time of day of a wall-clock time, given in seconds since 1970: `15:22:50Z`."""
    return time.strftime("%H:%M:%SZ", time.gmtime(wall_s))
