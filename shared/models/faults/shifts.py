"""Working hours: round the clock, or a shift on working days. Day 0 of a site is a Monday."""

from dataclasses import dataclass

from shared.basics.units import US_PER_DAY, US_PER_HOUR

WORKDAYS, DAYS = 5, 7


@dataclass(frozen=True, slots=True)
class Shift:
    """From `start_h` to `end_h` of every working day, in hours of the day; the end is after the start."""

    start_h: float
    end_h: float

    def is_on(self, at_us: int) -> bool:
        """Whether a time is in the shift; the end itself is not."""
        day, start_us, end_us = self._of_day(at_us)
        return day % DAYS < WORKDAYS and start_us <= at_us < end_us

    def next_start(self, at_us: int) -> int:
        """Start of the next shift after a time."""
        day, start_us, _ = self._of_day(at_us)
        while day % DAYS >= WORKDAYS or start_us <= at_us:
            day, start_us = day + 1, start_us + US_PER_DAY
        return start_us

    def after(self, at_us: int, work_us: int) -> int:
        """When work of this duration is done if it starts at `at_us` and continues in shifts only."""
        while True:
            start_us = at_us if self.is_on(at_us) else self.next_start(at_us)
            end_us = self._of_day(start_us)[2]
            if start_us + work_us <= end_us:
                return start_us + work_us
            work_us -= end_us - start_us
            at_us = end_us

    def _of_day(self, at_us: int) -> tuple[int, int, int]:
        """(day, start, end) of the shift on the day of a time, working day or not."""
        day = at_us // US_PER_DAY
        midnight_us = day * US_PER_DAY
        start_us = midnight_us + round(self.start_h * US_PER_HOUR)
        return day, start_us, midnight_us + round(self.end_h * US_PER_HOUR)
