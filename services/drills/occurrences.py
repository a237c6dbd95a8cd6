"""When a schedule is due: every interval after its first time, moved into its window of the simulated day."""

from schemas.drill_plan import DailyWindow, PlannedSchedule
from shared.basics.units import US_PER_DAY, US_PER_MIN


def window_text(window: DailyWindow) -> str:
    """A window as documents have it: `09:00-16:00`."""
    return f"{_of_day(window.from_us)}-{_of_day(window.to_us)}"


def _of_day(us: int) -> str:
    hours, minutes = divmod(us // US_PER_MIN, 60)
    return f"{hours:02}:{minutes:02}"


def window_end_us(window: DailyWindow, at_us: int) -> int:
    """The end of the window that contains this time."""
    return at_us - _into_us(window, at_us) + window.length_us


def placed_us(window: DailyWindow | None, time_us: int, lease_us: int) -> int:
    """The first time from `time_us` on at which a run may start.

    The rest of its window then covers the lease. A lease that is longer than the window starts with it.
    """
    if window is None:
        return time_us
    into_us = _into_us(window, time_us)
    if into_us <= max(0, window.length_us - lease_us):
        return time_us
    return time_us - into_us + US_PER_DAY


def next_due_us(timing: PlannedSchedule, first_us: int, lease_us: int, after_us: int) -> int:
    """The first time after `after_us` at which the schedule is due.

    Times that are moved to the start of the same window are one time.
    """
    if after_us >= first_us:
        last_us = after_us - (after_us - first_us) % timing.every_us
        moved_us = placed_us(timing.window, last_us, lease_us)
        if moved_us > after_us:
            return moved_us
        return placed_us(timing.window, last_us + timing.every_us, lease_us)
    return placed_us(timing.window, first_us, lease_us)


def _into_us(window: DailyWindow, at_us: int) -> int:
    """Time since the last start of the window."""
    return (at_us - window.from_us) % US_PER_DAY
