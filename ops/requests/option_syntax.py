"""Options with a time, such as `ocs:pod-0/ocs-17@2d+10m,severity=3,onset=12h`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput
from shared.basics.parsing import is_padded_duration, parse_duration_s
from shared.basics.time_grammar import read_time
from shared.basics.units import US_PER_S

RUN_TIMES_ALLOWED = "a time since the start of the run, like 12h, 3d02:15:04 or 432000000us, up to 100 years"


@dataclass(frozen=True, slots=True)
class TimedOption:
    """The text of an option, `HEAD@TIME+SPAN,NAME=VALUE,...`, split but not parsed. `time` and `span` are
    None if the text has none."""

    head: str
    time: str | None
    span: str | None
    words: tuple[str, ...]


def split_timed_option(text: str, *, has_span: bool = True) -> TimedOption:
    """Split the text of an option. A + in the name of a face (`/+y/7`) does not start a span, and there are
    no spans without `has_span`."""
    main, *words = text.split(",")
    head, at, time = main.partition("@")
    before, plus, span = (time if at else head).rpartition("+")
    if not has_span or not plus or "/" in span:
        return TimedOption(head, time if at else None, None, tuple(words))
    return TimedOption(head if at else before, before if at else None, span, tuple(words))


def split_fault(head: str) -> tuple[str, str] | None:
    """(kind of fault, target) of `KIND:TARGET`; None for another form."""
    kind, colon, target = head.partition(":")
    return (kind, target) if colon else None


def parse_options(
    option_text: str, words: Sequence[str], allowed: Collection[str], form: str
) -> dict[str, str]:
    """Parse words like `severity=3` and `onset=12h` into values by name.

    Raises InvalidInput that starts with the option's text and shows its form if a name is not allowed.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in allowed or not equals:
            raise InvalidInput(f"{option_text}: {quoted(word)} is not understood; must be {form}")
        if name in found:
            raise InvalidInput(f"{option_text}: {name} is given twice; leave one of them out")
        found[name] = value
    return found


def parse_run_time_us(option_text: str, text: str) -> int:
    """Parse a time since the start of a run, in microseconds: `12h`, `3d02:15:04` or `432000000us`. Raises
    InvalidInput that starts with the option's text."""
    found = read_time(text)
    if found is not None and not found.is_before_now:
        return found.first_us
    padded = ", without a zero in front" if is_padded_duration(text) else ""
    raise InvalidInput(
        f"{option_text}: {quoted(text)} is not a valid time; must be {RUN_TIMES_ALLOWED}{padded}"
    )


def parse_span_us(option_text: str, text: str, *, least_s: int) -> int:
    """Parse a duration of at least `least_s` seconds. Raises InvalidInput that starts with the option's
    text."""
    seconds = parse_duration_s(text)
    if seconds is None or seconds < least_s:
        zero = "0s, " if least_s == 0 else ""
        padded = ", without a zero in front" if is_padded_duration(text) else ""
        raise InvalidInput(
            f"{option_text}: {quoted(text)} is not a valid duration; must be like {zero}30s, 15m, 2h, 1d12h, "
            f"{'' if zero else 'above 0s and '}up to 100 years{padded}"
        )
    return seconds * US_PER_S
