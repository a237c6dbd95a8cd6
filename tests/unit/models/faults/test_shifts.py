"""Shifts against counting minute by minute."""

from hypothesis import given
from hypothesis import strategies as st

from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.models.faults.shifts import Shift

MINUTES_A_DAY = 1_440
SHIFT = Shift(8.0, 18.0)


def is_worked(minute: int, begins: int, ends: int) -> bool:
    day, within = divmod(minute, MINUTES_A_DAY)
    return day % 7 < 5 and begins <= within < ends


@given(
    begins=st.integers(0, 1_438),
    lasts=st.integers(1, 1_440),
    at=st.integers(0, 9 * MINUTES_A_DAY),
    work=st.integers(1, 600),
)
def test_work_is_done_when_as_many_minutes_of_shifts_have_passed(
    begins: int, lasts: int, at: int, work: int
) -> None:
    ends = min(begins + lasts, MINUTES_A_DAY)
    shift = Shift(begins / 60, ends / 60)
    minute, left = at, work
    while left:
        left -= is_worked(minute, begins, ends)
        minute += 1
    assert shift.after(at * US_PER_MIN, work * US_PER_MIN) == minute * US_PER_MIN
    assert shift.is_on(at * US_PER_MIN) == is_worked(at, begins, ends)
    minute = at + 1
    while not is_worked(minute, begins, ends) or is_worked(minute - 1, begins, ends):
        minute += 1
    coming = shift.next_start(at * US_PER_MIN)
    if begins == 0 and ends == MINUTES_A_DAY:
        assert shift.is_on(coming)
        assert coming > at * US_PER_MIN
    else:
        assert coming == minute * US_PER_MIN


def test_a_week_has_fifty_hours_and_its_weekend_none() -> None:
    friday = 4 * US_PER_DAY
    assert SHIFT.after(0, 50 * US_PER_HOUR) == friday + 18 * US_PER_HOUR
    assert SHIFT.after(friday + 18 * US_PER_HOUR, 1) == 7 * US_PER_DAY + 8 * US_PER_HOUR + 1
    assert not SHIFT.is_on(5 * US_PER_DAY + 10 * US_PER_HOUR)
