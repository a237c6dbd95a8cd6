"""The grammar of simulated times, the same in every option, URL, export and file.

    now
    -2h, 2h ago, now-2h                        before now
    5d3h, 3d02:15:04, 3d02:15, 432000000us     after the start (0d)

The ids of messages are read where the log is known (`services.gateway.log.past_twin`). Every command imports
this module, so it imports nothing slow.
"""

import re
from dataclasses import dataclass

from shared.basics.parsing import parse_duration_s
from shared.basics.time_format import parse_time_us
from shared.basics.units import US_PER_S

NOW = "now"
US_DIGITS_MAX = 18
"""Maximum number of digits of a time in microseconds; later ones do not fit into 63 bits."""
TIMES_ALLOWED = (
    "a duration before now like -2h (or `2h ago`), or a time since the start like 5d3h, 3d02:15:04 or "
    "432000000us"
)
POINTS_ALLOWED = f"{TIMES_ALLOWED}, or a message id like scheduler@pod-0/42"
_BEFORE_NOW = re.compile(r"(?:now ?-|-)(?P<minus>[0-9][0-9a-z]*)|(?P<ago>[0-9][0-9a-z]*) ago")
_MICROSECONDS = re.compile(rf"(?P<us>[0-9]{{1,{US_DIGITS_MAX}}})us")
_DURATION_IN_TEXT = re.compile(r"(?:[0-9]{1,10}[smhd])+(?![0-9a-z])")
_TIME_OF_DAY = re.compile(
    r"[-+ ]?(?P<days>[0-9]{1,5}d)?(?P<hours>[01]?[0-9]|2[0-3]):(?P<minutes>[0-5][0-9])"
    r"(?P<seconds>:[0-5][0-9])?"
)
_ALMOST = re.compile(r"[-+ ]?(?:in |after |at |now ?\+|start ?\+)? ?[0-9smhd]+ ?(?:later|before|after|back)?")


@dataclass(frozen=True, slots=True)
class SimulatedTime:
    """A time as written. `first_us` and `last_us` are the first and the last microsecond that it means: since
    the start, or with `is_before_now` back from now."""

    first_us: int
    last_us: int
    is_before_now: bool = False

    def at(self, now_us: int) -> tuple[int, int]:
        """(first, last) microsecond since the start, if it is `now_us`; negative before the start."""
        if self.is_before_now:
            return now_us - self.first_us, now_us - self.first_us
        return self.first_us, self.last_us


def read_time(text: str) -> SimulatedTime | None:
    """Return the time that a text means; None if it is not valid (`time_problem` explains why)."""
    if text == NOW:
        return SimulatedTime(0, 0, is_before_now=True)
    if (before := _BEFORE_NOW.fullmatch(text)) is not None:
        back_s = parse_duration_s(before["minus"] or before["ago"])
        return None if back_s is None else SimulatedTime(*(back_s * US_PER_S,) * 2, is_before_now=True)
    if (span_s := parse_duration_s(text)) is not None:
        return SimulatedTime(*(span_s * US_PER_S,) * 2)
    if (micros := _MICROSECONDS.fullmatch(text)) is not None:
        return SimulatedTime(*(int(micros["us"]),) * 2)
    times_us = parse_time_us(text)
    return None if times_us is None else SimulatedTime(*times_us)


def is_relative(text: str) -> bool:
    """Whether a text means a time that depends on now."""
    found = read_time(text)
    return found is not None and found.is_before_now


def time_problem(text: str, allowed: str = TIMES_ALLOWED) -> str:
    """Return the end of the error for a text that is not a valid time, with the allowed forms. An ambiguous
    text gets both spellings."""
    day = _TIME_OF_DAY.fullmatch(text)
    if day is not None:
        return _both_clock_spellings(day)
    span = _DURATION_IN_TEXT.search(text)
    if span is not None and len(text) <= 40 and _ALMOST.fullmatch(text):
        return _both_spellings("is ambiguous", span[0])
    return f"must be {allowed}"


def _both_spellings(problem: str, span: str) -> str:
    return f"{problem}; write -{span} for {span} before now, or {span} for {span} after the start"


def _both_clock_spellings(day: re.Match[str]) -> str:
    days, hours, minutes, seconds = day["days"], int(day["hours"]), day["minutes"], day["seconds"] or ""
    since = f"{days or '0d'}{hours:02}:{minutes}{seconds}"
    back = f"{days or ''}{hours}h{int(minutes)}m" + (f"{int(seconds[1:])}s" if seconds else "")
    return f"is ambiguous; write {since} for that time since the start, or -{back} for a time before now"


def future_problem(text: str, latest: str) -> str:
    """Return the end of the error for a time after now. The user may have meant a bare duration to count
    back."""
    limit = f"is in the future; must be at most {latest}"
    return f"{limit}; write -{text} for {text} before now" if parse_duration_s(text) is not None else limit
