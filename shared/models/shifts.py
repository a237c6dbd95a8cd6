"""When people work: round the clock, or in a shift on working days. Day 0 of a site is a Monday."""

from dataclasses import dataclass

from shared.basics.units import US_PER_DAY, US_PER_HOUR

WORKDAYS, DAYS = 5, 7


@dataclass(frozen=True, slots=True)
class Shift:
    """From `begins_h` to `ends_h` of every working day, in hours of the day; the end is after the begin."""

    begins_h: float
    ends_h: float

    def is_on(self, at_us: int) -> bool:
        """Whether it is in it at a moment; its last microsecond is the one before it ends."""
        day, begins_us, ends_us = self._of_day(at_us)
        return day % DAYS < WORKDAYS and begins_us <= at_us < ends_us

    def begins_after(self, at_us: int) -> int:
        """When the next one begins, after a moment."""
        day, begins_us, _ = self._of_day(at_us)
        while day % DAYS >= WORKDAYS or begins_us <= at_us:
            day, begins_us = day + 1, begins_us + US_PER_DAY
        return begins_us

    def after(self, at_us: int, work_us: int) -> int:
        """When so much work is done that was begun at a moment, done in shifts only."""
        while True:
            begins_us = at_us if self.is_on(at_us) else self.begins_after(at_us)
            ends_us = self._of_day(begins_us)[2]
            if begins_us + work_us <= ends_us:
                return begins_us + work_us
            work_us -= ends_us - begins_us
            at_us = ends_us

    def _of_day(self, at_us: int) -> tuple[int, int, int]:
        """(day, begin, end) of the shift of a moment's day, working day or not."""
        day = at_us // US_PER_DAY
        midnight_us = day * US_PER_DAY
        begins_us = midnight_us + round(self.begins_h * US_PER_HOUR)
        return day, begins_us, midnight_us + round(self.ends_h * US_PER_HOUR)
