"""The grammar of simulated times, the same in every option, URL, export and file.

    now
    -2h, 2h ago, now-2h                        before now
    5d3h, 3d02:15:04, 3d02:15, 432000000us     after the start (0d)
    +3h                                        after now, only where a time ahead is meant

The ids of messages are read where the log is known (`services.gateway.log.past_twin`). Every command imports
this module, so it imports nothing slow.
"""

import re
from dataclasses import dataclass

from schemas.limits import DURATION_S_MAX
from shared.basics.parsing import parse_duration_s
from shared.basics.time_format import parse_time_us
from shared.basics.units import US_PER_S

NOW = "now"
US_DIGITS_MAX = 18
"""Maximum number of digits of a time in microseconds; later ones do not fit into 63 bits."""
DAYS_DIGITS_MAX = 5
"""Maximum number of digits of the days of a time like 3d02:15."""
TIMES_ALLOWED = (
    "a duration before now like -2h (or `2h ago`), or a time since the start like 5d3h, 3d02:15:04 or "
    "432000000us"
)
POINTS_ALLOWED = f"{TIMES_ALLOWED}, or a message id like scheduler@pod-0/42"
AHEAD_ALLOWED = (
    "a time ahead: +3h from now, or a time since the start like 5d3h, 3d02:15:04 or 432000000us, after now"
)
_LONGEST = f"{DURATION_S_MAX // 86_400}d"
_BEFORE_NOW = re.compile(r"(?:now ?-|-)(?P<minus>[0-9][0-9a-z]*)|(?P<ago>[0-9][0-9a-z]*) ago")
_MICROSECONDS = re.compile(rf"(?P<us>0|[1-9][0-9]{{0,{US_DIGITS_MAX - 1}}})us")
_DURATION_IN_TEXT = re.compile(r"(?:[0-9]{1,10}[smhd])+(?![0-9a-z])")
_TIME_OF_DAY = re.compile(
    r"[-+ ]?(?P<days>[0-9]{1,5}d)?(?P<hours>[01]?[0-9]|2[0-3]):(?P<minutes>[0-5][0-9])"
    r"(?P<seconds>:[0-5][0-9])?"
)
_ANY_SIZE = re.compile(
    r"(?:now ?-|[-+])?(?P<span>(?:[0-9]+[smhd])+)(?: ago)?|(?P<us>[0-9]+)us|[-+]?(?P<days>[0-9]+)d[0-9:.]+"
)
"""A time of any size."""
_PADDED = re.compile(r"(?:now ?-|[-+])?0[0-9]+(?:us|[smhd][0-9smhd:.]*)(?: ago)?")
"""A time with a zero in front, which some readers parse as octal."""
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


@dataclass(frozen=True, slots=True)
class TimeAhead:
    """A time ahead as written: microseconds since the start, or with `is_after_now` from now."""

    us: int
    is_after_now: bool


def read_time_ahead(text: str) -> TimeAhead | None:
    """The time ahead that a text means: a time since the start that is not the start itself, or `+3h`. None
    if it is not valid (`time_ahead_problem` tells why). Only the twin knows whether a time since the start is
    past."""
    if text.startswith("+"):
        after_s = parse_duration_s(text[1:])
        return TimeAhead(after_s * US_PER_S, is_after_now=True) if after_s else None
    meant = read_time(text)
    if meant is None or meant.is_before_now or meant.first_us == 0:
        return None
    return TimeAhead(meant.first_us, is_after_now=False)


def time_ahead_problem(text: str) -> str:
    """The end of the error for a text that is not a valid time ahead: `is …; must be …`."""
    if read_time(text) is not None or parse_duration_s(text.removeprefix("+")) == 0:
        return f"is not after now; must be {AHEAD_ALLOWED}"
    problem = _known_problem(text, AHEAD_ALLOWED, "+", "from now")
    return problem or f"is not a valid time; must be {AHEAD_ALLOWED}"


def invalid_time_text(text: str, allowed: str) -> str:
    """The end of the error for an option whose text is not a valid time: `is …; must be …`."""
    problem = time_problem(text, allowed)
    return problem if problem.startswith("is ") else f"is not a valid time; {problem}"


def time_problem(text: str, allowed: str = TIMES_ALLOWED) -> str:
    """The end of the error for a text that is not a valid time: what it must be. An ambiguous text gets both
    spellings."""
    return _known_problem(text, allowed, "-", "before now") or f"must be {allowed}"


def _known_problem(text: str, allowed: str, sign: str, relative: str) -> str | None:
    """What is wrong with a text that has almost the form of a time; None for any other text. A time relative
    to now begins with `sign`, and is called `relative`."""
    if _PADDED.fullmatch(text):
        return f"is written with a zero in front; must be {allowed}"
    if _is_too_large(text):
        return f"is too large (over {_LONGEST}); must be {allowed}"
    day = _TIME_OF_DAY.fullmatch(text)
    if day is not None:
        return _both_clock_spellings(day, sign, relative)
    span = _ambiguous_span(text)
    if span is not None:
        return f"is ambiguous; write {sign}{span} for {span} {relative}, or {span} for {span} after the start"
    return None


def _is_too_large(text: str) -> bool:
    """Whether a text has the form of a time, but is over the largest one."""
    form = _ANY_SIZE.fullmatch(text)
    if form is None:
        return False
    if form["span"] is not None:
        return parse_duration_s(form["span"]) is None
    return len(form["us"] or "") > US_DIGITS_MAX or len(form["days"] or "") > DAYS_DIGITS_MAX


def _ambiguous_span(text: str) -> str | None:
    """The duration in a text that could mean two times."""
    span = _DURATION_IN_TEXT.search(text)
    is_almost = span is not None and len(text) <= 40 and _ALMOST.fullmatch(text) is not None
    return span[0] if span is not None and is_almost else None


def _both_clock_spellings(day: re.Match[str], sign: str, what: str) -> str:
    days, hours, minutes, seconds = day["days"], int(day["hours"]), day["minutes"], day["seconds"] or ""
    since = f"{days or '0d'}{hours:02}:{minutes}{seconds}"
    span = f"{days or ''}{hours}h{int(minutes)}m" + (f"{int(seconds[1:])}s" if seconds else "")
    return f"is ambiguous; write {since} for that time since the start, or {sign}{span} for a time {what}"


def future_problem(text: str, now_us: int, latest: str) -> str:
    """The end of the error for a time after now. A bare duration may have been meant to count back, if the
    twin is that old."""
    limit = f"is in the future; must be at most {latest}"
    span_s = parse_duration_s(text)
    may_be_back = span_s is not None and span_s * US_PER_S <= now_us
    return f"{limit}; write -{text} for {text} before now" if may_be_back else limit
