"""Whether a condition is true now, and whether it can still become true, in the HTTP API."""

from schemas.body import Model


class ConditionTermReport(Model):
    """One test of a condition. `value` is what it compares now: the field of a resource as in a list, the
    number of a count, or `exists` or `absent`."""

    text: str
    value: str
    holds: bool


class ConditionReport(Model):
    """A condition at the simulated time `now_us`. `can_hold` is false if no event can make it true any more;
    then `reasons` lists what has ended, for example a slice that completed. `stands_still` is true while
    simulated time is paused, so that nothing can change."""

    condition: str
    fabric: str
    now_us: int
    stands_still: bool
    holds: bool
    can_hold: bool
    reasons: tuple[str, ...]
    terms: tuple[ConditionTermReport, ...]
