"""Demand over the day and the week.

Over a day demand follows a sine with its peak at 14:00. Weekend days have a fraction of the demand of
workdays. The mean over a week is 1, so that the cycle changes when requests come, not how many. Day 0 of a
site is a Monday.
"""

import math
from bisect import bisect_left

from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.faults.shifts import DAYS, WORKDAYS

RISES_US = 8 * US_PER_HOUR
"""Time of day at which demand is at its mean and rises."""


def demand_until(at_us: int, swing: float, weekend: float) -> float:
    """The demand from the start of day 0 to a time, in microseconds of mean demand."""
    day, within_us = divmod(at_us, US_PER_DAY)
    week, weekday = divmod(day, DAYS)
    by_day = _by_day(weekend)
    return (
        week * DAYS * US_PER_DAY
        + _since_monday(weekday, by_day)
        + by_day[weekday] * _in_day(within_us, swing)
    )


def time_of_demand(demand_us: float, swing: float, weekend: float) -> int:
    """The first microsecond by which this demand has passed: the inverse of `demand_until`."""
    week, left_us = divmod(demand_us, DAYS * US_PER_DAY)
    by_day = _by_day(weekend)
    weekday = next(d for d in range(DAYS - 1, -1, -1) if by_day[d] and left_us >= _since_monday(d, by_day))
    in_day_us = (left_us - _since_monday(weekday, by_day)) / by_day[weekday]
    within_us = bisect_left(range(US_PER_DAY), in_day_us, key=lambda span_us: _in_day(span_us, swing))
    return (int(week) * DAYS + weekday) * US_PER_DAY + within_us


def _by_day(weekend: float) -> tuple[float, ...]:
    """Demand of each day of a week, relative to the mean."""
    mean = (WORKDAYS + (DAYS - WORKDAYS) * weekend) / DAYS
    return (1.0 / mean,) * WORKDAYS + (weekend / mean,) * (DAYS - WORKDAYS)


def _since_monday(weekday: int, by_day: tuple[float, ...]) -> float:
    """The demand of a week up to the start of a day."""
    return sum(by_day[:weekday]) * US_PER_DAY


def _in_day(span_us: int, swing: float) -> float:
    """The demand of a mean day after this time: the integral of 1 + swing · sine."""
    turn = 2.0 * math.pi / US_PER_DAY
    return span_us - swing / turn * (math.cos(turn * (span_us - RISES_US)) - math.cos(turn * RISES_US))
